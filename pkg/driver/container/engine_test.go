package container_test

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
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/driver/drivertest"
)

// engine is a podman of the tests' own: its storage, its socket and its one image lie in a temporary directory.
type engine struct {
	host   string
	image  string // by id
	tag    string
	dir    string
	socket string // its name
	env    []string
	cmd    *exec.Cmd

	registry string // host:port
	closers  []func()
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

// shared is the one engine of all tests; TestMain stops it.
var (
	shared  = sync.OnceValues(startEngine)
	started *engine
)

func TestMain(m *testing.M) {
	code := m.Run()
	if started != nil {
		started.stop()
	}
	os.Exit(code)
}

// newEngine gives the tests' engine, or skips where there cannot be one.
func newEngine(t *testing.T) *engine {
	t.Helper()
	drivertest.Needs(t, "podman", "runc", "conmon", "busybox")
	if os.Getuid() != 0 {
		t.Skip("podman of the tests needs root here") // Rootless ones need newuidmap and lines in /etc/subuid.
	}
	e, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func startEngine() (*engine, error) {
	dir, err := os.MkdirTemp("", "podman-")
	if err != nil {
		return nil, err
	}
	for _, driver := range []string{"overlay", "vfs"} { // The second where the first cannot be: on an overlay itself.
		e := &engine{dir: filepath.Join(dir, driver)}
		if err = e.start(driver); err == nil {
			started = e
			return e, nil
		}
		e.stop()
	}
	return nil, err
}

func (e *engine) start(storage string) error {
	for _, name := range []string{"tmp", "run", "t"} {
		if err := os.MkdirAll(filepath.Join(e.dir, name), 0o700); err != nil {
			return err
		}
	}
	files := map[string]string{
		"containers.conf": fmt.Sprintf(containersConf, e.dir), "storage.conf": fmt.Sprintf(storageConf, e.dir, storage),
		"registries.conf": fmt.Sprintf("[[registry]]\nlocation = %q\ninsecure = true\n", e.serveImages()), "auth.json": `{"auths":{}}`,
		"policy.json": `{"default":[{"type":"insecureAcceptAnything"}]}`,
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(e.dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	e.env = append(os.Environ(),
		"CONTAINERS_CONF="+e.dir+"/containers.conf", "CONTAINERS_STORAGE_CONF="+e.dir+"/storage.conf",
		"CONTAINERS_REGISTRIES_CONF="+e.dir+"/registries.conf", "REGISTRY_AUTH_FILE="+e.dir+"/auth.json",
		"XDG_RUNTIME_DIR="+e.dir+"/run", "TMPDIR="+e.dir+"/t")
	if err := e.importImage(); err != nil {
		return err
	}
	return e.serve()
}

// serveImages serves a registry with what "podman push IMAGE dir:" wrote, under any name, and says where.
func (e *engine) serveImages() string {
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
		http.ServeFile(w, r, filepath.Join(e.dir, "pushed", filepath.Base(file)))
	}))
	e.registry = strings.TrimPrefix(server.URL, "http://")
	e.closers = append(e.closers, server.Close)
	return e.registry
}

// importImage makes the one image there is: busybox.
func (e *engine) importImage() error {
	cmd := e.podman("import", "-q", "-", "localhost/sluice/busybox:test")
	cmd.Stdin = busyboxImage()
	said, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("podman import: %w: %s", err, said)
	}
	lines := strings.Fields(string(said))
	e.image, e.tag = lines[len(lines)-1], "localhost/sluice/busybox:test"
	if !strings.HasPrefix(e.image, "sha256:") {
		e.image = "sha256:" + e.image
	}
	return nil
}

func (e *engine) podman(args ...string) *exec.Cmd {
	cmd := exec.Command("podman", args...)
	cmd.Env = e.env
	return cmd
}

// serve starts the API and waits until it answers.
func (e *engine) serve() error {
	socket := filepath.Join(e.dir, cmp.Or(e.socket, "podman.sock"))
	e.host = "unix://" + socket
	e.cmd = e.podman("system", "service", "--time", "0", e.host)
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

func (e *engine) stop() {
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
	_ = os.RemoveAll(filepath.Dir(e.dir))
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
