package fetch

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
)

// TestAnswers is what each answer of a server means.
func TestAnswers(t *testing.T) {
	t.Parallel()
	client := New(Rules{Private: true}, nil)
	for status, want := range map[int]struct {
		kind   fault.Kind
		absent bool
	}{
		404: {fault.Transient, true}, 403: {fault.Transient, true}, 410: {fault.Transient, true},
		500: {fault.Transient, false}, 503: {fault.Transient, false}, 429: {fault.Transient, false}, 408: {fault.Transient, false},
		204: {fault.Transient, false}, 206: {fault.Transient, false},
		401: {fault.Denied, false}, 407: {fault.Denied, false}, 400: {fault.Invalid, false}, 405: {fault.Invalid, false}, 304: {fault.Invalid, false},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(status)
		}))
		_, err := client.Open(t.Context(), server.URL+"/a.whl", 0)
		if fault.Of(err) != want.kind || Absent(err) != want.absent {
			t.Errorf("%d: %v of kind %s, absent %t; want %s, %t", status, err, fault.Of(err), Absent(err), want.kind, want.absent)
		}
		if status == 503 && fault.RetryAfter(err) != 7*time.Second {
			t.Errorf("503 is to be asked again after %s, want 7s", fault.RetryAfter(err))
		}
		there, err := client.Exists(t.Context(), server.URL+"/a.whl")
		if there || (err == nil) != want.absent {
			t.Errorf("%d: exists %t, %v", status, there, err)
		}
		server.Close()
		if _, err := client.Open(t.Context(), server.URL+"/a.whl", 0); !fault.Is(err, fault.Transient) || Absent(err) {
			t.Errorf("nobody there: %v of kind %s", err, fault.Of(err))
		}
	}
}

// TestOnlyPublicAddresses: what only the builder can reach is not for definitions, by whatever name or redirect.
func TestOnlyPublicAddresses(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	_, port, _ := strings.Cut(strings.TrimPrefix(server.URL, "http://"), ":")
	client := New(Rules{}, nil)
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]"} {
		if _, err := client.Open(t.Context(), "http://"+host+":"+port+"/a.whl", 0); !fault.Is(err, fault.Denied) {
			t.Errorf("%s: %v of kind %s, want it denied", host, err, fault.Of(err))
		}
	}
	for address, want := range map[string]bool{
		"93.184.216.34": true, "2606:2800:220:1::1": true, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false,
		"169.254.169.254": false, "100.64.0.1": false, "0.0.0.0": false, "0.1.2.3": false, "224.0.0.1": false, "255.255.255.255": false,
		"::1": false, "::": false, "fe80::1": false, "fd00::1": false, "64:ff9b::a00:1": false, "2002:a00:1::": false,
	} {
		if got := public(netip.MustParseAddr(address).Unmap()); got != want {
			t.Errorf("%s is public: %t, want %t", address, got, want)
		}
	}
}

// TestRedirects are followed, within bounds.
func TestRedirects(t *testing.T) {
	t.Parallel()
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/there" {
			_, _ = w.Write([]byte("x"))
			return
		}
		http.Redirect(w, r, "/there?key=secret", http.StatusFound)
	}))
	t.Cleanup(plain.Close)
	secure := httptest.NewTLSServer(http.RedirectHandler(plain.URL+"/there", http.StatusFound))
	t.Cleanup(secure.Close)
	client := New(Rules{Private: true}, nil)
	body, err := client.Open(t.Context(), plain.URL+"/a.whl", 0)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(body); err != nil || string(text) != "x" || body.From != plain.URL+"/there" {
		t.Errorf("read %q from %s, %v", text, body.From, err)
	}
	_ = body.Close()
	if at, err := client.Locate(t.Context(), plain.URL+"/a.whl"); err != nil || at != plain.URL+"/a.whl" {
		t.Errorf("located at %s, %v: a key must not be kept", at, err)
	}
	trusting := New(Rules{Private: true}, secure.Client().Transport.(*http.Transport).TLSClientConfig)
	if _, err := trusting.Open(t.Context(), secure.URL, 0); !fault.Is(err, fault.Denied) || !strings.Contains(err.Error(), "from https to http") {
		t.Errorf("from https to http: %v", err)
	}
	if _, err := client.Open(t.Context(), secure.URL, 0); !fault.Is(err, fault.Denied) {
		t.Errorf("a certificate that nobody trusts: %v", err)
	}
}

// TestFiles: only those below the directories of the rules, and no way out of there.
func TestFiles(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{dir + "/a.whl": "abc", outside + "/b.whl": "secret"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink(outside, filepath.Join(dir, "out")), syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600)); err != nil {
		t.Fatal(err)
	}
	client := New(Rules{Files: []string{dir}}, nil)
	for name, want := range map[string]fault.Kind{
		dir + "/a.whl": "", dir + "/none": fault.Transient, dir + "/pipe": fault.Invalid, dir: fault.Invalid,
		outside + "/b.whl": fault.Denied, dir + "/out/b.whl": fault.Denied, dir + "/../" + filepath.Base(outside) + "/b.whl": fault.Denied,
	} {
		body, err := client.Open(t.Context(), "file://"+name, 0)
		if fault.Of(err) != want {
			t.Errorf("%s: %v of kind %s, want %s", name, err, fault.Of(err), want)
		}
		if err == nil {
			if text, err := io.ReadAll(body); err != nil || string(text) != "abc" {
				t.Errorf("%s: read %q, %v", name, text, err)
			}
			_ = body.Close()
		}
	}
	if _, err := client.Open(t.Context(), "file://"+dir+"/a.whl", 2); !fault.Is(err, fault.Invalid) {
		t.Errorf("more than two bytes: %v", err)
	}
}

// FuzzOpen gives anything as a URL: without rules that allow it nothing is opened.
func FuzzOpen(f *testing.F) {
	for _, address := range []string{"file:///etc/passwd", "http://127.0.0.1:1/", "//x", "gopher://x", "http://[::1]:1/", "file://h/x", "http://localhost:1/\x00"} {
		f.Add(address)
	}
	client := New(Rules{Silence: time.Second}, nil)
	f.Fuzz(func(t *testing.T, address string) {
		if strings.HasPrefix(strings.ToLower(strings.TrimSpace(address)), "http") && !strings.HasPrefix(address, "http://127.0.0.1:1/") {
			return // other hosts are not for a test to ask
		}
		if body, err := client.Open(t.Context(), address, 0); err == nil {
			_ = body.Close()
			t.Fatalf("%q was opened", address)
		}
	})
}
