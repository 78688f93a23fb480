// Package drivertest has the conformance suite of drivers: what every place where attempts run must do. It needs a
// place with a POSIX shell and sleep.
package drivertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/driver"
	"github.com/sluiceci/sluice/pkg/fault"
)

// deadline bounds every wait of the suite. It is shorter than what the longest commands sleep.
const deadline = 50 * time.Second

// Run runs the suite. The factory is called once for every test. After each, nothing that it started is left running on
// this machine, which is also where the place's processes must be to be seen.
func Run(t *testing.T, factory func(t *testing.T) driver.Driver) {
	t.Helper()
	t.Setenv("SLUICE_TEST_OF_THE_EXECUTOR", "leaks") // which no command may see
	for _, one := range []struct {
		name string
		test func(*testing.T, driver.Driver)
	}{
		{"exit codes", testExitCodes},
		{"a signal is no success", testSignal},
		{"output keeps its order", testOrder},
		{"environment is clean", testEnvironment},
		{"standard input is empty", testStdin},
		{"working directory", testDirectory},
		{"what cannot start is invalid", testCannotStart},
		{"an ended context starts nothing", testEndedContext},
		{"the cause of the end is told", testCause},
		{"a deaf process is killed", testDeaf},
		{"grace is given to the whole group", testGrace},
		{"background processes end with the command", testBackground},
		{"a failing writer does not block", testFailingWriter},
		{"much output arrives whole", testMuchOutput},
		{"many at once", testMany},
		{"daemons end with the command", testDaemons},
		{"output may be closed early", testClosedOutput},
		{"bytes stay as they are", testBytes},
		{"a slow reader loses nothing", testSlowReader},
		{"words are passed as they are", testWords},
		{"a big environment", testBigEnvironment},
		{"a stopped process is ended", testStopped},
		{"a deadline is a cause", testDeadline},
		{"cancelled while it starts", testCancelledStart},
		{"everybody who waits hears the same", testManyWaiters},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			one.test(t, factory(t))
			NoneLeft(t)
		})
	}
}

// Shell is a Spec for a script in a new directory.
func Shell(t *testing.T, script string, out io.Writer) driver.Spec {
	t.Helper()
	return driver.Spec{
		Args: []string{"sh", "-eu", "-c", script}, Dir: t.TempDir(), Output: out, Grace: 200 * time.Millisecond,
		Env: map[string]string{markVariable: mark(t)},
	}
}

// Exit runs a spec to its end, within the deadline.
func Exit(t *testing.T, ctx context.Context, d driver.Driver, spec driver.Spec) driver.Exit {
	t.Helper()
	p, err := d.Start(ctx, spec)
	if err != nil {
		t.Fatalf("cannot start %q: %v", spec.Args, err)
	}
	return Wait(t, p)
}

// Wait waits for a process, within the deadline.
func Wait(t *testing.T, p driver.Process) driver.Exit {
	t.Helper()
	ended := make(chan driver.Exit, 1)
	go func() { ended <- p.Wait() }()
	select {
	case exit := <-ended:
		return exit
	case <-time.After(deadline):
		t.Fatalf("%s has not ended after %s", p.ID(), deadline)
		return driver.Exit{}
	}
}

// AwaitFile waits until a file that a script writes has a whole line and returns it.
func AwaitFile(t *testing.T, path string) string {
	t.Helper()
	for end := time.Now().Add(deadline); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if b, err := os.ReadFile(path); err == nil && bytes.HasSuffix(b, []byte("\n")) {
			return strings.TrimSpace(string(b))
		}
	}
	t.Fatalf("no line in %s after %s", path, deadline)
	return ""
}

func testExitCodes(t *testing.T, d driver.Driver) {
	for _, code := range []int{0, 1, 77, 255} {
		exit := Exit(t, t.Context(), d, Shell(t, fmt.Sprintf("exit %d", code), nil))
		if exit.Code != code || exit.Cause != nil || exit.OK() != (code == 0) {
			t.Errorf("exit %d gives %+v", code, exit)
		}
	}
}

func testSignal(t *testing.T, d driver.Driver) {
	exit := Exit(t, t.Context(), d, Shell(t, "kill -KILL $$", nil))
	if exit.OK() || exit.Code == 0 || exit.Cause != nil {
		t.Errorf("a process that killed itself gives %+v", exit)
	}
}

func testOrder(t *testing.T, d driver.Driver) {
	var out bytes.Buffer
	Exit(t, t.Context(), d, Shell(t, "for i in 1 2 3 4 5 6 7 8 9; do echo o$i; echo e$i >&2; done", &out))
	var want strings.Builder
	for i := 1; i <= 9; i++ {
		fmt.Fprintf(&want, "o%d\ne%d\n", i, i)
	}
	if out.String() != want.String() {
		t.Errorf("output is %q, expected %q", out.String(), want.String())
	}
}

func testEnvironment(t *testing.T, d driver.Driver) {
	var out bytes.Buffer
	spec := Shell(t, `echo "$A|$B"; test -n "$PATH$HOME$TMPDIR$LANG"; env`, &out)
	spec.Env["A"], spec.Env["B"] = "one two", "x=y\nz"
	exit := Exit(t, t.Context(), d, spec)
	if !exit.OK() || !strings.HasPrefix(out.String(), "one two|x=y\nz\n") {
		t.Errorf("%v with output %q", exit, out.String())
	}
	if strings.Contains(out.String(), "leaks") {
		t.Error("the command sees the executor's own environment")
	}
}

func testStdin(t *testing.T, d driver.Driver) {
	var out bytes.Buffer
	exit := Exit(t, t.Context(), d, Shell(t, `n=$(wc -c); echo $n`, &out))
	if strings.TrimSpace(out.String()) != "0" {
		t.Errorf("standard input had %q bytes: %v", out.String(), exit)
	}
}

func testDirectory(t *testing.T, d driver.Driver) {
	spec := Shell(t, "echo here > made", nil)
	exit := Exit(t, t.Context(), d, spec)
	if b, err := os.ReadFile(filepath.Join(spec.Dir, "made")); err != nil || string(b) != "here\n" {
		t.Errorf("the command did not run in its directory: %v, %v", err, exit)
	}
}

func testCannotStart(t *testing.T, d driver.Driver) {
	for _, args := range [][]string{nil, {""}, {"no-such-program-anywhere"}, {"/no/such/program"}} {
		_, err := d.Start(t.Context(), driver.Spec{Args: args, Dir: t.TempDir()})
		if !fault.Is(err, fault.Invalid) || !strings.HasPrefix(err.Error(), "cannot ") {
			t.Errorf("starting %q gives %v", args, err)
		}
	}
	_, err := d.Start(t.Context(), driver.Spec{Args: []string{"sh"}, Dir: filepath.Join(t.TempDir(), "missing")})
	if err == nil {
		t.Error("a missing directory is no error")
	}
}

func testEndedContext(t *testing.T, d driver.Driver) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Start(ctx, Shell(t, "exit 0", nil)); !fault.Is(err, fault.Transient) {
		t.Errorf("starting with an ended context gives %v", err)
	}
}

func testCause(t *testing.T, d driver.Driver) {
	why := errors.New("somebody said so")
	ctx, cancel := context.WithCancelCause(t.Context())
	var out Output
	p, err := d.Start(ctx, Shell(t, "echo up; sleep 60", &out))
	if err != nil {
		t.Fatal(err)
	}
	out.Await(t, "up\n")
	cancel(why)
	exit := Wait(t, p)
	if !errors.Is(exit.Cause, why) || exit.OK() {
		t.Errorf("a cancelled process gives %+v", exit)
	}
}

func testDeaf(t *testing.T, d driver.Driver) {
	ctx, cancel := context.WithCancel(t.Context())
	var out Output
	spec := Shell(t, "trap '' TERM; echo up; while :; do sleep 1; done", &out)
	p, err := d.Start(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	out.Await(t, "up\n")
	began := time.Now()
	cancel()
	exit := Wait(t, p)
	if exit.OK() || time.Since(began) < spec.Grace {
		t.Errorf("a deaf process gives %+v after %s", exit, time.Since(began))
	}
}

func testGrace(t *testing.T, d driver.Driver) {
	ctx, cancel := context.WithCancel(t.Context())
	// The outer shell dies of SIGTERM at once; the inner one uses its grace to write a report.
	var out Output
	spec := Shell(t, `sh -c 'trap "sleep 0.3; echo done > report; exit 0" TERM; echo up; while :; do sleep 0.05; done'; :`, &out)
	spec.Grace = deadline
	p, err := d.Start(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	out.Await(t, "up\n")
	cancel()
	Wait(t, p)
	if b, err := os.ReadFile(filepath.Join(spec.Dir, "report")); err != nil || string(b) != "done\n" {
		t.Errorf("the group had no grace: %v", err)
	}
}

func testBackground(t *testing.T, d driver.Driver) {
	var out bytes.Buffer
	exit := Exit(t, t.Context(), d, Shell(t, "sleep 60 & echo started", &out))
	if !exit.OK() || out.String() != "started\n" {
		t.Errorf("%v with output %q", exit, out.String())
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

func testFailingWriter(t *testing.T, d driver.Driver) {
	exit := Exit(t, t.Context(), d, Shell(t, "head -c 1000000 /dev/zero", failingWriter{}))
	if exit.Code != 0 || exit.Err == nil {
		t.Errorf("a failing writer gives %+v", exit)
	}
}

type countingWriter struct{ n int64 }

func (w *countingWriter) Write(b []byte) (int, error) { w.n += int64(len(b)); return len(b), nil }

func testMuchOutput(t *testing.T, d driver.Driver) {
	var out countingWriter
	exit := Exit(t, t.Context(), d, Shell(t, "head -c 100000000 /dev/zero; head -c 13 /dev/zero >&2", &out))
	if !exit.OK() || out.n != 100_000_013 {
		t.Errorf("%v: %d bytes arrived", exit, out.n)
	}
}

func testMany(t *testing.T, d driver.Driver) {
	var all sync.WaitGroup
	dirs := make([]string, 24) // Each its own: a driver may send all of it away and replace it by what comes back.
	for i := range dirs {
		dirs[i] = t.TempDir()
	}
	for i := range dirs {
		all.Go(func() {
			var out bytes.Buffer
			p, err := d.Start(t.Context(), driver.Spec{
				Args: []string{"sh", "-c", fmt.Sprintf("echo %d; exit %d", i, i%3)}, Dir: dirs[i], Output: &out,
			})
			if err != nil {
				t.Error(err)
				return
			}
			if exit := p.Wait(); exit.Code != i%3 || out.String() != fmt.Sprintf("%d\n", i) {
				t.Errorf("process %d gives %+v with output %q", i, exit, out.String())
			}
		})
	}
	all.Wait()
}
