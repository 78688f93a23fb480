package faults

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sluiceci/sluice/pkg/loopback"
)

// natsServer is a nats-server of its own process, with the configuration that `sluice nats config` prints.
type natsServer struct {
	t       testing.TB
	dir     string
	address string
	monitor string   // address of its HTTP side
	args    []string // of sluice nats config
	cmd     *exec.Cmd
	exited  chan struct{}
}

// builtServer is nats-server, made once from this module's dependencies.
var builtServer = sync.OnceValues(func() (string, error) {
	sluice, err := built()
	if err != nil {
		return "", err
	}
	file := filepath.Join(filepath.Dir(sluice), "nats-server")
	out, err := exec.Command("go", "build", "-o", file, "github.com/nats-io/nats-server/v2").CombinedOutput()
	if err != nil {
		return "", &buildError{err, out}
	}
	return file, nil
})

type buildError struct {
	err error
	out []byte
}

func (e *buildError) Error() string {
	return "cannot build nats-server: " + e.err.Error() + "\n" + string(e.out)
}

// newNATSServer starts a server; more are arguments of `sluice nats config`.
func newNATSServer(t testing.TB, more ...string) *natsServer {
	t.Helper()
	s := &natsServer{t: t, dir: t.TempDir(), address: loopback.ReserveFor(t), monitor: loopback.ReserveFor(t)}
	s.args = append([]string{
		"nats", "config", "--dir", s.identities(), "--listen", s.address, "--store", filepath.Join(s.dir, "store"), "--name", "one",
	}, more...)
	file, err := builtServer()
	if err != nil {
		t.Fatal(err)
	}
	s.configure()
	log, err := os.Create(filepath.Join(s.dir, "nats.log"))
	if err != nil {
		t.Fatal(err)
	}
	s.cmd = exec.Command(file, "--config", s.conf())
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.exited = make(chan struct{})
	go func() {
		_ = s.cmd.Wait()
		_ = log.Close()
		close(s.exited)
	}()
	t.Cleanup(s.stop)
	s.await(0, "Server is ready")
	return s
}

func (s *natsServer) identities() string { return filepath.Join(s.dir, "identities") }

func (s *natsServer) conf() string { return filepath.Join(s.dir, "nats.conf") }

// configure writes the configuration for the keys that there are now.
func (s *natsServer) configure() {
	s.t.Helper()
	text := fmt.Appendf(sluice(s.t, s.args...), "http: %q\n", s.monitor)
	if err := os.WriteFile(s.conf(), text, 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// reload lets the server read its configuration again.
func (s *natsServer) reload() {
	s.t.Helper()
	s.configure()
	before := len(s.log())
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		s.t.Fatal(err)
	}
	s.await(before, "Reloaded server configuration")
}

func (s *natsServer) log() []byte {
	text, _ := os.ReadFile(filepath.Join(s.dir, "nats.log"))
	return text
}

// await waits until the server has logged something behind an offset.
func (s *natsServer) await(from int, words string) {
	s.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		if text := s.log(); bytes.Contains(text[from:], []byte(words)) {
			return
		}
		select {
		case <-s.exited:
			s.t.Fatalf("nats-server ended:\n%s", s.log())
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("nats-server did not log %q:\n%s", words, s.log())
		}
	}
}

// connected counts the connections that were made with each public key.
func (s *natsServer) connected() map[string]int {
	s.t.Helper()
	response, err := http.Get("http://" + s.monitor + "/connz?auth=1&limit=1000")
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var got struct {
		Connections []struct {
			User string `json:"authorized_user"`
		} `json:"connections"`
	}
	if err := json.NewDecoder(response.Body).Decode(&got); err != nil {
		s.t.Fatal(err)
	}
	out := map[string]int{}
	for _, c := range got.Connections {
		out[c.User]++
	}
	return out
}

func (s *natsServer) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.exited:
	case <-time.After(time.Minute):
		s.t.Errorf("nats-server did not end:\n%s", s.log())
		_ = s.cmd.Process.Kill()
		<-s.exited
	}
}

// key connects with the key of an identity.
func (s *natsServer) key(identity string) nats.Option {
	s.t.Helper()
	option, err := nats.NkeyOptionFromSeed(filepath.Join(s.identities(), identity+".nk"))
	if err != nil {
		s.t.Fatal(err)
	}
	return option
}

// sluice runs the binary and returns what it prints.
func sluice(t testing.TB, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(binary(t), args...)
	var out, talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &talk
	if err := cmd.Run(); err != nil {
		t.Fatalf("sluice %v: %v\n%s%s", args, err, &out, &talk)
	}
	return out.Bytes()
}

// certificates writes an authority and, signed by it, a certificate of the server and one of the clients.
func certificates(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign,
	}
	key := certificate(t, dir, "ca", authority, authority, nil)
	certificate(t, dir, "server", &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "nats"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, authority, key)
	certificate(t, dir, "client", &x509.Certificate{
		SerialNumber: big.NewInt(3), Subject: pkix.Name{CommonName: "sluice"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, authority, key)
	return dir
}

func certificate(t testing.TB, dir, name string, c, authority *x509.Certificate, signer *ecdsa.PrivateKey) *ecdsa.PrivateKey {
	t.Helper()
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if signer == nil {
		signer = key
	}
	signed, err := x509.CreateCertificate(rand.Reader, c, authority, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{name + ".pem": {Type: "CERTIFICATE", Bytes: signed}, name + ".key": {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(filepath.Join(dir, file), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return key
}
