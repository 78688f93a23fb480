package builder

import (
	"fmt"
	"testing"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

const ruled = `project: tiny
triggers: {push: {branches: ["**"]}, pull_request: true}
changed: [{paths: ["*.md"], jobs: []}, {paths: ["code*"], jobs: [code]}]
builds:
  code: {run: make}
`

// plans says a change and counts the builds that its run has.
func (s *shop) plans(c release.Change) int32 {
	s.t.Helper()
	s.say(c.RunID(), event.ChangeReceived{Change: c})
	return await[event.RunPlanned](s, c.RunID()).Builds
}

// TestAPullRequestIsComparedWithWhereItLeftItsTarget: its second commit, of docs, does not make it green while its first, of code,
// was never tested. What its target got meanwhile is none of its changes.
func TestAPullRequestIsComparedWithWhereItLeftItsTarget(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.open(Config{})
	s.commit(map[string]string{"sluice.yaml": ruled})
	s.git("checkout", "-q", "-b", "topic")
	pull := func(number int32, before release.Commit, files map[string]string) release.Change {
		c := s.commit(files)
		c.Kind, c.Number, c.Before, c.HeadRepo, c.HeadRef = release.PullRequest, number, before, "acme/tiny", s.git("branch", "--show-current")
		c.Ref = fmt.Sprintf("refs/pull/%d/head", number)
		s.git("update-ref", c.Ref, string(c.Commit))
		return c
	}
	first := pull(7, "", map[string]string{"code.c": "1"})
	if n := s.plans(first); n != 1 {
		t.Errorf("the first commit has %d builds, want 1", n)
	}
	s.git("checkout", "-q", "master")
	s.commit(map[string]string{"code.h": "1"})
	s.git("checkout", "-q", "topic")
	second := pull(7, first.Commit, map[string]string{"read.md": "1"})
	if n := s.plans(second); n != 1 {
		t.Errorf("the second commit has %d builds, want the one that the first changed", n)
	}
	s.git("checkout", "-q", "-b", "docs", string(first.Commit)+"~1")
	if n := s.plans(pull(8, "", map[string]string{"other.md": "1"})); n != 0 {
		t.Errorf("a pull request of docs has %d builds, want none", n)
	}
}

// TestAPushIsComparedWithTheLastHeadThatSucceeded: what failed for one head of a branch is run again for the next one, whatever
// that changes.
func TestAPushIsComparedWithTheLastHeadThatSucceeded(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.open(Config{})
	s.commit(map[string]string{"sluice.yaml": ruled})
	s.git("checkout", "-q", "-b", "topic")
	var before release.Commit
	push := func(file string) release.Change {
		c := s.commit(map[string]string{file: "1"})
		c.Ref, c.Branch, c.Before = "refs/heads/topic", "topic", before
		before = c.Commit
		return c
	}
	ends := func(c release.Change, round int32, o release.Outcome) {
		s.say(c.RunID(), event.RunFinished{Round: round, Outcome: o})
	}
	for _, step := range []struct {
		file   string
		builds int32
		ends   []release.Outcome
		why    string
	}{
		{"a.md", 1, []release.Outcome{release.Success}, "the first push of a branch is compared with nothing"},
		{"b.md", 0, []release.Outcome{release.Success}, "only docs were changed since a head that succeeded"},
		{"code.c", 1, []release.Outcome{release.Failure}, "code was changed"},
		{"c.md", 1, []release.Outcome{release.Cancelled}, "code has failed and did not run again"},
		{"d.md", 1, nil, "code was cancelled"},
		{"e.md", 1, []release.Outcome{release.Failure, release.Success}, "code has not ended"},
		{"f.md", 0, nil, "code was tried again and succeeded"},
	} {
		c := push(step.file)
		if n := s.plans(c); n != step.builds {
			t.Errorf("%s: got %d builds, want %d: %s", step.file, n, step.builds, step.why)
		}
		for round, o := range step.ends {
			ends(c, int32(round), o)
		}
	}
}
