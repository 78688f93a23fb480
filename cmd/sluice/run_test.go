package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/services/executor"
)

func TestBars(t *testing.T) {
	t.Parallel()
	page := &paper{rows: 24}
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	b := &bars{out: page, size: page.size, now: func() time.Time { return at }, tasks: map[release.TaskID]*barTask{}}
	for _, p := range []event.Payload{
		event.RunPlanned{Builds: 2, Tests: 2},
		event.TaskRequested{Task: "a", Name: "wheel (3.12)", Timeouts: release.Timeouts{Command: release.Duration(time.Minute)}},
		event.TaskStarted{Task: "a"},
		event.TaskStarted{Task: "b"},
		event.TaskStarted{Task: "c"},
		event.TaskFinished{Task: "b", Outcome: release.Success},
		event.TaskFinished{Task: "c", Outcome: release.Failure, Class: release.ClassCommand},
		event.TaskConcluded{Task: "c"},
	} {
		b.see(event.Event{Data: p})
	}
	at = at.Add(30 * time.Second)
	if _, err := b.Write([]byte("✓ b\n")); err != nil {
		t.Fatal(err)
	}
	want := "✓ b\n" + cutLines +
		"[██████████░░░░░░░░░░] 2 of 4, 1 failed" + eraseLine + "\r\n" +
		"  [██████████░░░░░░░░░░]   30s of   1m wheel (3.12)" + eraseLine + "\r\n" + wrapLines
	if got := page.text(); got != want {
		t.Errorf("drawn\n%q\nexpected\n%q", got, want)
	}
	b.pause()
	if got := page.text(); !strings.HasSuffix(got, upwards(2)+eraseBelow) {
		t.Errorf("the bars are still there: %q", got)
	}
	_, _ = b.Write([]byte("a shell\n"))
	if got := page.text(); !strings.HasSuffix(got, "a shell\n") {
		t.Errorf("drawn over what else uses the terminal: %q", got)
	}
}

// failing is a checkout whose one task fails and leaves something.
func failing(t *testing.T) string {
	t.Helper()
	return defined(t, "project: p\nbuilds:\n  a:\n    run: echo left > left; echo said; exit 3\n")
}

// TestRunStandsForEveryPool: what other pools would run is run here, and places come from the file that --config names.
func TestRunStandsForEveryPool(t *testing.T) {
	t.Parallel()
	dir := defined(t, `project: p
pools: [{name: gpu}]
builds:
  a:
    lease: {from: lab}
    retry: {command: {limit: 1, wait: 10ms}}
    run: echo "on $SLUICE_PLACE_NAMES $SLUICE_PLACE_ADDRESSES $SLUICE_LEASE_TOKEN"; test $SLUICE_ATTEMPT = 2
gate: {require: [builds]}
`)
	got := sluice(t, "run", dir)
	if got.code != 1 || !strings.Contains(got.out, "it leases places of lab, which neither the definition nor --config offers") {
		t.Errorf("without places: exit %d:\n%s%s", got.code, got.out, got.talk)
	}
	config := filepath.Join(t.TempDir(), "installation.yaml")
	must(t, os.WriteFile(config, []byte("providers: [{name: lab, pool: lab, places: [{name: rack-1, address: local}]}]\n"), 0o600))
	got = sluice(t, "run", dir, "--config", config)
	if got.code != 0 || !strings.Contains(got.out, "| on rack-1 local 1") || !strings.Contains(got.out, "✓ a passed on attempt 2") {
		t.Errorf("with places: exit %d:\n%s%s", got.code, got.out, got.talk)
	}
}

// TestRunLooksForAnEngine: what names an image is refused in words that help, and the rest runs.
func TestRunLooksForAnEngine(t *testing.T) {
	t.Setenv("DOCKER_HOST", "unix://"+t.TempDir()+"/ghost.sock")
	dir := defined(t, "project: p\nbuilds:\n  a:\n    image: busybox\n    run: echo here\n  b:\n    run: echo there\n")
	got := sluice(t, "run", dir)
	for _, want := range []string{"a, attempt 1: config: cannot run in an image: no container engine answers here", "/ghost.sock (not there)", "✓ b"} {
		if got.code != 2 || !strings.Contains(got.out, want) {
			t.Errorf("exit %d, %q is not in\n%s%s", got.code, want, got.out, got.talk)
		}
	}
}

// defined is a repository with a definition.
func defined(t *testing.T, definition string) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "sluice.yaml"), []byte(definition), 0o600))
	for _, args := range [][]string{{"init", "-q", "-b", "master"}, {"add", "."}, {"-c", "user.name=A", "-c", "user.email=a@b", "commit", "-qm", "x"}} {
		out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	return dir
}

// TestRunKeeps runs a checkout whose task fails, and looks into what is kept.
func TestRunKeeps(t *testing.T) {
	t.Parallel()
	kept := filepath.Join(t.TempDir(), "kept")
	c := rootCommand()
	var out, talk bytes.Buffer
	c.SetOut(&out)
	c.SetErr(&talk)
	c.SetArgs([]string{"run", failing(t), "--keep=" + kept})
	if code := exitCode(c.ExecuteContext(t.Context())); code != release.Failure.ExitCode() {
		t.Errorf("exited with %d: %s%s", code, out.String(), talk.String())
	}
	found, err := filepath.Glob(filepath.Join(kept, "executors", "*", "attempts", "*.a.1", "work", "left"))
	if err != nil || len(found) != 1 || !strings.Contains(talk.String(), "kept in "+kept) {
		t.Errorf("found %v, %v; said %q and %q", found, err, talk.String(), out.String())
	}
	for _, want := range []string{"✗ a, attempt 1: command: the command ended with exit status 3", "| said", "| sluice: kept until"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in %q", want, out.String())
		}
	}
}

func TestShellNeedsATerminal(t *testing.T) {
	t.Parallel()
	c := rootCommand()
	c.SetOut(&bytes.Buffer{})
	c.SetErr(&bytes.Buffer{})
	c.SetArgs([]string{"run", t.TempDir(), "--shell"})
	if code := exitCode(c.ExecuteContext(t.Context())); code != exitUsage {
		t.Errorf("exited with %d", code)
	}
}

// TestShellIsInTheWorkspace runs a program in the place of a shell.
func TestShellIsInTheWorkspace(t *testing.T) {
	t.Parallel()
	g := &guest{program: "/bin/sh"}
	dir := t.TempDir()
	c := g.shell(context.Background(), executor.Workspace{Dir: dir, Env: map[string]string{"SLUICE_TASK": "a"}})
	c.Args = append(c.Args, "-c", `echo "$SLUICE_TASK in $PWD"`)
	c.Stdout, c.Stderr, c.Stdin = nil, nil, nil
	got, err := c.Output()
	if err != nil || string(got) != "a in "+dir+"\n" {
		t.Errorf("the shell said %q: %v", got, err)
	}
}
