package builder

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/git"
	"github.com/sluiceci/sluice/pkg/planner"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/service"
)

const simple = `project: tiny
builds:
  wheel: {run: make, outputs: {wheel: "*.whl"}, stamp: commit}
tests:
  smoke: {needs: [wheel], run: make test}
`

// shop is a builder on a real bus, with a real repository before it.
type shop struct {
	t    *testing.T
	bus  *bus.Bus
	deps service.Deps
	repo string
}

func newShop(t *testing.T) *shop {
	t.Helper()
	server, err := bus.Embed(bus.ServerOptions{Dir: t.TempDir()})
	must(t, err)
	t.Cleanup(server.Close)
	b, err := server.Connect(t.Context(), bus.Options{})
	must(t, err)
	t.Cleanup(b.Close)
	return &shop{t: t, bus: b, repo: t.TempDir(), deps: service.Deps{
		Bus: b, Blobs: blob.Dir(t.TempDir()), Log: slog.New(slog.DiscardHandler), Now: time.Now, Instance: "test",
	}}
}

// open runs a builder until the test, or the function that it returns, ends it.
func (s *shop) open(config Config) (closeIt func()) {
	s.t.Helper()
	cache, err := git.New(s.t.TempDir(), git.Options{MissingFor: time.Millisecond})
	must(s.t, err)
	if config.Planner == nil {
		config.Planner = planner.Here{}
	}
	made, err := New(config, s.deps, cache)
	must(s.t, err)
	ctx, cancel := context.WithCancel(s.t.Context())
	done := make(chan error, 1)
	go func() { done <- service.Run(ctx, s.deps, &service.Health{}, made) }()
	closeIt = func() { cancel(); <-done }
	s.t.Cleanup(cancel)
	return closeIt
}

// commit commits files and returns the change that a push of them is.
func (s *shop) commit(files map[string]string) release.Change {
	s.t.Helper()
	s.git("init", "-q", "--initial-branch=master")
	for name, text := range files {
		must(s.t, os.WriteFile(filepath.Join(s.repo, name), []byte(text), 0o644))
	}
	s.git("add", "-A")
	s.git("-c", "user.name=Ada", "-c", "user.email=a@example.com", "commit", "-q", "--allow-empty", "-m", "x")
	return release.Change{
		Kind: release.Push, Project: "tiny", Repo: "acme/tiny", CloneURL: "file://" + s.repo, Ref: "refs/heads/master",
		Branch: "master", Commit: release.Commit(s.git("rev-parse", "HEAD")),
	}
}

func (s *shop) git(args ...string) string {
	s.t.Helper()
	out, err := exec.Command("git", append([]string{"-C", s.repo}, args...)...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (s *shop) say(run release.RunID, payloads ...event.Payload) {
	s.t.Helper()
	for _, p := range payloads {
		must(s.t, s.bus.Publish(s.t.Context(), event.Root(run, "/test/1", time.Now(), p)))
	}
}

// await waits for a fact of a run.
func await[P event.Payload](s *shop, run release.RunID) P {
	s.t.Helper()
	var zero P
	f, err := s.bus.Follow(s.t.Context(), bus.Following{Name: "test", Run: string(run), Types: []event.Type{zero.EventType()}})
	must(s.t, err)
	defer f.Close()
	batch, err := f.Next(s.t.Context(), time.Minute)
	if err != nil || len(batch.Events) == 0 {
		s.t.Fatalf("no %s of run %s within a minute: %v", zero.EventType(), run, err)
	}
	return batch.Events[0].Data.(P)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestAChangeBecomesAPlanAndBuilds(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.open(Config{Projects: map[string]Project{"acme/tiny": {ReleaseRefs: []string{"refs/heads/master"}}}})
	change := s.commit(map[string]string{"sluice.yaml": simple})
	s.say(change.RunID(), event.ChangeReceived{Change: change})
	planned := await[event.RunPlanned](s, change.RunID())
	if planned.Builds != 1 || planned.Tests != 1 || len(planned.GateTests) != 1 || planned.Release.Branch != "master" {
		t.Errorf("planned %+v", planned)
	}
	if asked := await[event.TaskRequested](s, change.RunID()); asked.Task != "wheel" || asked.Plan != planned.Plan || asked.Kind != release.Build {
		t.Errorf("requested %+v", asked)
	}
}

// TestRunOfARetryUsesTheFrozenPlan announces the commit of a run again, to a builder that would plan it otherwise now.
func TestRunOfARetryUsesTheFrozenPlan(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	closeIt := s.open(Config{})
	change := s.commit(map[string]string{"sluice.yaml": "settings: {a: 1}\n" + simple})
	s.say(change.RunID(), event.ChangeReceived{Change: change})
	first := await[event.RunPlanned](s, change.RunID())
	closeIt()
	s.open(Config{Set: []string{"a=2"}})
	again := change
	again.Kind, again.Number, again.HeadRef = release.PullRequest, 7, "master"
	s.say(change.RunID(), event.RunRetryRequested{Request: "r1"}, event.ChangeReceived{Change: again})
	other := s.commit(map[string]string{"more": "x"}) // planned after the one before: then that is done
	s.say(other.RunID(), event.ChangeReceived{Change: other})
	if p := await[event.RunPlanned](s, other.RunID()); p.Plan == first.Plan {
		t.Fatal("another setting gave the same plan: this test shows nothing")
	}
	if p := await[event.RunPlanned](s, change.RunID()); p.Plan != first.Plan {
		t.Errorf("the run has plan %s now, want its first, %s", p.Plan, first.Plan)
	}
}

func TestChangesThatGiveNoPlan(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, text, want string }{
		"no definition":       {"README", "x", "there is no sluice.yaml"},
		"a broken definition": {"sluice.yaml", "project: tiny\nbuilds:\n  wheel: {rum: make}\n", "sluice.yaml:3:11"},
		"a huge definition":   {"sluice.yaml", strings.Repeat("# long\n", 300_000), "at most 1048576 are read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			s.open(Config{})
			change := s.commit(map[string]string{c.file: c.text})
			s.say(change.RunID(), event.ChangeReceived{Change: change})
			rejected := await[event.RunRejected](s, change.RunID())
			got := ""
			for _, p := range rejected.Problems {
				got += fmt.Sprintf("%s:%d:%d %s\n", p.File, p.Line, p.Column, p.Message)
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("rejected with %q, want %q", got, c.want)
			}
		})
	}
}

func TestABranchThatNoTriggerWantsIsIgnoredWithAReason(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.open(Config{})
	change := s.commit(map[string]string{"sluice.yaml": simple})
	change.Ref, change.Branch = "refs/heads/topic", "topic"
	s.say(change.RunID(), event.ChangeReceived{Change: change})
	if ignored := await[event.ChangeIgnored](s, change.RunID()); !strings.Contains(ignored.Reason, "topic") {
		t.Errorf("ignored with %q, want the branch in it", ignored.Reason)
	}
}

// TestOnlyArtifactsOfTheCommitBecomeACandidate is the check before a candidate is frozen: a wheel of another commit, or
// of none, ends the run.
func TestOnlyArtifactsOfTheCommitBecomeACandidate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stamp func(release.Commit) string
		want  string
	}{
		"its commit":     {func(c release.Commit) string { return string(c) }, ""},
		"another commit": {func(release.Commit) string { return strings.Repeat("ab", 20) }, strings.Repeat("ab", 20)},
		"no commit":      {func(release.Commit) string { return "x" }, "carr"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			s.open(Config{})
			change := s.commit(map[string]string{"sluice.yaml": simple})
			run := change.RunID()
			s.say(run, event.ChangeReceived{Change: change})
			pool := await[event.TaskRequested](s, run).Pool
			digest, err := blob.PutBytes(t.Context(), s.deps.Blobs, wheel(t, c.stamp(change.Commit)))
			must(t, err)
			s.say(run, event.TaskFinished{
				Task: "wheel", Attempt: 1, Pool: pool, Outcome: release.Success, Class: release.ClassOK,
				Artifacts: []release.Artifact{{Name: "a.whl", Type: "wheel", Job: "wheel", Task: "wheel", Digest: digest, Stamped: true}},
			})
			if c.want == "" {
				if got := await[event.CandidateAssembled](s, run); got.Artifacts != 1 || got.Commit != change.Commit {
					t.Errorf("assembled %+v", got)
				}
				return
			}
			if got := await[event.CandidateRejected](s, run); !strings.Contains(fmt.Sprint(got.Reasons), c.want) {
				t.Errorf("rejected with %q, want %q in it", got.Reasons, c.want)
			}
		})
	}
}

func wheel(t *testing.T, stamp string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	f, err := z.Create("tiny/_commit.py")
	must(t, err)
	_, err = f.Write([]byte("COMMIT = '" + stamp + "'\n"))
	must(t, err)
	must(t, z.Close())
	return b.Bytes()
}
