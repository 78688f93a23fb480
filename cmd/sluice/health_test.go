package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/forge/forgetest"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/secret"
	"github.com/sluiceci/sluice/services/gateway"
	"github.com/sluiceci/sluice/services/reporter"
)

const soaked = `project: widget
builds:
  wheel: {run: "cp n wheel", outputs: {wheel: wheel}}
tests:
  smoke: {needs: [wheel], run: "test -s n"}
  soak: {needs: [wheel], frequency: nightly, run: "test $(cat n) -lt 4"}
`

// clinic is a whole Sluice before a real repository whose test breaks with a commit.
type clinic struct {
	t       *testing.T
	repo    string
	dir     string
	forge   *forgetest.Forge
	commits []release.Commit
	p       *platform
	stop    func()
}

func newClinic(t *testing.T) *clinic {
	t.Helper()
	f, stop := forgetest.Start("acme/widget")
	t.Cleanup(stop)
	c := &clinic{t: t, repo: t.TempDir(), dir: t.TempDir(), forge: f}
	must(t, os.WriteFile(filepath.Join(c.dir, "secrets"), []byte("FORGE="+forgetest.Token+"\n"), 0o600))
	c.git("init", "-q", "--initial-branch=work")
	return c
}

func (c *clinic) git(args ...string) string {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), "git", append([]string{"-C", c.repo, "-c", "user.name=Ada", "-c", "user.email=a@example.org"}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// push commits some numbers, and then moves the branch to the last.
func (c *clinic) push(numbers ...int) release.Commit {
	c.t.Helper()
	for _, n := range numbers {
		must(c.t, os.WriteFile(filepath.Join(c.repo, "n"), fmt.Appendln(nil, n), 0o600))
		must(c.t, os.WriteFile(filepath.Join(c.repo, definitionName), []byte(soaked), 0o600))
		c.git("add", "-A")
		c.git("commit", "-q", "-m", fmt.Sprint(n))
		c.commits = append(c.commits, release.Commit(c.git("rev-parse", "HEAD")))
	}
	c.git("branch", "-f", "master", "HEAD")
	return c.commits[len(c.commits)-1]
}

// open runs every service in one process, until stop.
func (c *clinic) open() {
	c.t.Helper()
	in := &installation{
		Dir: filepath.Join(c.dir, "state"), Listen: "127.0.0.1:0", Secrets: secret.Config{Files: []string{filepath.Join(c.dir, "secrets")}}, NATS: natsSide{Listen: "off"},
		Gateway: gateway.Config{Poll: 50 * time.Millisecond},
		Projects: []project{{
			Project: gateway.Project{Name: "widget", Forge: "gitea", Repo: "acme/widget", CloneURL: "file://" + c.repo},
			BaseURL: c.forge.URL, Token: "FORGE",
			Health: &reporter.Health{Issues: true, Owner: "core", Bisect: &reporter.Bisect{}},
		}},
	}
	p, err := newPlatform(c.t.Context(), in, slog.New(slog.DiscardHandler))
	must(c.t, err)
	ctx, cancel := context.WithCancel(c.t.Context())
	done := make(chan error, 1)
	go func() { done <- p.run(ctx) }()
	c.p = p
	closed := false
	c.stop = func() {
		if !closed {
			closed = true
			cancel()
			<-done
			p.close()
		}
	}
	c.t.Cleanup(c.stop)
}

// await waits for a fact.
func await[P event.Payload](c *clinic, so func(event.Event, P) bool) P {
	c.t.Helper()
	var zero P
	f, err := c.p.deps.Bus.Follow(c.t.Context(), bus.Following{Name: "test", Types: []event.Type{zero.EventType()}})
	must(c.t, err)
	defer f.Close()
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); {
		batch, err := f.Next(c.t.Context(), time.Second)
		must(c.t, err)
		for _, e := range batch.Events {
			if p := e.Data.(P); so(e, p) {
				return p
			}
		}
	}
	c.t.Fatalf("no %s that is so within 60s", zero.EventType())
	return zero
}

// until waits until something is so on the forge.
func (c *clinic) until(so func() bool) {
	c.t.Helper()
	for end := time.Now().Add(60 * time.Second); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			c.t.Fatalf("it is not so after 60s: %+v", c.forge.Issues())
		}
	}
}

// ended waits for the end of the run of a pushed commit.
func (c *clinic) ended(commit release.Commit) release.Outcome {
	c.t.Helper()
	run := release.Change{Repo: "acme/widget", Ref: "refs/heads/master", Commit: commit}.RunID()
	return await(c, func(e event.Event, _ event.RunFinished) bool { return e.Run == run }).Outcome
}

// TestABrokenTestIsBisectedAndJailed takes a test from its first failure, through the search for who broke it, which a restart
// interrupts, to its issue and its jail.
func TestABrokenTestIsBisectedAndJailed(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	first := c.push(0)
	c.open()
	if got := c.ended(first); got != release.Success {
		t.Fatalf("the first run ended in %s", got)
	}
	broken := c.push(1, 2, 3, 4, 5, 6)
	if got := c.ended(broken); got != release.Failure {
		t.Fatalf("the run of the broken commits ended in %s", got)
	}
	await(c, func(_ event.Event, b event.BisectAdvanced) bool { return len(b.Started) > 0 })
	c.stop()
	c.open()
	if got := await(c, func(event.Event, event.BisectEnded) bool { return true }); got.Blamed != c.commits[4] {
		t.Fatalf("the bisection ended with %+v of %v", got, c.commits)
	}
	await(c, func(_ event.Event, ch event.ChangeReceived) bool {
		if ch.Change.Nonce != "" && ch.Change.Branch != "" {
			t.Errorf("a run of the bisection is on a branch: %+v", ch.Change)
		}
		return true
	})
	c.ended(c.push(7))
	await(c, func(_ event.Event, m event.TestMoved) bool { return m.To == "consistently_failing" })
	c.until(func() bool { return len(c.forge.Issues()) == 1 })
	if issue := c.forge.Issues()[0]; !issue.Open || !strings.Contains(issue.Body, "Blamed commit: "+string(c.commits[4])) {
		t.Errorf("the issue is %+v", issue)
	}
	c.jail()
}

// jail puts the test into jail by the command line, and looks at the next plan.
func (c *clinic) jail() {
	c.t.Helper()
	at := []string{"--dir", filepath.Join(c.dir, "state")}
	must(c.t, c.p.writeConnection())
	for _, one := range []struct {
		line string
		says string
	}{
		{"tests", "consistently_failing"},
		{"bisect", "blamed"},
		{"tests jail soak --owner perf --until 48h --reason hardware", "Test soak is jailed"},
		{"tests", "■ jailed"},
	} {
		got := sluice(c.t, append(strings.Fields(one.line), at...)...)
		if got.code != 0 || !strings.Contains(got.out, one.says) {
			c.t.Fatalf("%s: exit %d: %s%s", one.line, got.code, got.out, got.talk)
		}
	}
	commit := c.push(8)
	if got := c.ended(commit); got != release.Success {
		c.t.Errorf("without the jailed test the run ended in %s", got)
	}
	planned := await(c, func(_ event.Event, p event.RunPlanned) bool { return p.Change.Commit == commit })
	if planned.Skipped == 0 || planned.Tests != 1 {
		c.t.Errorf("planned is %+v", planned)
	}
	if got := sluice(c.t, append(strings.Fields("tests free soak"), at...)...); got.code != 0 {
		c.t.Errorf("exit %d: %s", got.code, got.talk)
	}
	c.until(func() bool { return !c.forge.Issues()[0].Open })
}
