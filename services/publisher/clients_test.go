package publisher

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/google/go-containerregistry/pkg/name"
	ggcr "github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/loopback"
)

// tool finds a program; without it the test is skipped, on a laptop.
func tool(t *testing.T, program string) string {
	t.Helper()
	found, err := exec.LookPath(program)
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatalf("%s is not installed", program)
	}
	if err != nil {
		t.Skipf("%s is not installed", program)
	}
	return found
}

// TestPipInstallsFromTheIndex lets pip itself read the index, over a plain file server.
func TestPipInstallsFromTheIndex(t *testing.T) {
	t.Parallel()
	python := tool(t, "python3")
	w := pypiIndexWorld(t)
	check(t, publish(t, w, candidate(t, w.release(t, "from the index"))))
	server := httptest.NewServer(http.FileServer(http.Dir(w.dir)))
	t.Cleanup(server.Close)
	site := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	install := exec.CommandContext(ctx, python, "-m", "pip", "install", "--no-cache-dir", "--index-url", server.URL+"/simple/", //nolint:gosec // a test
		"--target", site, "--no-compile", "demo.pkg==1.0")
	install.Env = append(withoutPip(os.Environ()), "PIP_CONFIG_FILE="+os.DevNull, "PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_NO_INPUT=1")
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("pip: %v\n%s", err, out)
	}
	if text := contentOf(t, filepath.Join(site, "Demo_Pkg", "__init__.py")); !strings.Contains(string(text), "from the index") {
		t.Fatalf("installed %s", text)
	}
}

// withoutPip drops what would let pip look elsewhere.
func withoutPip(env []string) []string {
	var out []string
	for _, v := range env {
		if !strings.HasPrefix(v, "PIP_") {
			out = append(out, v)
		}
	}
	return out
}

// debianRegistry starts the distribution registry that Debian ships, with a password, behind a handler.
func debianRegistry(t *testing.T) http.Handler {
	t.Helper()
	binary := tool(t, "docker-registry")
	address := loopback.ReserveFor(t)
	dir := t.TempDir()
	hash, err := bcrypt.GenerateFromPassword([]byte(secretValue), bcrypt.MinCost)
	check(t, err)
	check(t, os.WriteFile(filepath.Join(dir, "htpasswd"), fmt.Appendf(nil, "acme:%s\n", hash), 0o600))
	config := fmt.Sprintf("version: 0.1\nlog: {level: error}\nstorage: {filesystem: {rootdirectory: %q}}\nhttp: {addr: %q, relativeurls: true}\n"+
		"auth: {htpasswd: {realm: test, path: %q}}\n", filepath.Join(dir, "data"), address, filepath.Join(dir, "htpasswd"))
	check(t, os.WriteFile(filepath.Join(dir, "config.yml"), []byte(config), 0o600))
	cmd := exec.Command(binary, "serve", filepath.Join(dir, "config.yml")) //nolint:gosec // a test
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "OTEL_TRACES_EXPORTER=none"}
	check(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	waitFor(t, address)
	target, err := url.Parse("http://" + address)
	check(t, err)
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
}

func waitFor(t *testing.T, address string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			check(t, conn.Close())
			return
		}
		<-time.After(20 * time.Millisecond)
	}
	t.Fatalf("nothing listens on %s", address)
}

// TestConformanceOnDistribution holds the OCI target to the rules on a registry that nobody here wrote.
func TestConformanceOnDistribution(t *testing.T) {
	t.Parallel()
	tool(t, "docker-registry")
	for _, rule := range []string{
		"a release goes through, and again changes nothing", "another digest under the same name is a hard stop",
		"a server that fails is understood", "a corrupted download is noticed",
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			w := ociWorldOf(t, debianRegistry(t), true)
			rules()[rule](t, w)
		})
	}
}

// TestRegistryClientPullsTheImage pulls and validates what was published with the registry's usual client.
func TestRegistryClientPullsTheImage(t *testing.T) {
	t.Parallel()
	w := ociWorld(t, true)
	check(t, publish(t, w, candidate(t, w.release(t, "one"))))
	repository := strings.ReplaceAll(w.target.Options["repository"], "{name}", "app")
	ref, err := name.ParseReference(repository + ":1.0")
	check(t, err)
	index, err := ggcr.Index(ref)
	check(t, err)
	check(t, validate.Index(index))
	manifest, err := index.IndexManifest()
	check(t, err)
	if len(manifest.Manifests) != 2 || manifest.Manifests[1].Platform.Architecture != "arm64" {
		t.Fatalf("pulled %v", manifest)
	}
}

// TestWrongPassword logs in to a registry that checks.
func TestWrongPassword(t *testing.T) {
	t.Parallel()
	w := ociWorldOf(t, debianRegistry(t), false)
	r := candidate(t, w.release(t, "one"))
	target, err := Open(w.target, Setup{Temp: t.TempDir()}, func(string) (string, error) { return "another-secret", nil })
	check(t, err)
	if err := target.Stage(t.Context(), r); !fault.Is(err, fault.Denied) || strings.Contains(err.Error(), "another-secret") {
		t.Fatalf("stage: %v (%s), want denied", err, fault.Of(err))
	}
}
