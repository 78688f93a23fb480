package container_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/driver"
	"github.com/sluiceci/sluice/pkg/driver/container"
	"github.com/sluiceci/sluice/pkg/driver/container/enginetest"
	"github.com/sluiceci/sluice/pkg/driver/drivertest"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/loopback"
)

func TestLimits(t *testing.T) {
	t.Parallel()
	d := open(t, container.Options{})
	var out bytes.Buffer
	spec := drivertest.Shell(t, `cd /sys/fs/cgroup
cat memory.max memory/memory.limit_in_bytes 2>/dev/null || :
cat cpu.max cpu/cpu.cfs_quota_us 2>/dev/null || :
cat pids.max pids/pids.max 2>/dev/null || :
ulimit -f; ulimit -t`, &out)
	spec.Limits = driver.Limits{Memory: 64 << 20, CPU: 0.5, Processes: 50, FileSize: 1 << 20, CPUTime: 90 * time.Second}
	p, err := d.Start(t.Context(), spec)
	if fault.Is(err, fault.Invalid) && os.Getuid() != 0 { // No control groups: TestLimitsThatAreNotHeld has the rest.
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	exit := drivertest.Wait(t, p)
	words := strings.Fields(strings.ReplaceAll(out.String(), " 100000", ""))
	if want := "67108864 50000 56 2048 90"; !exit.OK() || strings.Join(words, " ") != want {
		t.Errorf("%v with limits %q, expected %q", exit, words, want)
	}
}

func TestOutOfMemoryIsTold(t *testing.T) {
	t.Parallel()
	d := open(t, container.Options{})
	spec := drivertest.Shell(t, "dd if=/dev/zero of=/dev/null bs=200M count=1", nil)
	spec.Limits.Memory = 32 << 20
	p, err := d.Start(t.Context(), spec)
	if fault.Is(err, fault.Invalid) && os.Getuid() != 0 {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	exit := drivertest.Wait(t, p)
	if exit.OK() || !exit.Memory || exit.Cause != nil || !strings.Contains(exit.String(), "out of memory") {
		t.Errorf("got %+v: %v", exit, exit)
	}
}

func TestNoNetworkUnlessAsked(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	d := open(t, container.Options{Network: "host"})
	for asked, want := range map[bool]bool{true: true, false: false} {
		spec := drivertest.Shell(t, fmt.Sprintf("nc 127.0.0.1 %d -e true", listener.Addr().(*net.TCPAddr).Port), nil)
		spec.Network = asked
		if exit := drivertest.Exit(t, t.Context(), d, spec); exit.OK() != want {
			t.Errorf("network %v gives %v", asked, exit)
		}
	}
}

func TestFilesBelongToTheWorkspacesOwner(t *testing.T) {
	t.Parallel()
	d := open(t, container.Options{})
	root, other, owner, inside := t.TempDir(), t.TempDir(), 1234, 1234
	if own := os.Getuid(); own != 0 {
		owner, inside = own, 0
	}
	spec := drivertest.Shell(t, fmt.Sprintf("echo x > made; echo x > ../beside; ! echo x > %s/no; cat %[1]s/there; id -u", other), nil)
	var out bytes.Buffer
	spec.Output, spec.Root, spec.Dir = &out, root, filepath.Join(root, "work")
	spec.Mounts = []driver.Mount{{Source: other}}
	for _, err := range []error{
		os.Mkdir(spec.Dir, 0o755), os.Chown(root, owner, -1), os.Chown(spec.Dir, owner, -1),
		os.WriteFile(filepath.Join(other, "there"), []byte("seen\n"), 0o644), os.Chmod(filepath.Dir(root), 0o755), os.Chmod(filepath.Dir(other), 0o755),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	exit := drivertest.Exit(t, t.Context(), d, spec)
	info, err := os.Stat(filepath.Join(root, "beside"))
	if err != nil || !exit.OK() || info.Sys().(*syscall.Stat_t).Uid != uint32(owner) || !strings.HasSuffix(out.String(), fmt.Sprintf("seen\n%d\n", inside)) {
		t.Errorf("%v, %v with output %q", exit, err, out.String())
	}
}

func TestTagsAreResolved(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	var log bytes.Buffer
	d := open(t, container.Options{Image: e.Tag, Log: slog.New(slog.NewTextHandler(&log, nil))})
	exit := drivertest.Exit(t, t.Context(), d, drivertest.Shell(t, "exit 0", nil))
	if !strings.Contains(exit.Image, "sha256:") || !strings.Contains(log.String(), exit.Image) || !strings.Contains(log.String(), e.Tag) {
		t.Errorf("%+v; the log says %s", exit, log.String())
	}
}

func TestImagesThatCannotBeHad(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	away := loopback.ReserveFor(t)
	for name, one := range map[string]struct {
		options container.Options
		image   string
		kind    fault.Kind
	}{
		"none named":       {container.Options{}, "", fault.Invalid},
		"missing, no pull": {container.Options{Pull: container.PullNever}, "localhost/sluice/ghost:1", fault.Invalid},
		"no name":          {container.Options{}, "Not A Name", fault.Invalid},
		"registry is away": {container.Options{}, away + "/sluice/ghost:1", fault.Transient},
		"digest, no pull":  {container.Options{Pull: container.PullNever}, "localhost/sluice/busybox@sha256:" + strings.Repeat("0", 64), fault.Invalid},
		"not in registry":  {container.Options{Pull: container.PullAlways}, e.Registry + "/sluice/ghost:1", fault.Invalid},
		"not for us":       {container.Options{}, e.Registry + "/sluice/secret/x:1", fault.Denied},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one.options.Host, one.options.Place = e.Host, t.TempDir()
			d, err := container.Open(t.Context(), one.options)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = d.Close() }()
			spec := drivertest.Shell(t, "exit 0", nil)
			spec.Image = one.image
			_, err = d.Start(t.Context(), spec)
			if !fault.Is(err, one.kind) || !strings.HasPrefix(err.Error(), "cannot ") {
				t.Errorf("got %s: %v", fault.Of(err), err)
			}
		})
	}
}

func TestImagesArePulled(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	d := open(t, container.Options{})
	for _, name := range []string{"/sluice/by-tag:1", "/sluice/by-digest@" + e.Digest} {
		spec := drivertest.Shell(t, "exit 0", nil)
		spec.Image = e.Registry + name
		exit := drivertest.Exit(t, t.Context(), d, spec)
		if !exit.OK() || !strings.HasSuffix(exit.Image, "@"+e.Digest) {
			t.Errorf("%s gives %+v, expected digest %s", name, exit, e.Digest)
		}
	}
}

func TestEnginesThatCannotBeUsed(t *testing.T) {
	for host, kind := range map[string]fault.Kind{"unix:///no/such/socket": fault.Transient, "carrier-pigeon": fault.Invalid} {
		_, err := container.Open(t.Context(), container.Options{Host: host, Place: t.TempDir()})
		if !fault.Is(err, kind) {
			t.Errorf("%s gives %v", host, err)
		}
	}
	if _, err := container.Open(t.Context(), container.Options{Pull: "sometimes"}); !fault.Is(err, fault.Invalid) {
		t.Errorf("got %v", err)
	}
}

// containers lists the names of all containers of the engine that carry a label.
func containers(t *testing.T, e *enginetest.Engine, label string) []string {
	t.Helper()
	said, err := e.Command("ps", "-a", "--filter", "label="+label, "--format", "{{.Names}}").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return strings.Fields(string(said))
}

// TestHelperExecutor is no test: it is the executor that the tests below kill.
func TestHelperExecutor(t *testing.T) {
	host := os.Getenv("SLUICE_HELPER_HOST")
	if host == "" {
		return
	}
	d, err := container.Open(t.Context(), container.Options{Host: host, Image: os.Getenv("SLUICE_HELPER_IMAGE"), Place: os.Getenv("SLUICE_HELPER_PLACE")})
	if err != nil {
		t.Fatal(err)
	}
	p, err := d.Start(t.Context(), driver.Spec{
		Args: []string{"sh", "-c", "setsid sleep 300 & echo up > up; sleep 300"}, Dir: os.Getenv("SLUICE_HELPER_DIR"),
		Env: map[string]string{"SLUICE_TEST_MARK": os.Getenv("SLUICE_TEST_MARK")}, Labels: map[string]string{"run": os.Getenv("SLUICE_HELPER_RUN")},
	})
	if err != nil {
		t.Fatal(err)
	}
	p.Wait()
}

func TestKilledExecutorLeavesNothing(t *testing.T) {
	e := newEngine(t)
	place, spec := t.TempDir(), drivertest.Shell(t, "", nil)
	run := filepath.Base(filepath.Dir(place))
	cmd := exec.Command(os.Args[0], "-test.run=^TestHelperExecutor$")
	cmd.Env = append(os.Environ(), "SLUICE_HELPER_HOST="+e.Host, "SLUICE_HELPER_IMAGE="+e.Image, "SLUICE_HELPER_PLACE="+place,
		"SLUICE_HELPER_DIR="+spec.Dir, "SLUICE_HELPER_RUN="+run, "SLUICE_TEST_MARK="+spec.Env["SLUICE_TEST_MARK"])
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	drivertest.AwaitFile(t, filepath.Join(spec.Dir, "up"))
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	// The engine closes the leash: nobody needs to sweep for the processes to end.
	for end := time.Now().Add(40 * time.Second); drivertest.Left(t) != ""; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("still running: %s", drivertest.Left(t))
		}
	}
	if got := containers(t, e, "sluice.run="+run); len(got) != 1 {
		t.Errorf("there are containers %v, expected one to sweep", got)
	}
	if n, err := open(t, container.Options{Place: t.TempDir()}).Sweep(t.Context()); n != 0 || err != nil {
		t.Errorf("another place swept %d, %v", n, err)
	}
	next := open(t, container.Options{Place: place})
	if n, err := next.Sweep(t.Context()); n != 1 || err != nil {
		t.Errorf("%d swept, %v", n, err)
	}
	if got := containers(t, e, "sluice.run="+run); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
}

func TestSweepTakesExpiredContainersOfAnybody(t *testing.T) {
	e := newEngine(t)
	for _, expires := range []string{"1000000000", "9000000000"} {
		said, err := e.Command("create", "--label", "sluice.place=elsewhere", "--label", "sluice.expires="+expires, e.Image, "true").CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, said)
		}
	}
	if n, err := open(t, container.Options{}).Sweep(t.Context()); n != 1 || err != nil {
		t.Errorf("%d swept, %v", n, err)
	}
	if got := containers(t, e, "sluice.expires=9000000000"); len(got) != 1 {
		t.Errorf("the one that has not expired: %v", got)
	}
}

func TestNothingIsLeftOfAContainer(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	d := open(t, container.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	run := filepath.Base(t.TempDir()) + t.Name()
	for _, script := range []string{"exit 0", "exit 1", "kill -KILL $$", "sleep 60"} {
		spec := drivertest.Shell(t, script, nil)
		spec.Labels = map[string]string{"run": run, "task": "t"}
		p, err := d.Start(ctx, spec)
		if err != nil {
			t.Fatal(err)
		}
		if script == "sleep 60" {
			if got := containers(t, e, "sluice.run="+run); len(got) != 1 {
				t.Errorf("while it runs there are %v", got)
			}
			cancel()
		}
		drivertest.Wait(t, p)
	}
	cancel()
	if got := containers(t, e, "sluice.run="+run); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
}

// TestEngineDies: what cannot be followed any more is not taken for a result.
func TestEngineDies(t *testing.T) {
	e := newEngine(t)
	second, err := e.Second()
	if err != nil {
		t.Fatal(err)
	}
	defer second.Stop()
	place := t.TempDir()
	d := open(t, container.Options{Host: second.Host, Image: second.Image, Patience: time.Second, Place: place})
	var out drivertest.Output
	p, err := d.Start(t.Context(), drivertest.Shell(t, "echo up; sleep 60", &out))
	if err != nil {
		t.Fatal(err)
	}
	out.Await(t, "up\n")
	second.Kill()
	exit := drivertest.Wait(t, p)
	if exit.OK() || !fault.Is(exit.Cause, fault.Transient) {
		t.Errorf("got %+v", exit)
	}
	if err := second.Serve(); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, container.Options{Host: second.Host, Image: second.Image, Place: place}).Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	drivertest.NoneLeft(t)
}
