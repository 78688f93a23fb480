package executor

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/sluiceci/sluice/pkg/driver/choose"
	"github.com/sluiceci/sluice/pkg/driver/drivertest"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/loopback"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// newHost starts an sshd of the test's own and returns its address and how it is reached.
func newHost(t *testing.T) (string, choose.SSH) {
	t.Helper()
	drivertest.Needs(t, "sshd")
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 { // Without it sshd does not start.
		_ = os.MkdirAll("/run/sshd", 0o755)
	}
	dir := t.TempDir()
	host, client := newKey(t, filepath.Join(dir, "host")), newKey(t, filepath.Join(dir, "client"))
	writeFileOrFail(t, filepath.Join(dir, "authorized"), string(ssh.MarshalAuthorizedKey(client)))
	address := loopback.ReserveFor(t)
	startHost(t, dir, address)
	at, port, _ := net.SplitHostPort(address)
	writeFileOrFail(t, filepath.Join(dir, "known"), fmt.Sprintf("[%s]:%s,[127.0.0.1]:1 %s", at, port, ssh.MarshalAuthorizedKey(host)))
	return address, choose.SSH{User: me.Username, KeyFile: filepath.Join(dir, "client"), KnownHosts: filepath.Join(dir, "known")}
}

// startHost starts sshd and waits until it listens.
func startHost(t *testing.T, dir, address string) {
	t.Helper()
	writeFileOrFail(t, filepath.Join(dir, "config"), fmt.Sprintf("ListenAddress %s\nHostKey %s/host\nAuthorizedKeysFile %[2]s/authorized\n"+
		"PidFile none\nPermitRootLogin prohibit-password\nPasswordAuthentication no\nUsePAM no\nStrictModes no\nMaxStartups 100\nSetEnv HOME=%[2]s\n",
		address, dir))
	server := exec.Command(drivertest.Program("sshd"), "-D", "-e", "-f", filepath.Join(dir, "config"))
	server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = server.Wait(); close(ended) }()
	t.Cleanup(func() { _ = server.Process.Kill(); <-ended })
	for end := time.Now().Add(deadline); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		select {
		case <-ended:
			t.Fatalf("sshd at %s ended", address)
		default:
		}
		if conn, err := net.Dial("tcp", address); err == nil {
			_ = conn.Close()
			return
		}
	}
	t.Fatalf("sshd does not listen at %s", address)
}

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
	writeFileOrFail(t, file, string(pem.EncodeToMemory(block)))
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// TestGangOverSSH: one node on this machine, one on a host, and one that is not there. Two are enough.
func TestGangOverSSH(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	address, keys := newHost(t)
	w.start("one", func(c *Config) { c.Driver.SSH = keys })
	task := gang(`"$SLUICE_STEP" load user -- sh -c 'echo "$SLUICE_NODE_INDEX" | tee out.txt > "$SLUICE_STEP_DIR/file"'
test -e prepared; echo "here is node $SLUICE_NODE_INDEX"`)
	task.Prepare = "echo x > prepared"
	task.Gang.Need = 2
	task.Outputs = []plan.Output{{Type: "text", Path: "*.txt"}}
	lease := w.held("lab", "here", "host", "gone")
	lease.Places[1].Address, lease.Places[2].Address = "ssh://"+address, "ssh://127.0.0.1:1"
	f := w.run(task, withLease(lease))
	log := w.log(f)
	if f.Class != release.ClassOK || len(f.Artifacts) != 2 || w.blob(f.Artifacts[1].Digest) != "1\n" {
		t.Fatalf("got %+v, log %q", f, log)
	}
	if !strings.Contains(log, "[1] here is node 1\n") || !strings.Contains(log, "node 2 (gone at ssh://127.0.0.1:1): cannot") {
		t.Errorf("log %q", log)
	}
	if got := w.packed(f.Files)["nodes/1/000__load__user/file"]; got != "1\n" {
		t.Errorf("files %v", w.packed(f.Files))
	}
}

// TestGangThatLosesAHost fails by the platform's fault, and names the host.
func TestGangThatLosesAHost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, keys := newHost(t)
	w.start("one", func(c *Config) { c.Driver.SSH = keys })
	lease := w.held("lab", "here", "gone")
	lease.Places[1].Address = "ssh://127.0.0.1:1"
	f := w.run(gang("sleep 600"), withLease(lease))
	if f.Class != release.ClassInfra || !strings.Contains(f.Reason, "node 1 (gone at ssh://127.0.0.1:1)") {
		t.Errorf("class %s, %q", f.Class, f.Reason)
	}
	w.awaitBeat("one", func(b event.ExecutorHeartbeat) bool { return len(b.Running) == 0 })
}
