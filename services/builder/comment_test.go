package builder

import (
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

const asked = `project: tiny
triggers: {comment: true}
settings: {size: 1}
presets: {big: {size: 10}}
environments: {staging: {vars: {URL: x}}}
builds:
  wheel: {env: {SIZE: "{{ settings.size }}"}, run: make "$SIZE", outputs: {wheel: "*.whl"}}
  jar: {run: make}
tests:
  smoke: {needs: [wheel], run: make test, secrets: [HF_TOKEN]}
  slow: {needs: [wheel], run: make slow}
publish:
  pypi: {artifacts: [wheel]}
`

// comment makes a change the wish of a comment.
func comment(c release.Change, directives, done string) release.Change {
	c.Kind, c.Ref, c.Number, c.HeadRepo, c.HeadRef, c.Nonce = release.Comment, "refs/pull/7/head", 7, c.Repo, "master", release.Derive(directives)
	c.Parameters = map[string]string{"directives": directives}
	if done != "" {
		c.Parameters["done"] = done
	}
	return c
}

// TestACommentShapesThePlanAndIsAnswered shows what each comment becomes, and what its author is told.
func TestACommentShapesThePlanAndIsAnswered(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.open(Config{Projects: map[string]Project{"acme/tiny": {ReleaseRefs: []string{"refs/**"}}}})
	push := s.commit(map[string]string{"sluice.yaml": asked})
	for directives, want := range map[string]struct {
		builds, tests int32
		told          []string
	}{
		"/test":                    {2, 2, []string{"4 tasks, nothing left out", "`wheel` on `default`", "a comment run never publishes"}},
		"/test smoke big size=3":   {1, 1, []string{"2 tasks, 2 left out", "`jar`: `not selected`"}},
		"/skip slow jar":           {1, 1, []string{"`slow`: `skipped by /skip slow`"}},
		"/only slow\n/env staging": {1, 1, []string{"`slow` on `default`"}},
		"/test\n/help":             {2, 2, []string{"- `/skip GLOB..`"}},
	} {
		change := comment(push, directives, "the gate of run x is held")
		s.say(change.RunID(), event.ChangeReceived{Change: change})
		told := await[event.CommentAnswered](s, change.RunID())
		planned := await[event.RunPlanned](s, change.RunID())
		if planned.Builds != want.builds || planned.Tests != want.tests || len(planned.Targets) != 0 {
			t.Errorf("%q is planned as %+v", directives, planned)
		}
		for _, text := range append(want.told, "`the gate of run x is held`") {
			if !strings.Contains(told.Text, text) || told.Number != 7 || told.Comment != change.Nonce || told.Project != "tiny" {
				t.Errorf("%q is answered with %+v, expected %q in it", directives, told, text)
			}
		}
	}
}

// TestACommentThatCannotBePlannedIsAnswered tells what is wrong in the words of the comment.
func TestACommentThatCannotBePlannedIsAnswered(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.open(Config{})
	push := s.commit(map[string]string{"sluice.yaml": asked})
	for directives, want := range map[string]string{
		"/test smok":                      "/test smok: no task has such an id or name",
		"/skip nothing":                   "/skip nothing: no task has such an id or name",
		"/preset bog\n/var siz: 3":        "/preset bog: unknown preset",
		"/var size.x: 3":                  "/var size.x: 3: unknown setting size.x",
		"/test smoke siz=3":               "/test smoke siz=3: unknown setting siz",
		"/env prod":                       "/env prod: unknown environment",
		"/tset":                           "comment:1:1: unknown directive /tset",
		"/var size: [1, {a: b}, \"\\x\"]": "/var size: [1,",
	} {
		change := comment(push, directives, "")
		s.say(change.RunID(), event.ChangeReceived{Change: change})
		if told := await[event.CommentAnswered](s, change.RunID()); !strings.Contains(told.Text, want) || !strings.HasPrefix(told.Text, "Nothing was done") {
			t.Errorf("%q is answered with\n%s\nexpected %q in it", directives, told.Text, want)
		}
		await[event.RunRejected](s, change.RunID())
	}
	without := s.commit(map[string]string{"sluice.yaml": simple})
	change := comment(without, "/test", "")
	s.say(change.RunID(), event.ChangeReceived{Change: change})
	if told := await[event.CommentAnswered](s, change.RunID()); !strings.Contains(told.Text, "the definition has no triggers.comment") {
		t.Errorf("without the trigger it is answered with %s", told.Text)
	}
	await[event.ChangeIgnored](s, change.RunID())
}

// TestACommentOnAForkGetsNoSecrets is law 7 against a stranger's pull request that a member tests.
func TestACommentOnAForkGetsNoSecrets(t *testing.T) {
	t.Parallel()
	b := &builder{}
	for _, fork := range []bool{false, true} {
		change := comment(release.Change{Repo: "acme/tiny", Branch: "master", Commit: release.Commit(strings.Repeat("a", 40)), Fork: fork}, "/test", "")
		if ok, _ := (release.ReleasePolicy{Branch: "master", Also: []string{"*"}, Tags: []string{"*"}}).Allows(change); ok {
			t.Error("a comment may publish")
		}
		if r, err := b.request(change, nil); err != nil || r.Changed != nil {
			t.Errorf("%+v, %v", r, err)
		}
	}
}
