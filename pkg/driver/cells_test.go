//go:build linux

package driver_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/driver"
	"github.com/sluiceci/sluice/pkg/driver/drivertest"
)

func newIsolated(t testing.TB, o driver.LocalOptions) *driver.Local {
	t.Helper()
	o.Cells, o.Isolation = true, driver.IsolationRequired
	if o.Place == "" {
		o.Place = t.TempDir()
	}
	local, err := driver.NewLocal(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = local.Close() })
	return local
}

func TestIsolatedConforms(t *testing.T) {
	drivertest.Run(t, func(t *testing.T) driver.Driver { return newIsolated(t, driver.LocalOptions{}) })
}

func BenchmarkIsolated(b *testing.B) {
	local, dir := newIsolated(b, driver.LocalOptions{}), b.TempDir()
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

func BenchmarkIsolatedParallel(b *testing.B) {
	local, top := newIsolated(b, driver.LocalOptions{}), b.TempDir()
	defer meterCPU(b)()
	b.SetParallelism(4)
	b.RunParallel(func(pb *testing.PB) {
		dir, err := os.MkdirTemp(top, "")
		if err != nil {
			b.Error(err)
		}
		for pb.Next() {
			p, err := local.Start(b.Context(), driver.Spec{Args: []string{"sh", "-eu", "-c", ":"}, Dir: filepath.Clean(dir), Output: &bytes.Buffer{}})
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

// world is what an isolated command must not reach: the platform's files, and another attempt's.
type world struct {
	place, state, secret, other string
}

func newWorld(t *testing.T) world {
	t.Helper()
	top := t.TempDir()
	w := world{
		place: filepath.Join(top, "state/executor"), state: filepath.Join(top, "state"), secret: filepath.Join(top, "secrets"),
		other: filepath.Join(top, "state/executor/other"),
	}
	for _, dir := range []string{w.other, filepath.Join(w.place, "mine")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{w.secret, filepath.Join(w.state, "connection.json"), filepath.Join(w.other, "source")} {
		if err := os.WriteFile(name, []byte("a-secret-of-the-platform"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func (w world) options() driver.LocalOptions {
	return driver.LocalOptions{Place: w.place, Hide: []string{w.state, w.secret}}
}

func (w world) spec(t *testing.T, script string, out io.Writer) driver.Spec {
	t.Helper()
	spec := drivertest.Shell(t, script, out)
	spec.Dir = filepath.Join(w.place, "mine")
	return spec
}

func TestIsolatedHoldsBack(t *testing.T) {
	w := newWorld(t)
	local := newIsolated(t, w.options())
	script := strings.NewReplacer("STATE", w.state, "SECRET", w.secret, "OTHER", w.other, "PID", strconv.Itoa(os.Getpid())).Replace(`
for f in STATE/connection.json SECRET OTHER/source /proc/1/environ /proc/PID/environ; do
	grep -al secret "$f" 2>/dev/null && echo "reads $f"; done
for d in /run /etc /usr/bin /proc/sys/kernel; do (echo x > "$d/made") 2>/dev/null && echo "writes $d"; done
for d in STATE OTHER; do (echo x > "$d/made") 2>/dev/null; done
kill -0 PID 2>/dev/null && echo "signals the platform"
kill -9 1 2>/dev/null # which must not end the cell
ls /proc/1/fd/ >/dev/null 2>&1 && echo "sees its cell's files"
ls /proc/self/fd | grep -vE '^[0-3]$' && echo "inherited files"
grep -E '^(CapPrm|CapEff|CapBnd):' /proc/self/status | grep -v 0000000000000000 && echo "has capabilities"
grep -q '^NoNewPrivs:.1' /proc/self/status || echo "may gain privileges"
mount -t tmpfs x /mnt 2>/dev/null && echo "mounts"
for f in $(find /usr/bin /bin -perm -4000 2>/dev/null); do
	"$f" --help >/dev/null 2>&1 </dev/null; done; test -z "$(su -c 'echo root' 2>/dev/null)" || echo "su works"
echo mine > made; cat made`)
	var out bytes.Buffer
	exit := drivertest.Exit(t, t.Context(), local, w.spec(t, "set +e\n"+script, &out))
	if !exit.OK() || out.String() != "mine\n" {
		t.Errorf("%v: %s", exit, out.String())
	}
	for _, dir := range []string{w.state, w.other} {
		if _, err := os.Lstat(filepath.Join(dir, "made")); err == nil {
			t.Errorf("it wrote to %s", dir)
		}
	}
	made, err := os.Stat(filepath.Join(w.place, "mine/made"))
	if err != nil || made.Sys().(*syscall.Stat_t).Uid != uint32(os.Getuid()) {
		t.Errorf("what it made is not the executor's: %v, %v", made, err)
	}
}

// TestNothingOutlivesItsCommand: whatever a process did to get away, it is gone when Wait returns.
func TestNothingOutlivesItsCommand(t *testing.T) {
	w := newWorld(t)
	local := newIsolated(t, w.options())
	exit := drivertest.Exit(t, t.Context(), local, w.spec(t, `(env -i setsid /bin/sh -c '(trap "" TERM HUP; while :; do echo x >> beat; sleep 0.02; done) &' >/dev/null 2>&1 </dev/null &)
while ! test -s beat; do sleep 0.01; done`, nil))
	beat := filepath.Join(w.place, "mine/beat")
	before, err := os.Stat(beat)
	if err != nil || exit.Leftovers == 0 || !exit.OK() {
		t.Fatalf("%+v, %v", exit, err)
	}
	// A second command in the same cell sees nothing of the first.
	var out bytes.Buffer
	drivertest.Exit(t, t.Context(), local, w.spec(t, "sleep 0.2; ls /tmp /dev/shm /var/tmp | grep -v :; ls -d /proc/[0-9]* | wc -l", &out))
	after, err := os.Stat(beat)
	if err != nil || after.Size() != before.Size() {
		t.Errorf("it still runs: %d and %d bytes", before.Size(), after.Size())
	}
}

// TestTermReachesEveryDescendant: also what left the session and wiped its environment hears SIGTERM, and has its grace.
func TestTermReachesEveryDescendant(t *testing.T) {
	w := newWorld(t)
	local := newIsolated(t, w.options())
	ctx, cancel := context.WithCancel(t.Context())
	spec := w.spec(t, `env -i setsid /bin/sh -c 'trap "sleep 0.2; echo heard > heard; exit" TERM; echo up > up; while :; do sleep 0.02; done' & wait`, nil)
	spec.Grace = time.Minute
	p, err := local.Start(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	drivertest.AwaitFile(t, filepath.Join(spec.Dir, "up"))
	cancel()
	if exit := drivertest.Wait(t, p); exit.OK() {
		t.Errorf("%+v", exit)
	}
	if _, err := os.Stat(filepath.Join(spec.Dir, "heard")); err != nil {
		t.Error(err)
	}
}

func TestIsolatedLimits(t *testing.T) {
	local := newIsolated(t, driver.LocalOptions{})
	for name, one := range map[string]struct {
		limits driver.Limits
		script string
		shows  string
	}{
		"file size": {driver.Limits{FileSize: 1 << 20}, "head -c 2000000 /dev/zero > big || wc -c < big", "1048576"},
		"memory":    {driver.Limits{Memory: 96 << 20}, "head -c 300M /dev/zero | tail -c 250M | wc -c; echo ended", "ended"},
		"cpu time":  {driver.Limits{CPUTime: time.Second}, "sh -c 'while :; do :; done' || echo $?", "152"},
		"none":      {driver.Limits{}, "head -c 2000000 /dev/zero > big; wc -c < big", "2000000"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			spec := drivertest.Shell(t, one.script, &out)
			spec.Limits = one.limits
			drivertest.Exit(t, t.Context(), local, spec)
			if !strings.Contains(out.String(), one.shows) || strings.Contains(out.String(), "262144000") {
				t.Errorf("output %q, expected %q", out.String(), one.shows)
			}
		})
	}
}

// TestHelperIsolatedExecutor is no test: it is the executor that the next one kills.
func TestHelperIsolatedExecutor(t *testing.T) {
	place := os.Getenv("SLUICE_HELPER_ISOLATED")
	if place == "" {
		return
	}
	local, err := driver.NewLocal(driver.LocalOptions{Place: place, Cells: true, Isolation: driver.IsolationRequired})
	if err != nil {
		t.Fatal(err)
	}
	p, err := local.Start(t.Context(), driver.Spec{Dir: place, Args: []string{"sh", "-c", `
env -i setsid /bin/sh -c 'while :; do echo x >> beat; sleep 0.02; done' & while ! test -s beat; do sleep 0.01; done; echo up > up; wait`}})
	if err != nil {
		t.Fatal(err)
	}
	p.Wait()
}

func TestKilledExecutorLeavesNoCell(t *testing.T) {
	place := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestHelperIsolatedExecutor$")
	cmd.Env = append(os.Environ(), "SLUICE_HELPER_ISOLATED="+place)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	drivertest.AwaitFile(t, filepath.Join(place, "up"))
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	size := func() int64 {
		info, err := os.Stat(filepath.Join(place, "beat"))
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	still := 0
	for end := time.Now().Add(time.Minute); still < 10; still++ {
		if before := size(); time.Now().Before(end) {
			time.Sleep(50 * time.Millisecond) // twice the time between two beats of what must be dead
			if size() != before {
				still = -1
			}
		} else {
			t.Fatal("the command outlives its executor")
		}
	}
}

func TestUsers(t *testing.T) {
	var u driver.Users
	if err := u.UnmarshalText([]byte("200000-200063")); err != nil || u.String() != "200000-200063" {
		t.Errorf("%v, %v", u, err)
	}
	for _, text := range []string{"", "1", "0-9", "5000-4000", "200000-200063 x", "2000-999999", "a-b"} {
		if err := u.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is a range", text)
		}
	}
}

// TestIsolationIsSaid: what a machine cannot give is told, and nothing untrusted runs there.
func TestIsolationIsSaid(t *testing.T) {
	local, err := driver.NewLocal(driver.LocalOptions{Place: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = local.Close() }()
	if i := driver.IsolationOf(local); len(i.Missing) == 0 || i.Untrusted() == nil {
		t.Errorf("a driver without cells says %+v", i)
	}
	if _, err := driver.NewLocal(driver.LocalOptions{Place: t.TempDir(), Isolation: driver.IsolationRequired}); err == nil {
		t.Error("isolation that is required and cannot be had is no error")
	}
	if os.Geteuid() == 0 {
		if err := newIsolated(t, driver.LocalOptions{}).Isolation().Untrusted(); err != nil {
			t.Errorf("root cannot isolate: %v", err)
		}
	}
}

// TestSharedMemoryDoesNotStay: what one command leaves in the kernel is not there for the next.
func TestSharedMemoryDoesNotStay(t *testing.T) {
	drivertest.Needs(t, "ipcmk", "ipcs")
	local := newIsolated(t, driver.LocalOptions{})
	for _, flag := range []string{"-M 4096", "-Q", "-S 1"} {
		drivertest.Exit(t, t.Context(), local, drivertest.Shell(t, "ipcmk "+flag, nil))
		var out bytes.Buffer
		drivertest.Exit(t, t.Context(), local, drivertest.Shell(t, "ipcs | grep -c 0x || :", &out))
		if strings.TrimSpace(out.String()) != "0" {
			t.Errorf("after ipcmk %s the next command sees %s", flag, out.String())
		}
	}
}

// TestBindsStay: what the operator shows is there for every command of a cell, also in a directory that is emptied in between.
func TestBindsStay(t *testing.T) {
	shown, read := t.TempDir(), filepath.Join(t.TempDir(), "read")
	if err := errors.Join(os.Chmod(shown, 0o777), os.WriteFile(read, []byte("read\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	local := newIsolated(t, driver.LocalOptions{Show: []driver.Mount{{Source: shown, Writable: true}, {Source: read}}})
	for range 3 {
		exit := drivertest.Exit(t, t.Context(), local, drivertest.Shell(t, "cat "+read+" >> "+shown+"/said; echo x > /tmp/x; ! echo x >> "+read, nil))
		if !exit.OK() {
			t.Fatal(exit)
		}
	}
	if b, err := os.ReadFile(filepath.Join(shown, "said")); string(b) != "read\nread\nread\n" {
		t.Errorf("%q, %v", b, err)
	}
}
