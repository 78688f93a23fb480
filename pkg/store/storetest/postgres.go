// Package storetest gives tests a database of each kind that pkg/store opens, so that what holds for one is shown for
// the other.
package storetest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/loopback"
)

// URLs gives a test the URL of an empty database of each kind, by kind: "sqlite" and, where PostgreSQL is installed,
// "postgres". A missing PostgreSQL is a visible skip of that kind, and a failure in CI.
func URLs(t testing.TB) map[string]func(testing.TB) string {
	t.Helper()
	return map[string]func(testing.TB) string{
		"sqlite":   func(t testing.TB) string { return "sqlite://" + filepath.Join(t.TempDir(), "test.db") },
		"postgres": Postgres,
	}
}

// Postgres starts a PostgreSQL server of the test's own on a loopback port and returns the URL of its database.
func Postgres(t testing.TB) string {
	t.Helper()
	bin := postgresBin(t)
	dir := serverDir(t)
	run(t, asServer(t, exec.CommandContext(t.Context(), filepath.Join(bin, "initdb"), "-D", dir, "-U", "sluice", "-A", "trust",
		"-N", "--no-locale", "-E", "UTF8"), dir))
	address := loopback.ReserveFor(t)
	startServer(t, bin, dir, address)
	return fmt.Sprintf("postgres://sluice@%s/postgres?sslmode=disable", address)
}

// postgresBin finds the newest server that is installed where Debian and the PATH have it.
func postgresBin(t testing.TB) string {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if path, err := exec.LookPath("initdb"); err == nil {
		found = append(found, path)
	}
	slices.Sort(found)
	if len(found) == 0 {
		missing(t, "PostgreSQL is not installed (apt-get install postgresql)")
	}
	return filepath.Dir(found[len(found)-1])
}

// missing skips on a laptop and fails in CI.
func missing(t testing.TB, what string) {
	t.Helper()
	if ci, _ := strconv.ParseBool(os.Getenv("CI")); ci {
		t.Fatalf("%s, and CI runs every test", what)
	}
	t.Skip(what)
}

// serverDir is a directory that the server's user owns. The test's own directory may lie below one that only root reads.
func serverDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sluice-postgres-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if cred := serverUser(t); cred != nil {
		if err := os.Chown(dir, int(cred.Uid), int(cred.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// serverUser is whom the server runs as: PostgreSQL refuses to be root. Nil is the test's own user.
func serverUser(t testing.TB) *syscall.Credential {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		missing(t, "the tests run as root and there is no user postgres to run PostgreSQL as")
	}
	uid, _ := strconv.ParseUint(u.Uid, 10, 32)
	gid, _ := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// asServer makes a command run in the server's directory as the server's user.
func asServer(t testing.TB, cmd *exec.Cmd, dir string) *exec.Cmd {
	t.Helper()
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: serverUser(t)}
	return cmd
}

func run(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
}

// startServer waits until the server answers, and ends it with the test.
func startServer(t testing.TB, bin, dir, address string) {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	cmd := asServer(t, exec.Command(filepath.Join(bin, "postgres"), "-D", dir, "-p", port,
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "max_connections=20",
		"-c", "shared_buffers=16MB"), dir)
	var log lockedBuffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGQUIT) // at once, without saving: the directory goes too
		_ = cmd.Wait()
	})
	deadline := time.Now().Add(time.Minute)
	for !bytes.Contains(log.bytes(), []byte("ready to accept connections")) {
		if time.Now().After(deadline) {
			t.Fatalf("PostgreSQL did not start:\n%s", log.bytes())
		}
		time.Sleep(10 * time.Millisecond)
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) bytes() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.b.Bytes())
}
