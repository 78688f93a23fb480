package faults

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// TestExternalServer runs every service as a process of its own against a nats-server with the configuration that
// `sluice nats config` prints, over TLS with client certificates. Keys are rotated between two commits, without a stop; both
// are released.
func TestExternalServer(t *testing.T) {
	t.Parallel()
	certs := certificates(t)
	c := &cluster{t: t, dir: t.TempDir(), binary: binary(t), processes: map[string]*process{}, kills: map[string]int{}}
	c.world = newSurroundings(t, c.dir)
	s := newNATSServer(t, "--config", c.world.config, "--tls-cert", filepath.Join(certs, "server.pem"), "--tls-key", filepath.Join(certs, "server.key"),
		"--tls-ca", filepath.Join(certs, "ca.pem"))
	files := s.installations(c.world.config, certs)

	did := string(sluice(t, "setup", "--config", files["setup"]))
	for _, made := range []string{"FACTS", "FLEET", "LOGS", "DEAD", "executor-run-default", "executor-sweep-default", "builder-plan"} {
		if !strings.Contains(did, made+": created\n") {
			t.Errorf("sluice setup did not create %s; it printed\n%s", made, did)
		}
	}
	if again := string(sluice(t, "setup", "--config", files["setup"])); again != strings.ReplaceAll(did, ": created\n", ": unchanged\n") {
		t.Errorf("sluice setup is not idempotent: the second time it printed\n%s", again)
	}
	s.refusesSetup(files["gateway"])

	c.bus = s.onlooker(certs)
	for _, name := range services() {
		c.world.config = files[name]
		c.start(name)
	}
	t.Cleanup(c.stop)
	released(t, c, c.world.push(1, false))
	s.rotate("builder", "pool-default", "publisher")
	released(t, c, c.world.push(2, false))
	for _, name := range services() {
		text, err := os.ReadFile(filepath.Join(c.dir, name+".log"))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(strings.ToLower(string(text)), "permissions violation") {
			t.Errorf("the server refused %s something that it needs:\n%s", name, text)
		}
	}
}

// released waits until the run of a commit is over and published.
func released(t *testing.T, c *cluster, commit release.Commit) {
	t.Helper()
	for _, e := range c.follow(t, commit) {
		if e.Type == event.TypeReleasePublished {
			return
		}
	}
	t.Fatalf("%s was not released\n%s", commit, c.logs())
}

// installations writes a file for each service, which names only that service's key.
func (s *natsServer) installations(config, certs string) map[string]string {
	s.t.Helper()
	text, err := os.ReadFile(config)
	if err != nil {
		s.t.Fatal(err)
	}
	files := map[string]string{}
	for _, name := range append(services(), "setup") {
		identity := name
		if name == "executor" {
			identity = "pool-default"
		}
		files[name] = config + "-" + name
		nats := fmt.Sprintf("\nnats: {urls: [\"tls://%s\"], creds: %s, tls: {ca: %s, cert: %s, key: %s}}\n", s.address,
			filepath.Join(s.identities(), identity+".nk"), filepath.Join(certs, "ca.pem"), filepath.Join(certs, "client.pem"), filepath.Join(certs, "client.key"))
		if err := os.WriteFile(files[name], append(bytes.Clone(text), nats...), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
	return files
}

// refusesSetup shows that another identity's key makes no streams.
func (s *natsServer) refusesSetup(config string) {
	s.t.Helper()
	out, err := exec.Command(binary(s.t), "setup", "--config", config).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "Permissions Violation") {
		s.t.Errorf("sluice setup with the key of another service: %v\n%s", err, out)
	}
}

func (s *natsServer) onlooker(certs string) *bus.Bus {
	s.t.Helper()
	key, err := bus.KeyFile(filepath.Join(s.identities(), "onlooker.nk"))
	if err != nil {
		s.t.Fatal(err)
	}
	b, err := bus.Connect(s.t.Context(), "tls://"+s.address, bus.Options{
		Name: "faults", Identity: "onlooker", Key: &key, Onlooker: true,
		TLS: bus.TLS{CA: filepath.Join(certs, "ca.pem"), Cert: filepath.Join(certs, "client.pem"), Key: filepath.Join(certs, "client.key")},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(b.Close)
	return b
}

// rotate replaces the keys of identities as an operator does, and waits until each has connected with its new key.
func (s *natsServer) rotate(identities ...string) {
	s.t.Helper()
	old := map[string]string{}
	for _, name := range identities {
		old[name] = s.public(name)
		if s.connected()[old[name]] == 0 {
			s.t.Errorf("%s is not connected before its rotation", name)
		}
		sluice(s.t, "nats", "rotate", name, "--dir", s.identities())
	}
	s.reload()
	conf, err := os.ReadFile(s.conf())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, name := range identities {
		if n := bytes.Count(conf, []byte("# "+name+"\n")); n != 2 {
			s.t.Errorf("during the rotation of %s the server knows %d keys of it, expected 2", name, n)
		}
		sluice(s.t, "nats", "rotate", name, "--dir", s.identities(), "--finish")
		if s.public(name) == old[name] {
			s.t.Errorf("the key of %s is the old one after its rotation", name)
		}
	}
	s.reload()
	deadline := time.Now().Add(time.Minute)
	for name, key := range old {
		for now := s.connected(); now[key] > 0 || now[s.public(name)] == 0; now = s.connected() {
			if time.Now().After(deadline) {
				s.t.Fatalf("%s has %d connections with its old key and %d with its new one", name, now[key], now[s.public(name)])
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}

func (s *natsServer) public(identity string) string {
	s.t.Helper()
	key, err := bus.KeyFile(filepath.Join(s.identities(), identity+".nk"))
	if err != nil {
		s.t.Fatal(err)
	}
	return key.Public
}

// TestKeysAreSecret: seeds are never in what `sluice nats config` prints, nobody but the owner can read them, and a key that
// others can read is refused.
func TestKeysAreSecret(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "identities")
	conf := sluice(t, "nats", "config", "--dir", dir)
	again := sluice(t, "nats", "config", "--dir", dir)
	if !bytes.Equal(conf, again) {
		t.Error("the configuration differs from one time to the next")
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Fatalf("the directory of the keys has mode %v (%v), expected 0700", info.Mode(), err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.nk"))
	if err != nil || len(files) < 10 {
		t.Fatalf("there are %d keys (%v)", len(files), err)
	}
	for _, file := range files {
		key, err := bus.KeyFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(conf, []byte(key.Seed())) || !bytes.Contains(conf, []byte(key.Public)) {
			t.Errorf("%s: the configuration has to hold its public half only", file)
		}
	}
	if err := os.Chmod(files[0], 0o640); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(binary(t), "nats", "config", "--dir", dir).CombinedOutput(); err == nil || !strings.Contains(string(out), "expected 0600") {
		t.Errorf("a key that others can read: %v\n%s", err, out)
	}
	if out, err := exec.Command(binary(t), "nats", "rotate", "buidler", "--dir", dir).CombinedOutput(); err == nil || !strings.Contains(string(out), "there is no") {
		t.Errorf("rotating a mistyped identity: %v\n%s", err, out)
	}
}
