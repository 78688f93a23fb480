// Package enginetest starts a podman of a test's own: nothing of it is the machine's, and nothing is left of it.
package enginetest

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/driver/drivertest"
)

// Engine is a podman of the tests' own: its storage, its socket and its one image, busybox, lie in a temporary directory.
type Engine struct {
	Host     string
	Image    string // by id
	Tag      string
	Registry string // host:port; it has what was pushed to "dir:" below Dir, and refuses "ghost" and "secret"
	Dir      string

	socket  string // its name
	env     []string
	cmd     *exec.Cmd
	closers []func()
}

// Needs skips a test where there can be no engine.
func Needs(t testing.TB) {
	t.Helper()
	drivertest.Needs(t, "podman", "runc", "conmon", "busybox")
	if os.Getuid() != 0 { // Rootless engines need newuidmap and lines in /etc/subuid.
		if os.Getenv("CI") == "true" {
			t.Fatal("podman of the tests needs root, and CI runs every test")
		}
		t.Skip("podman of the tests needs root")
	}
}

// containersConf makes podman ask for nothing that an ordinary container or virtual machine lacks: no systemd, no
// limits above its own.
const containersConf = `[containers]
default_ulimits = ["nofile=1024:1024", "nproc=2000:2000"]
log_driver = "k8s-file"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
lock_type = "file"
tmp_dir = "%[1]s/tmp"
[network]
network_config_dir = "%[1]s/networks"
`

const storageConf = `[storage]
driver = "%[2]s"
runroot = "%[1]s/run"
graphroot = "%[1]s/storage"
`

// Start starts an engine. The caller stops it.
func Start() (*Engine, error) {
	dir, err := os.MkdirTemp("", "podman-")
	if err != nil {
		return nil, err
	}
	for _, driver := range []string{"overlay", "vfs"} { // The second where the first cannot be: on an overlay itself.
		e := &Engine{Dir: filepath.Join(dir, driver)}
		if err = e.start(driver); err == nil {
			return e, nil
		}
		e.Stop()
	}
	return nil, err
}

func (e *Engine) start(storage string) error {
	for _, name := range []string{"tmp", "run", "t"} {
		if err := os.MkdirAll(filepath.Join(e.Dir, name), 0o700); err != nil {
			return err
		}
	}
	files := map[string]string{
		"containers.conf": fmt.Sprintf(containersConf, e.Dir), "storage.conf": fmt.Sprintf(storageConf, e.Dir, storage),
		"registries.conf": fmt.Sprintf("[[registry]]\nlocation = %q\ninsecure = true\n", e.serveImages()), "auth.json": `{"auths":{}}`,
		"policy.json": `{"default":[{"type":"insecureAcceptAnything"}]}`,
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(e.Dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	e.env = append(os.Environ(),
		"CONTAINERS_CONF="+e.Dir+"/containers.conf", "CONTAINERS_STORAGE_CONF="+e.Dir+"/storage.conf",
		"CONTAINERS_REGISTRIES_CONF="+e.Dir+"/registries.conf", "REGISTRY_AUTH_FILE="+e.Dir+"/auth.json",
		"XDG_RUNTIME_DIR="+e.Dir+"/run", "TMPDIR="+e.Dir+"/t")
	if err := e.importImage(); err != nil {
		return err
	}
	return e.serve()
}

// serveImages serves a registry with what "podman push IMAGE dir:" wrote, under any name, and says where.
func (e *Engine) serveImages() string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		file := "manifest.json"
		switch _, blob, ok := strings.Cut(r.URL.Path, "/blobs/sha256:"); {
		case r.URL.Path == "/v2/":
			return
		case strings.Contains(r.URL.Path, "/ghost/"):
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}`)
			return
		case strings.Contains(r.URL.Path, "/secret/"):
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"errors":[{"code":"DENIED","message":"requested access to the resource is denied"}]}`)
			return
		case ok:
			file = blob
		default:
			w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
		}
		http.ServeFile(w, r, filepath.Join(e.Dir, "pushed", filepath.Base(file)))
	}))
	e.Registry = strings.TrimPrefix(server.URL, "http://")
	e.closers = append(e.closers, server.Close)
	return e.Registry
}

// importImage makes the one image there is: busybox.
func (e *Engine) importImage() error {
	cmd := e.Podman("import", "-q", "-", "localhost/sluice/busybox:test")
	cmd.Stdin = busyboxImage()
	said, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("podman import: %w: %s", err, said)
	}
	lines := strings.Fields(string(said))
	e.Image, e.Tag = lines[len(lines)-1], "localhost/sluice/busybox:test"
	if !strings.HasPrefix(e.Image, "sha256:") {
		e.Image = "sha256:" + e.Image
	}
	return nil
}

// Podman is a command of this engine.
func (e *Engine) Podman(args ...string) *exec.Cmd {
	cmd := exec.Command("podman", args...)
	cmd.Env, cmd.Dir = e.env, e.Dir // where conmon leaves a file when something ran out of memory
	return cmd
}

// Second serves the same images and containers once more, and says what ends that service alone.
func (e *Engine) Second() (host string, kill func(), err error) {
	second := &Engine{Dir: e.Dir, env: e.env, socket: "second.sock"}
	if err := second.serve(); err != nil {
		return "", nil, err
	}
	return second.Host, func() { _ = second.cmd.Process.Kill(); _ = second.cmd.Wait() }, nil
}

// serve starts the API and waits until it answers.
func (e *Engine) serve() error {
	socket := filepath.Join(e.Dir, cmp.Or(e.socket, "podman.sock"))
	e.Host = "unix://" + socket
	e.cmd = e.Podman("system", "service", "--time", "0", e.Host)
	var said bytes.Buffer
	e.cmd.Stdout, e.cmd.Stderr = &said, &said
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := e.cmd.Start(); err != nil {
		return err
	}
	for end := time.Now().Add(40 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if conn, err := net.Dial("unix", socket); err == nil {
			return conn.Close()
		}
	}
	return fmt.Errorf("podman does not listen on %s: %s", socket, said.String())
}

// Stop ends the engine and removes everything of it.
func (e *Engine) Stop() {
	for _, one := range e.closers {
		one()
	}
	if e.cmd != nil && e.cmd.Process != nil {
		_ = e.cmd.Process.Kill()
		_ = e.cmd.Wait()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	reset := exec.CommandContext(ctx, "podman", "system", "reset", "--force")
	reset.Env = e.env
	_ = reset.Run()
	_ = os.RemoveAll(filepath.Dir(e.Dir))
}

// busyboxImage is a root file system with busybox and a link for each of its commands.
func busyboxImage() io.Reader {
	r, w := io.Pipe()
	go func() { _ = w.CloseWithError(writeBusybox(w)) }()
	return r
}

func writeBusybox(w io.Writer) error {
	program := drivertest.Program("busybox")
	content, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	names, err := exec.Command(program, "--list").Output()
	if err != nil {
		return err
	}
	out := tar.NewWriter(w)
	for _, dir := range []string{"bin/", "etc/", "dev/", "proc/", "sys/", "tmp/"} {
		if err := out.WriteHeader(&tar.Header{Name: dir, Typeflag: tar.TypeDir, Mode: 0o777}); err != nil {
			return err
		}
	}
	if err := out.WriteHeader(&tar.Header{Name: "bin/busybox", Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(content))}); err != nil {
		return err
	}
	if _, err := out.Write(content); err != nil {
		return err
	}
	for _, name := range strings.Fields(string(names)) {
		if name == "busybox" {
			continue
		}
		if err := out.WriteHeader(&tar.Header{Name: "bin/" + name, Typeflag: tar.TypeSymlink, Linkname: "busybox", Mode: 0o777}); err != nil {
			return err
		}
	}
	return out.Close()
}
