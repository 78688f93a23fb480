package faults

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sluiceci/sluice/pkg/loopback"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/world"
)

const repo = "acme/tiny"

// surroundings are what stands around the cluster: a forge, a Python index, a registry, folders. All of it counts what
// it was given.
type surroundings struct {
	t        testing.TB
	dir      string
	checkout string
	config   string // file of the installation
	gateway  string // address
	reporter string // address
	forge    *world.Forge
	pypi     *world.PyPI
	registry *countingRegistry
	pushing  sync.Mutex
}

func newSurroundings(t testing.TB, dir string) *surroundings {
	s := &surroundings{
		t: t, dir: dir, checkout: filepath.Join(dir, "checkout"), config: filepath.Join(dir, "installation.yaml"),
		gateway: loopback.ReserveFor(t), reporter: loopback.ReserveFor(t), pypi: world.NewPyPI("upload-token"),
		registry: &countingRegistry{next: world.Registry(), tags: map[string]int{}},
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.forge = world.NewForge(filepath.Join(dir, "forge"), "http://"+listener.Addr().String(), "http://"+s.gateway+"/hooks/gitea", "hook-secret")
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: s.forge.Handler()}}
	server.Start()
	t.Cleanup(server.Close)
	pypi, registry := httptest.NewServer(s.pypi.Handler()), httptest.NewServer(s.registry)
	t.Cleanup(pypi.Close)
	t.Cleanup(registry.Close)
	if err := s.forge.Create(t.Context(), repo); err != nil {
		t.Fatal(err)
	}
	s.seed(pypi.URL, registry.URL)
	s.configure()
	return s
}

// address is where a service listens: the gateway where the forge finds it, also after a kill, and the reporter where the
// gateway does.
func (s *surroundings) address(service string) string {
	switch service {
	case "gateway":
		return s.gateway
	case "reporter":
		return s.reporter
	default:
		return "127.0.0.1:0"
	}
}

func (s *surroundings) seed(pypi, registry string) {
	if err := os.CopyFS(s.checkout, os.DirFS("testdata/tiny")); err != nil {
		s.t.Fatal(err)
	}
	file := filepath.Join(s.checkout, "sluice.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, folder := range []string{"index", "maven"} {
		if err := os.MkdirAll(filepath.Join(s.dir, folder), 0o755); err != nil {
			s.t.Fatal(err)
		}
	}
	fitted := strings.NewReplacer("@INDEX@", filepath.Join(s.dir, "index"), "@MAVEN@", filepath.Join(s.dir, "maven"),
		"@PYPI@", pypi, "@REGISTRY@", strings.TrimPrefix(registry, "http://")).Replace(string(text))
	if err := os.WriteFile(file, []byte(fitted), 0o644); err != nil {
		s.t.Fatal(err)
	}
	s.git("init", "-q", "--initial-branch=master")
	s.git("remote", "add", "origin", s.forge.CloneURL(repo))
}

// push commits the checkout and pushes it to master; broken makes its release test fail.
func (s *surroundings) push(n int, broken bool) release.Commit {
	return s.pushTo("refs/heads/master", n, broken)
}

func (s *surroundings) pushTo(ref string, n int, broken bool) release.Commit {
	s.pushing.Lock()
	defer s.pushing.Unlock()
	s.write("number", fmt.Sprint(n))
	_ = os.Remove(filepath.Join(s.checkout, "broken"))
	if broken {
		s.write("broken", "yes")
	}
	s.git("add", "-A")
	s.git("-c", "user.name=Ada", "-c", "user.email=ada@example.com", "commit", "-q", "-m", fmt.Sprint("change ", n))
	commit := release.Commit(s.git("rev-parse", "HEAD"))
	s.git("push", "-q", "origin", "HEAD:"+ref)
	return commit
}

func (s *surroundings) write(name, text string) {
	if err := os.WriteFile(filepath.Join(s.checkout, name), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *surroundings) git(args ...string) string {
	s.t.Helper()
	out, err := exec.CommandContext(context.Background(), "git", append([]string{"-C", s.checkout}, args...)...).CombinedOutput()
	if err != nil && args[0] == "init" {
		out, err = exec.Command("git", append(args, s.checkout)...).CombinedOutput()
	}
	if err != nil {
		s.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// countingRegistry counts how often each tag was set.
type countingRegistry struct {
	next http.Handler
	mu   sync.Mutex
	tags map[string]int
}

func (c *countingRegistry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, tag, ok := strings.Cut(r.URL.Path, "/manifests/"); ok && r.Method == http.MethodPut && !strings.HasPrefix(tag, "sha256:") {
		c.mu.Lock()
		c.tags[tag]++
		c.mu.Unlock()
	}
	c.next.ServeHTTP(w, r)
}

// times is how often a tag was set.
func (c *countingRegistry) times(tag string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tags[tag]
}
