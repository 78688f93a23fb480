package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// wrapped starts this program's own wrapper around a shell script, as a CI does, and waits for its first line.
func wrapped(t *testing.T, script string, args ...string) (cmd *exec.Cmd, first string, said *bytes.Buffer) {
	t.Helper()
	said = &bytes.Buffer{}
	cmd = exec.Command("sluice", append([]string{"ray", "wrap", "--", "sh", "-c", script, "sh"}, args...)...)
	cmd.Stderr = said
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	lines := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(out).ReadString('\n')
		lines <- strings.TrimSpace(line)
		_, _ = io.Copy(io.Discard, out)
	}()
	select {
	case first = <-lines:
	case <-time.After(30 * time.Second):
		t.Fatal("the command printed nothing within 30s")
	}
	return cmd, first, said
}

// within waits for the end of a process and gives its exit code.
func within(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case <-done:
		return cmd.ProcessState.ExitCode()
	case <-time.After(30 * time.Second):
		t.Fatal("the wrapper did not end within 30s")
		return -1
	}
}

// gone waits until a process is dead; one that nobody reaps is.
func gone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(stat), ") Z ") || strings.Contains(string(stat), ") X ") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d lives on: %s", pid, stat)
		}
	}
}

// TestRayWrapPassesSignalsOn is W11 and W12 against the program itself: the command hears the signal that was sent and
// finishes its cleaning, and the exit code does not ask for a retry, whatever the command makes of it.
func TestRayWrapPassesSignalsOn(t *testing.T) {
	t.Parallel()
	const script = `for s in INT TERM HUP; do trap "echo $s >> $1; exit $2" $s; done; echo ready; while :; do sleep 0.05; done`
	for _, c := range []struct {
		name   string
		signal syscall.Signal
		hears  string
		ends   int
		want   int
	}{
		{"W11", syscall.SIGTERM, "TERM", 143, 143},
		{"W12", syscall.SIGINT, "INT", 130, 130},
		{"it ends as if its nodes had not come", syscall.SIGHUP, "HUP", 30, 129},
		{"it cleans up well, which is no success of the test", syscall.SIGTERM, "TERM", 0, 143},
	} {
		heard := filepath.Join(t.TempDir(), "heard")
		cmd, first, said := wrapped(t, script, heard, strconv.Itoa(c.ends))
		if first != "ready" {
			t.Fatalf("printed %q: %s", first, said)
		}
		must(t, cmd.Process.Signal(c.signal))
		code := within(t, cmd)
		text, err := os.ReadFile(heard)
		if code != c.want || err != nil || strings.TrimSpace(string(text)) != c.hears {
			t.Errorf("%s: exit %d, the command heard %q (%v); want %d and %s\n%s", c.name, code, text, err, c.want, c.hears, said)
		}
	}
}

// TestRayWrapLeavesNoOrphans: what the command left running is gone when the wrapper is, however the command ended.
func TestRayWrapLeavesNoOrphans(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"0", "1"} {
		cmd, first, said := wrapped(t, `sleep 1000 & echo $!; exit $1`, code)
		pid, err := strconv.Atoi(first)
		if err != nil {
			t.Fatalf("printed %q: %s", first, said)
		}
		within(t, cmd)
		gone(t, pid)
	}
}

// TestRayWrapKilled: the command hears of the wrapper's own death as of a wish to end.
func TestRayWrapKilled(t *testing.T) {
	t.Parallel()
	heard := filepath.Join(t.TempDir(), "heard")
	cmd, first, said := wrapped(t, `trap "echo TERM > $1; exit" TERM; echo $$; while :; do sleep 0.05; done`, heard)
	pid, err := strconv.Atoi(first)
	if err != nil {
		t.Fatalf("printed %q: %s", first, said)
	}
	must(t, cmd.Process.Kill())
	within(t, cmd)
	gone(t, pid)
	if text, err := os.ReadFile(heard); err != nil || strings.TrimSpace(string(text)) != "TERM" {
		t.Errorf("the command heard %q, %v", text, err)
	}
}

// TestRayWrapWaitsForTheRestOfTheGroup: a shell dies of a signal at once; what it waited for still cleans up.
func TestRayWrapWaitsForTheRestOfTheGroup(t *testing.T) {
	t.Parallel()
	cleaned := filepath.Join(t.TempDir(), "cleaned")
	const script = `(trap 'sleep 0.3; echo yes > "$1"; exit' TERM; echo ready; while :; do sleep 0.05; done) & wait`
	cmd, first, said := wrapped(t, script, cleaned)
	if first != "ready" {
		t.Fatalf("printed %q: %s", first, said)
	}
	must(t, cmd.Process.Signal(syscall.SIGTERM))
	code := within(t, cmd)
	if text, err := os.ReadFile(cleaned); code != 143 || err != nil || strings.TrimSpace(string(text)) != "yes" {
		t.Errorf("exit %d, cleaned %q (%v)\n%s", code, text, err, said)
	}
}
