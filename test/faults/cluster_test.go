package faults

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
)

// services are those that are killed, by name.
func services() []string {
	return []string{"gateway", "builder", "test-scheduler", "executor", "artifact-exporter", "publisher", "reporter"}
}

// cluster is Sluice as it runs at scale: a NATS server, and a process for each service. The server belongs to the test
// and is not killed; what a kill of the server may lose is nothing, which the bus's own tests show.
type cluster struct {
	t      testing.TB
	dir    string
	binary string
	nats   *bus.Server // nil when the configuration names a server
	bus    *bus.Bus
	world  *surroundings

	killing   sync.Mutex // one at a time
	mu        sync.Mutex
	processes map[string]*process
	kills     map[string]int
}

// process is one running service.
type process struct {
	cmd    *exec.Cmd
	exited chan struct{}
}

// built is the binary under test, made once for all tests of a run.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "sluice-faults-")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "sluice")
	out, err := exec.Command("go", "build", "-o", file, "github.com/sluiceci/sluice/cmd/sluice").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("cannot build sluice: %w\n%s", err, out)
	}
	return file, nil
})

func TestMain(m *testing.M) {
	if at := os.Getenv(serverEnv); at != "" {
		fmt.Fprintln(os.Stderr, serveNATS(at))
		os.Exit(1)
	}
	code := m.Run()
	if file, err := built(); err == nil {
		_ = os.RemoveAll(filepath.Dir(file))
	}
	os.Exit(code)
}

func binary(t testing.TB) string {
	t.Helper()
	file, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// newCluster starts the world and every service, and ends them with the test.
func newCluster(t testing.TB) *cluster {
	t.Helper()
	c := &cluster{t: t, dir: t.TempDir(), processes: map[string]*process{}, kills: map[string]int{}}
	c.binary = binary(t)
	var err error
	if c.nats, err = bus.Embed(bus.ServerOptions{Dir: filepath.Join(c.dir, "nats"), Port: -1}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.nats.Close)
	if c.bus, err = c.nats.Connect(t.Context(), bus.Options{Name: "faults"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.bus.Close)
	c.world = newSurroundings(t, c.dir)
	for _, name := range services() {
		c.start(name)
	}
	t.Cleanup(c.stop)
	return c
}

// start starts a service with a directory of its own, which it finds again after a kill.
func (c *cluster) start(name string) {
	c.t.Helper()
	log, err := os.OpenFile(filepath.Join(c.dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		c.t.Fatal(err)
	}
	args := []string{"serve", name, "--dir", filepath.Join(c.dir, name), "--listen", c.world.address(name), "--config", c.world.config, "--log", "debug"}
	if c.nats != nil {
		args = append(args, "--nats", c.nats.URL())
	}
	cmd := exec.Command(c.binary, args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	p := &process{cmd: cmd, exited: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // a killed process exits with an error
		_ = log.Close()
		close(p.exited)
	}()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.processes[name] = p
}

// kill ends a service as a power cut would, and starts it again.
func (c *cluster) kill(name string) {
	c.killing.Lock()
	defer c.killing.Unlock()
	c.mu.Lock()
	p := c.processes[name]
	c.kills[name]++
	c.mu.Unlock()
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	<-p.exited
	c.start(name)
}

// stop ends every service in an orderly way.
func (c *cluster) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.processes {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
	}
	for name, p := range c.processes {
		select {
		case <-p.exited:
		case <-time.After(time.Minute):
			c.t.Errorf("%s did not end within a minute of SIGTERM", name)
			_ = p.cmd.Process.Kill()
			<-p.exited
		}
	}
}

// logs are the last lines of every service, for a test that failed.
func (c *cluster) logs() string {
	var b strings.Builder
	for _, name := range services() {
		text, _ := os.ReadFile(filepath.Join(c.dir, name+".log"))
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		fmt.Fprintf(&b, "== %s\n%s\n", name, strings.Join(lines[max(0, len(lines)-15):], "\n"))
	}
	return b.String()
}
