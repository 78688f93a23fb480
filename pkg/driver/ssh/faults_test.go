package ssh_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
	"github.com/sluiceci/sluice/pkg/driver/ssh"
	"github.com/sluiceci/sluice/pkg/fault"
)

// overCable opens a driver whose way to the host can be cut.
func overCable(t *testing.T, change func(*ssh.Options)) (*ssh.Driver, *cable, *server) {
	t.Helper()
	s := newServer(t)
	c := newCable(t, s.address)
	host, err := os.ReadFile(s.known)
	if err != nil {
		t.Fatal(err)
	}
	_, key, _ := strings.Cut(string(host), " ")
	_, port, _ := strings.Cut(c.address, ":")
	write(t, s.known, fmt.Sprintf("[127.0.0.1]:%s %s", port, key))
	o := s.options()
	o.Address = c.address
	if change != nil {
		change(&o)
	}
	return open(t, o), c, s
}

func start(t *testing.T, ctx context.Context, d driver.Driver, spec driver.Spec) driver.Process {
	t.Helper()
	p, err := d.Start(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestCommandSurvivesTheConnection(t *testing.T) {
	t.Parallel()
	d, c, _ := overCable(t, nil)
	go1, went := filepath.Join(t.TempDir(), "go"), filepath.Join(t.TempDir(), "went")
	var out drivertest.Output
	spec := drivertest.Shell(t, fmt.Sprintf(
		"echo before; while ! test -e %s; do sleep 0.02; done; echo away; echo > %s; seq 1 20000; echo result > made; exit 9", go1, went), &out)
	p := start(t, t.Context(), d, spec)
	out.Await(t, "before\n")
	c.sever()
	write(t, go1, "")
	drivertest.AwaitFile(t, went) // It goes on while nobody listens.
	c.mend()
	exit := drivertest.Wait(t, p)
	var want strings.Builder
	want.WriteString("before\naway\n")
	for i := 1; i <= 20000; i++ {
		fmt.Fprintln(&want, i)
	}
	if exit.Code != 9 || exit.Cause != nil || exit.Truncated || out.String() != want.String() {
		t.Errorf("%+v with %d bytes of output, expected %d", exit, len(out.String()), want.Len())
	}
	if b, err := os.ReadFile(filepath.Join(spec.Dir, "made")); string(b) != "result\n" {
		t.Errorf("what it made did not come back: %v", err)
	}
	drivertest.NoneLeft(t)
}

// TestConnectionLostAgainAndAgain cuts in the middle of the log: no byte is lost or doubled.
func TestConnectionLostAgainAndAgain(t *testing.T) {
	t.Parallel()
	d, c, _ := overCable(t, nil)
	var out drivertest.Output
	p := start(t, t.Context(), d, drivertest.Shell(t, "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); echo line $i; [ $((i%100)) != 0 ] || sleep 0.05; done", &out))
	for i := 200; i < 2000; i += 600 {
		out.Await(t, fmt.Sprintf("line %d\n", i))
		c.sever()
		c.mend()
	}
	exit := drivertest.Wait(t, p)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, line := range lines {
		if line != fmt.Sprintf("line %d", i+1) {
			t.Fatalf("line %d is %q", i+1, line)
		}
	}
	if !exit.OK() || len(lines) != 2000 {
		t.Errorf("%+v with %d lines", exit, len(lines))
	}
}

func TestCancelledWhileAway(t *testing.T) {
	t.Parallel()
	d, c, _ := overCable(t, nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	var out drivertest.Output
	p := start(t, ctx, d, drivertest.Shell(t, "trap '' TERM; (trap '' TERM; setsid sleep 300) & echo up; while :; do sleep 1; done", &out))
	out.Await(t, "up\n")
	c.sever()
	why := errors.New("nobody wants it")
	cancel(why)
	time.AfterFunc(500*time.Millisecond, c.mend)
	if exit := drivertest.Wait(t, p); !errors.Is(exit.Cause, why) || exit.OK() {
		t.Errorf("got %+v", exit)
	}
	drivertest.NoneLeft(t)
}

func TestHostThatStaysAway(t *testing.T) {
	t.Parallel()
	d, c, s := overCable(t, func(o *ssh.Options) { o.Patience, o.Orphan = time.Second, 2*time.Second })
	var out drivertest.Output
	p := start(t, t.Context(), d, drivertest.Shell(t, "echo up; sleep 300", &out))
	out.Await(t, "up\n")
	c.sever()
	exit := drivertest.Wait(t, p)
	if !fault.Is(exit.Cause, fault.Transient) || exit.OK() || !strings.Contains(exit.Cause.Error(), "away") {
		t.Errorf("got %+v", exit)
	}
	awaitNone(t) // The host ends what lost its driver.
	c.mend()
	o := s.options() // the executor's next life
	o.Address = c.address
	next := open(t, o)
	if n, err := next.Sweep(t.Context()); n != 1 || err != nil {
		t.Errorf("%d swept, %v", n, err)
	}
	if left := attempts(t, s); len(left) > 0 {
		t.Errorf("left on the host: %v", left)
	}
}

// awaitNone waits until nothing of the test runs any more.
func awaitNone(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(40 * time.Second); drivertest.Left(t) != ""; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("still running: %s", drivertest.Left(t))
		}
	}
}

func attempts(t *testing.T, s *server) []string {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(s.dir, "attempts", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return left
}

func TestSupervisorKilled(t *testing.T) {
	t.Parallel()
	d, _, s := overCable(t, nil)
	var out drivertest.Output
	p := start(t, t.Context(), d, drivertest.Shell(t, "echo up; sleep 300", &out))
	out.Await(t, "up\n")
	if !killSupervisor(t, filepath.Join(s.dir, "attempts")) {
		t.Fatal("there is no supervisor")
	}
	exit := drivertest.Wait(t, p)
	if !fault.Is(exit.Cause, fault.Transient) || !strings.Contains(exit.Cause.Error(), "supervisor") {
		t.Errorf("got %+v", exit)
	}
	drivertest.NoneLeft(t)
}

func killSupervisor(t *testing.T, dir string) (killed bool) {
	t.Helper()
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		line, _ := os.ReadFile(file)
		if !bytes.Contains(line, []byte("sluice-supervisor\x00"+dir)) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		killed = syscall.Kill(pid, syscall.SIGKILL) == nil || killed
	}
	return killed
}

// TestHelperExecutor is no test: it is the executor that the test below kills.
func TestHelperExecutor(t *testing.T) {
	if os.Getenv("SLUICE_HELPER_ADDRESS") == "" {
		return
	}
	o := ssh.Options{
		Address: os.Getenv("SLUICE_HELPER_ADDRESS"), User: os.Getenv("SLUICE_HELPER_USER"), KeyFile: os.Getenv("SLUICE_HELPER_KEY"),
		KnownHosts: os.Getenv("SLUICE_HELPER_KNOWN"), Dir: os.Getenv("SLUICE_HELPER_DIR"), Place: os.Getenv("SLUICE_HELPER_PLACE"),
	}
	d := open(t, o)
	p := start(t, t.Context(), d, driver.Spec{
		Args: []string{"sh", "-c", "setsid sleep 300 & echo up > $UP; sleep 300"}, Dir: os.Getenv("SLUICE_HELPER_WORK"), // a folder of its own would stay when it is killed
		Env: map[string]string{"UP": os.Getenv("SLUICE_HELPER_UP"), "SLUICE_TEST_MARK": os.Getenv("SLUICE_TEST_MARK")},
	})
	p.Wait()
}

func TestSweepAfterTheExecutorWasKilled(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	o := s.options()
	up := filepath.Join(t.TempDir(), "up")
	cmd := exec.Command(os.Args[0], "-test.run=^TestHelperExecutor$")
	cmd.Env = append(os.Environ(), "SLUICE_HELPER_ADDRESS="+o.Address, "SLUICE_HELPER_USER="+o.User, "SLUICE_HELPER_KEY="+o.KeyFile,
		"SLUICE_HELPER_KNOWN="+o.KnownHosts, "SLUICE_HELPER_DIR="+o.Dir, "SLUICE_HELPER_PLACE="+o.Place, "SLUICE_HELPER_UP="+up, "SLUICE_HELPER_WORK="+t.TempDir(),
		"SLUICE_TEST_MARK="+drivertest.Shell(t, "", nil).Env["SLUICE_TEST_MARK"])
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	drivertest.AwaitFile(t, up)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if drivertest.Left(t) == "" {
		t.Fatal("the command ended with its executor: the test shows nothing")
	}
	o.Place = t.TempDir()
	if n, err := open(t, o).Sweep(t.Context()); n != 0 || err != nil {
		t.Errorf("another place swept %d, %v", n, err)
	}
	o.Place = s.dir
	if n, err := open(t, o).Sweep(t.Context()); n != 1 || err != nil {
		t.Errorf("%d swept, %v", n, err)
	}
	drivertest.NoneLeft(t)
	if left := attempts(t, s); len(left) > 0 {
		t.Errorf("left on the host: %v", left)
	}
}

func TestExpiredAttemptsAreSweptByAnybody(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for name, expires := range map[string]string{"old": "1000000000", "young": "9000000000", "broken": "x"} {
		dir := filepath.Join(s.dir, "attempts", "someone", name+"-1")
		if err := os.MkdirAll(filepath.Join(dir, "tree"), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "expires"), expires+"\n")
	}
	if n, err := open(t, s.options()).Sweep(t.Context()); n != 1 || err != nil {
		t.Errorf("%d swept, %v", n, err)
	}
	if left := attempts(t, s); len(left) != 2 {
		t.Errorf("left: %v", left)
	}
}

func TestStrangersAreRefused(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	other := newKey(t, filepath.Join(s.dir, "other"))
	for name, change := range map[string]func(*ssh.Options){
		"another key of the host": func(o *ssh.Options) { write(t, o.KnownHosts, knownLine(s.address, other)) },
		"a key that may not enter": func(o *ssh.Options) {
			o.KeyFile = filepath.Join(s.dir, "other")
		},
	} {
		o := s.options()
		o.KnownHosts = filepath.Join(t.TempDir(), "known")
		b, _ := os.ReadFile(s.known)
		write(t, o.KnownHosts, string(b))
		change(&o)
		_, err := open(t, o).Start(t.Context(), drivertest.Shell(t, "exit 0", nil))
		if !fault.Is(err, fault.Denied) || !strings.HasPrefix(err.Error(), "cannot ") {
			t.Errorf("%s gives %v", name, err)
		}
	}
}

func TestConfigurationIsChecked(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	empty := filepath.Join(s.dir, "empty")
	write(t, empty, "")
	for name, change := range map[string]func(*ssh.Options){
		"no address":         func(o *ssh.Options) { o.Address = "" },
		"no user":            func(o *ssh.Options) { o.User = "" },
		"no key":             func(o *ssh.Options) { o.KeyFile = empty },
		"no known_hosts":     func(o *ssh.Options) { o.KnownHosts = filepath.Join(s.dir, "missing") },
		"an unknown host":    func(o *ssh.Options) { o.KnownHosts = empty },
		"orphans before due": func(o *ssh.Options) { o.Patience, o.Orphan = time.Hour, time.Minute },
	} {
		o := s.options()
		change(&o)
		if _, err := ssh.Open(o); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s gives %v", name, err)
		}
	}
	o := s.options()
	c := newCable(t, "127.0.0.1:1")
	host, _ := os.ReadFile(s.known)
	_, key, _ := bytes.Cut(host, []byte(" "))
	_, port, _ := strings.Cut(c.address, ":")
	write(t, s.known, fmt.Sprintf("[127.0.0.1]:%s %s", port, key))
	o.Address = c.address
	if _, err := open(t, o).Start(t.Context(), drivertest.Shell(t, "exit 0", nil)); !fault.Is(err, fault.Transient) {
		t.Errorf("a host that is away gives %v", err)
	}
}
