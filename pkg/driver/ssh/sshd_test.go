package ssh_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/sluiceci/sluice/pkg/driver/drivertest"
	"github.com/sluiceci/sluice/pkg/loopback"
)

// server is an sshd of the tests' own, on loopback, with its own keys. It gives the account another home, whose files do
// not make each login slow.
type server struct {
	dir, address string
	user         string
	key, known   string // files
}

const sshdConfig = `ListenAddress %[1]s
HostKey %[2]s/host
AuthorizedKeysFile %[2]s/authorized
PidFile %[2]s/pid
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
StrictModes no
MaxStartups 100
PrintMotd no
PrintLastLog no
SetEnv HOME=%[2]s
`

func newServer(t *testing.T) *server {
	t.Helper()
	drivertest.Needs(t, "sshd")
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	s := &server{dir: t.TempDir(), user: me.Username}
	s.key, s.known = filepath.Join(s.dir, "client"), filepath.Join(s.dir, "known")
	client, host := newKey(t, s.key), newKey(t, filepath.Join(s.dir, "host"))
	write(t, filepath.Join(s.dir, "authorized"), string(ssh.MarshalAuthorizedKey(client)))
	if os.Getuid() == 0 { // Without it sshd does not start; Debian makes it when the service starts.
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.start(t)
	write(t, s.known, knownLine(s.address, host))
	return s
}

// start starts sshd and waits until it listens.
func (s *server) start(t *testing.T) {
	t.Helper()
	s.address = loopback.ReserveFor(t)
	config := filepath.Join(s.dir, "config")
	write(t, config, fmt.Sprintf(sshdConfig, s.address, s.dir))
	cmd := exec.Command(drivertest.Program("sshd"), "-D", "-e", "-f", config)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	stop := func() { _ = cmd.Process.Kill(); <-ended }
	t.Cleanup(stop)
	if !s.up(ended) {
		stop()
		t.Fatalf("sshd does not listen on %s: %s", s.address, said.String())
	}
}

func (s *server) up(ended <-chan struct{}) bool {
	for end := time.Now().Add(40 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		select {
		case <-ended:
			return false
		default:
		}
		if conn, err := net.Dial("tcp", s.address); err == nil {
			return conn.Close() == nil
		}
	}
	return false
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// newKey writes a private key and returns the public one.
func newKey(t *testing.T, file string) ssh.PublicKey {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, string(pem.EncodeToMemory(block)))
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func knownLine(address string, key ssh.PublicKey) string {
	host, port, _ := net.SplitHostPort(address)
	return fmt.Sprintf("[%s]:%s %s", host, port, ssh.MarshalAuthorizedKey(key))
}

// cable is a way to the server that can be cut.
type cable struct {
	address  string
	listener net.Listener
	to       string

	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]struct{}
}

func newCable(t *testing.T, to string) *cable {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{address: listener.Addr().String(), listener: listener, to: to, conns: map[net.Conn]struct{}{}}
	t.Cleanup(func() { _ = listener.Close(); c.sever() })
	go c.serve()
	return c
}

func (c *cable) serve() {
	for {
		conn, err := c.listener.Accept()
		if err != nil {
			return
		}
		if far, err := net.Dial("tcp", c.to); err == nil && c.take(conn, far) {
			go c.pass(conn, far)
			go c.pass(far, conn)
			continue
		}
		_ = conn.Close()
	}
}

func (c *cable) take(conns ...net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range conns {
		if c.cut {
			_ = conn.Close()
			continue
		}
		c.conns[conn] = struct{}{}
	}
	return !c.cut
}

func (c *cable) pass(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	_ = to.Close()
	_ = from.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.conns, from)
	delete(c.conns, to)
}

// sever cuts all connections and lets no new one pass.
func (c *cable) sever() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = true
	for conn := range c.conns {
		_ = conn.Close()
	}
}

func (c *cable) mend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = false
}
