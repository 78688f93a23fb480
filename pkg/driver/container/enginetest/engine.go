// Package enginetest starts a container engine of a test's own, podman or Docker: nothing of it is the machine's, and
// nothing is left of it.
package enginetest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/driver/drivertest"
)

// Variable names the engine of Table that tests use: the first when it is empty.
const Variable = "SLUICE_TEST_ENGINE"

// Kind is one line of Table.
type Kind struct {
	Name     string
	Programs []string
	Rootless bool // whether an ordinary user can run it

	prepare func(e *Engine) error                     // writes its files
	client  func(e *Engine, args ...string) *exec.Cmd // a command of its command line
	server  func(e *Engine) *exec.Cmd
	stop    func(e *Engine) // ends the server and removes what it left
	died    func(e *Engine) // waits for what dies with a server that was killed; nil when nothing does
	second  func(e *Engine) (*Engine, error)
}

// Table lists the engines that there are tests with.
func Table() []Kind { return []Kind{podman(), docker()} }

// Engine is one of the tests' own: its storage, its socket and its one image, busybox, lie in a temporary directory.
type Engine struct {
	Host     string
	Image    string // by id
	Tag      string
	Registry string // host:port; it has the image of Digest under any name, and refuses "ghost" and "secret"
	Digest   string
	Dir      string

	kind    Kind
	storage string // "overlay" or "vfs"
	socket  string // its name
	env     []string
	images  *httptest.Server
	server  *exec.Cmd
	ended   <-chan struct{} // closed when the server has ended; nil before its first start
}

// chosen is the engine that the environment names.
func chosen() (Kind, error) {
	table := Table()
	name := cmp.Or(os.Getenv(Variable), table[0].Name)
	i := slices.IndexFunc(table, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Kind{}, fmt.Errorf("cannot test with the engine %q of %s: there is none of that name", name, Variable)
	}
	return table[i], nil
}

// Needs skips a test where there can be no engine.
func Needs(t testing.TB) {
	t.Helper()
	kind, err := chosen()
	if err != nil {
		t.Fatal(err)
	}
	drivertest.Needs(t, append(kind.Programs, "busybox")...)
	if os.Getuid() == 0 || kind.Rootless && os.Getenv(Variable) != "" {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s of the tests needs root, and CI runs every test", kind.Name)
	}
	t.Skipf("%s of the tests needs root", kind.Name)
}

// Start starts an engine. The caller stops it.
func Start() (*Engine, error) {
	kind, err := chosen()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "e-")
	if err != nil {
		return nil, err
	}
	for _, storage := range []string{"overlay", "vfs"} { // The second where the first cannot be: on an overlay itself.
		e := &Engine{Dir: filepath.Join(dir, storage[:1]), kind: kind, socket: "engine.sock", storage: storage}
		if err = e.start(); err == nil {
			return e, nil
		}
		e.Stop()
	}
	return nil, err
}

func (e *Engine) start() error {
	for _, name := range []string{"tmp", "run", "r", "t"} {
		if err := os.MkdirAll(filepath.Join(e.Dir, name), 0o700); err != nil {
			return err
		}
	}
	layer, err := busyboxImage()
	if err != nil {
		return err
	}
	image, err := push(layer)
	if err != nil {
		return err
	}
	e.images = httptest.NewServer(image)
	e.Registry, e.Digest = strings.TrimPrefix(e.images.URL, "http://"), image.manifest
	if err := e.kind.prepare(e); err != nil {
		return err
	}
	if err := e.Serve(); err != nil {
		return err
	}
	return e.importImage(layer)
}

// importImage makes the one image there is: busybox.
func (e *Engine) importImage(layer []byte) error {
	const tag = "localhost/sluice/busybox:test"
	cmd := e.Command("import", "-", tag)
	cmd.Stdin = bytes.NewReader(layer)
	said, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, said)
	}
	e.Tag, e.Image = tag, "sha256:"+strings.TrimPrefix(strings.TrimSpace(string(said)), "sha256:")
	return nil
}

// Name is which engine it is.
func (e *Engine) Name() string { return e.kind.Name }

// Command is a command of this engine's own command line.
func (e *Engine) Command(args ...string) *exec.Cmd {
	cmd := e.kind.client(e, args...)
	cmd.Env, cmd.Dir = e.env, e.Dir // where conmon leaves a file when something ran out of memory
	return cmd
}

// Second is an engine with the same image beside the first. The caller stops it.
func (e *Engine) Second() (*Engine, error) { return e.kind.second(e) }

// Kill ends its service, and that alone, at once.
func (e *Engine) Kill() {
	e.end(syscall.SIGKILL)
	if e.kind.died != nil {
		e.kind.died(e)
	}
}

// Serve starts the API, also after Kill, and waits until it answers.
func (e *Engine) Serve() error {
	socket := filepath.Join(e.Dir, e.socket)
	_ = os.Remove(socket) // of a service that was killed
	e.Host = "unix://" + socket
	e.server = e.kind.server(e)
	log, err := os.Create(filepath.Join(e.Dir, e.socket+".log")) // and no pipe: what outlives the server would hold it open
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	e.server.Env, e.server.Dir, e.server.Stdout, e.server.Stderr = e.env, e.Dir, log, log
	e.server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := e.server.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	e.ended = ended
	go func() { _ = e.server.Wait(); close(ended) }() // what it says is told when it does not listen
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if answers(socket) {
			return nil
		}
		select {
		case <-ended:
			said, err := os.ReadFile(log.Name())
			return fmt.Errorf("%s ended: %s; %w", e.kind.Name, said, err)
		default:
		}
	}
	return fmt.Errorf("%s does not listen on %s", e.kind.Name, socket)
}

// answers reports whether an engine does more than listen.
func answers(socket string) bool {
	plain := http.Client{
		Timeout: 10 * time.Second,
		Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		}},
	}
	answer, err := plain.Get("http://engine/_ping")
	if err != nil {
		return false
	}
	return answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
}

// end signals the service and waits for its end, which is not for ever.
func (e *Engine) end(signal syscall.Signal) {
	if e.ended == nil {
		return
	}
	_ = syscall.Kill(-e.server.Process.Pid, signal) // podman without root is two processes
	select {
	case <-e.ended:
	case <-time.After(20 * time.Second):
		_ = syscall.Kill(-e.server.Process.Pid, syscall.SIGKILL)
		<-e.ended
	}
}

// Stop ends the engine and removes everything of it.
func (e *Engine) Stop() {
	if e.images != nil {
		e.images.Close()
	}
	e.kind.stop(e)
}

// remove removes its directory, and the tests' own around it when nothing else lies there.
func (e *Engine) remove() {
	_ = os.RemoveAll(e.Dir)
	_ = os.Remove(filepath.Dir(e.Dir))
}
