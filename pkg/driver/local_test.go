//go:build linux

package driver_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/driver"
	"github.com/sluiceci/sluice/pkg/driver/drivertest"
)

func newLocal(t testing.TB) *driver.Local {
	t.Helper()
	local, err := driver.NewLocal(driver.LocalOptions{Place: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = local.Close() })
	return local
}

func TestLocalConforms(t *testing.T) {
	drivertest.Run(t, func(t *testing.T) driver.Driver { return newLocal(t) })
}

// alive reports whether a process is there and not a zombie.
func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	return !bytes.HasPrefix(b[bytes.LastIndexByte(b, ')')+1:], []byte(" Z"))
}

func awaitDeath(t *testing.T, pid int, within time.Duration) {
	t.Helper()
	for end := time.Now().Add(within); alive(pid); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("process %d is still alive after %s", pid, within)
		}
	}
}

func pidIn(t *testing.T, path string) int {
	t.Helper()
	pid, err := strconv.Atoi(drivertest.AwaitFile(t, path))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// daemon leaves the session, closes nothing, ignores what can be ignored and writes its id.
const daemon = `setsid sh -c 'trap "" TERM HUP; echo $$ > daemon; while :; do sleep 0.2; done' &
while ! test -s daemon; do sleep 0.01; done
`

func TestDaemonsDieWithTheirAttempt(t *testing.T) {
	for name, script := range map[string]string{
		"after success":       daemon,
		"after failure":       daemon + "exit 3",
		"deaf in the session": "(trap '' TERM; echo $(sh -c 'echo $PPID') > daemon; exec sleep 60 >/dev/null) & while ! test -s daemon; do sleep 0.01; done",
	} {
		t.Run(name, func(t *testing.T) {
			spec := drivertest.Shell(t, script, &bytes.Buffer{})
			exit := drivertest.Exit(t, t.Context(), newLocal(t), spec)
			pid := pidIn(t, filepath.Join(spec.Dir, "daemon"))
			if alive(pid) || exit.Cause != nil || exit.Err != nil || exit.Truncated {
				t.Errorf("daemon %d alive: %v; %+v", pid, alive(pid), exit)
			}
			if strings.HasPrefix(name, "after") && exit.Leftovers == 0 {
				t.Errorf("%+v does not tell of the daemon", exit)
			}
		})
	}
}

func TestDaemonDiesAfterTimeout(t *testing.T) {
	timeout := errors.New("timeout")
	ctx, cancel := context.WithCancelCause(t.Context())
	spec := drivertest.Shell(t, daemon+"echo up > up; sleep 60", &bytes.Buffer{})
	p, err := newLocal(t).Start(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	drivertest.AwaitFile(t, filepath.Join(spec.Dir, "up"))
	cancel(timeout)
	exit := drivertest.Wait(t, p)
	if pid := pidIn(t, filepath.Join(spec.Dir, "daemon")); alive(pid) || !errors.Is(exit.Cause, timeout) {
		t.Errorf("daemon %d alive: %v; %+v", pid, alive(pid), exit)
	}
}

func TestEscapedHolderOfTheOutputDoesNotHang(t *testing.T) {
	// Who leaves the session and wipes its environment escapes (see the package comment); Wait must end all the same.
	var out bytes.Buffer
	spec := drivertest.Shell(t, `setsid env -i /bin/sh -c 'echo $$ > daemon; exec sleep 30' &
while ! test -s daemon; do sleep 0.01; done; echo said`, &out)
	spec.Drain = 50 * time.Millisecond
	exit := drivertest.Exit(t, t.Context(), newLocal(t), spec)
	defer func() { _ = syscall.Kill(pidIn(t, filepath.Join(spec.Dir, "daemon")), syscall.SIGKILL) }()
	if !exit.OK() || !exit.Truncated || out.String() != "said\n" {
		t.Errorf("%+v with output %q", exit, out.String())
	}
}

func TestEndOfTheThreadIsNotTheCommandsFault(t *testing.T) {
	local := newLocal(t)
	started := make(chan driver.Process)
	var onItsOwnThread func()
	onItsOwnThread = func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with this goroutine
		if syscall.Gettid() == os.Getpid() {
			go onItsOwnThread() // The first thread never ends; while it is locked here, the next one is another.
			<-t.Context().Done()
			return
		}
		p, err := local.Start(t.Context(), drivertest.Shell(t, "sleep 60", nil))
		if err != nil {
			t.Error(err)
		}
		started <- p
	}
	go onItsOwnThread()
	exit := drivertest.Wait(t, <-started)
	if exit.Cause == nil || !strings.Contains(exit.Cause.Error(), "thread") {
		t.Errorf("got %+v", exit)
	}
}

func TestCloseKillsWhatRuns(t *testing.T) {
	local, err := driver.NewLocal(driver.LocalOptions{Place: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	p, err := local.Start(t.Context(), drivertest.Shell(t, "sleep 60", nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := local.Close(); err != nil {
		t.Fatal(err)
	}
	if exit := drivertest.Wait(t, p); exit.OK() || exit.Cause == nil {
		t.Errorf("closing gives %+v", exit)
	}
}

// TestHelperExecutor is no test: it is the executor that the tests below kill.
func TestHelperExecutor(t *testing.T) {
	place := os.Getenv("SLUICE_HELPER_PLACE")
	if place == "" {
		return
	}
	local, err := driver.NewLocal(driver.LocalOptions{Place: place})
	if err != nil {
		t.Fatal(err)
	}
	p, err := local.Start(t.Context(), driver.Spec{
		Args: []string{"sh", "-c", daemon + "sleep 300 & echo $! > child; echo $$ > leader; wait"}, Dir: place,
	})
	if err != nil {
		t.Fatal(err)
	}
	p.Wait()
}

// startExecutor runs TestHelperExecutor in a process of its own until its tree is up.
func startExecutor(t *testing.T) (place string, executor *exec.Cmd, tree []int) {
	t.Helper()
	place = t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestHelperExecutor$")
	cmd.Env = append(os.Environ(), "SLUICE_HELPER_PLACE="+place)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"leader", "child", "daemon"} {
		tree = append(tree, pidIn(t, filepath.Join(place, name)))
	}
	return place, cmd, tree
}

func TestKilledExecutorLeavesNoOrphans(t *testing.T) {
	_, executor, tree := startExecutor(t)
	_ = executor.Process.Kill()
	_ = executor.Wait()
	for _, pid := range tree {
		awaitDeath(t, pid, time.Minute)
	}
}

// watchdogOf finds the shell among an executor's children.
func watchdogOf(t *testing.T, executor int) int {
	t.Helper()
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		line, _ := os.ReadFile(file)
		stat, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "stat"))
		_, rest, _ := strings.Cut(string(stat), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == strconv.Itoa(executor) &&
			bytes.Contains(line, []byte("sluice-watchdog")) {
			return pid
		}
	}
	t.Fatal("the executor has no watchdog")
	return 0
}

func TestReclaimAfterTheWatchdogDiedToo(t *testing.T) {
	place, executor, tree := startExecutor(t)
	pid := watchdogOf(t, executor.Process.Pid)
	_ = syscall.Kill(pid, syscall.SIGKILL)
	_ = executor.Process.Kill()
	_ = executor.Wait()
	awaitDeath(t, tree[0], time.Minute) // PDEATHSIG
	if !alive(tree[2]) {
		t.Fatal("the daemon is dead already: the test shows nothing")
	}
	local, err := driver.NewLocal(driver.LocalOptions{Place: place})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = local.Close() }()
	killed, err := local.Reclaim(t.Context())
	if err != nil || killed == 0 || alive(tree[1]) || alive(tree[2]) {
		t.Errorf("%d killed, %v; child alive %v, daemon alive %v", killed, err, alive(tree[1]), alive(tree[2]))
	}
}

func TestReclaimSparesOthers(t *testing.T) {
	local, other := newLocal(t), newLocal(t)
	p, err := other.Start(t.Context(), drivertest.Shell(t, "sleep 60", nil))
	if err != nil {
		t.Fatal(err)
	}
	own, err := local.Start(t.Context(), drivertest.Shell(t, "sleep 60", nil))
	if err != nil {
		t.Fatal(err)
	}
	killed, err := local.Reclaim(t.Context())
	if err != nil || killed != 0 {
		t.Errorf("%d killed, %v", killed, err)
	}
	for _, one := range []driver.Process{p, own} {
		if pid, _ := strconv.Atoi(strings.TrimPrefix(one.ID(), "local:")); !alive(pid) {
			t.Errorf("%s was killed", one.ID())
		}
	}
}

func BenchmarkBareExec(b *testing.B) {
	dir := b.TempDir()
	defer meterCPU(b)()
	for b.Loop() {
		cmd := exec.Command("/bin/sh", "-eu", "-c", ":")
		cmd.Dir = dir
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLocal(b *testing.B) {
	local, dir := newLocal(b), b.TempDir()
	defer meterCPU(b)()
	for b.Loop() {
		p, err := local.Start(b.Context(), driver.Spec{Args: []string{"sh", "-eu", "-c", ":"}, Dir: dir, Output: &bytes.Buffer{}})
		if err != nil {
			b.Fatal(err)
		}
		if exit := p.Wait(); !exit.OK() {
			b.Fatal(exit)
		}
	}
}

func BenchmarkBareExecParallel(b *testing.B) {
	dir := b.TempDir()
	defer meterCPU(b)()
	b.SetParallelism(4)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			cmd := exec.Command("/bin/sh", "-eu", "-c", ":")
			cmd.Dir = dir
			if err := cmd.Run(); err != nil {
				b.Error(err)
			}
		}
	})
}

func BenchmarkLocalParallel(b *testing.B) {
	local, dir := newLocal(b), b.TempDir()
	defer meterCPU(b)()
	b.SetParallelism(4)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			p, err := local.Start(b.Context(), driver.Spec{Args: []string{"sh", "-eu", "-c", ":"}, Dir: dir, Output: &bytes.Buffer{}})
			if err != nil {
				b.Error(err)
				return
			}
			if exit := p.Wait(); !exit.OK() {
				b.Error(exit)
			}
		}
	})
}

// meterCPU tells what the driver's own process spends for each command, children apart.
func meterCPU(b *testing.B) func() {
	b.Helper()
	spent := func() float64 {
		var usage syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
			b.Fatal(err)
		}
		return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e3
	}
	before := spent()
	return func() { b.ReportMetric((spent()-before)/float64(b.N), "self-µs/op") }
}
