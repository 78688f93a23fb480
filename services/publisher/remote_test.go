package publisher

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
)

func remoteTo(t *testing.T, address string) *remote {
	t.Helper()
	r, err := newRemote(Setup{Options: Options{"url": address, "username": "ann", "password": secretValue, "timeout": "2s"}, Now: time.Now}, "url")
	check(t, err)
	return r
}

func serving(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func TestRedirectsOfReadsAreBoundedAndCarryNoSecrets(t *testing.T) {
	t.Parallel()
	other := serving(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("the password went to another server")
		}
		_, _ = io.WriteString(w, "there")
	})
	hops := 0
	address := serving(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, other+"/x?X-Amz-Signature=hunter2", http.StatusFound)
		case "/file":
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		default:
			hops++
			http.Redirect(w, r, r.URL.Path+"x", http.StatusFound)
		}
	})
	r := remoteTo(t, address)
	if b, err := r.read(t.Context(), address+"/away", 100); err != nil || string(b) != "there" {
		t.Fatalf("%q, %v", b, err)
	}
	if _, err := r.read(t.Context(), address+"/loop", 100); !fault.Is(err, fault.Invalid) || hops > maxRedirects {
		t.Fatalf("%d hops: %v", hops, err)
	}
	if _, err := r.read(t.Context(), address+"/file", 100); !fault.Is(err, fault.Denied) {
		t.Fatalf("%v", err)
	}
}

func TestRedirectedWritesAreNotBelieved(t *testing.T) {
	t.Parallel()
	address := serving(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			http.Redirect(w, r, "/legacy/?session=hunter2", http.StatusMovedPermanently)
		}
	})
	err := remoteTo(t, address).send(t.Context(), http.MethodPost, address+"/legacy", "text/plain", 1, strings.NewReader("x"))
	if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "/legacy/; use that address") || strings.Contains(err.Error(), "hunter2") {
		t.Fatalf("%v", err)
	}
}

func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	address := serving(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/error" {
			w.WriteHeader(http.StatusTeapot)
		}
		for range 1000 {
			_, _ = io.WriteString(w, strings.Repeat("x", 1000))
		}
	})
	r := remoteTo(t, address)
	if _, err := r.read(t.Context(), address, 10_000); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "larger than expected") {
		t.Fatalf("%v", err)
	}
	if _, err := r.read(t.Context(), address+"/error", 10_000); err == nil || len(err.Error()) > 500 {
		t.Fatalf("%v", err)
	}
}

func TestMissingAndGone(t *testing.T) {
	t.Parallel()
	address := serving(t, http.NotFound)
	r := remoteTo(t, address)
	if _, err := r.read(t.Context(), address, 10); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("%v", err)
	}
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	if _, err := r.read(t.Context(), closed.URL, 10); !fault.Is(err, fault.Transient) {
		t.Fatalf("%v (%s)", err, fault.Of(err))
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-7": 0, "x": 0, "99999": time.Hour, "9999999999999": 0,
		"Thu, 01 Jan 2026 00:01:00 GMT": time.Minute, "Thu, 01 Jan 2015 00:01:00 GMT": 0,
	} {
		if got := retryAfter(&http.Response{Header: http.Header{"Retry-After": {text}}}, now); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestFolderCannotBeLeft(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	check(t, os.Symlink(outside, filepath.Join(dir, "link")))
	f := &folder{path: dir}
	for _, name := range []string{"../x", "link/x", "/etc/x"} {
		if err := f.write(name, strings.NewReader("x")); err == nil {
			t.Errorf("wrote %s", name)
		}
	}
	if entries, _ := os.ReadDir(outside); len(entries) > 0 {
		t.Fatalf("outside: %v", entries)
	}
}

func TestFolderWritesWholeOrNothing(t *testing.T) {
	t.Parallel()
	f := &folder{path: t.TempDir()}
	check(t, f.write("a/b", strings.NewReader("old")))
	if err := f.write("a/b", io.MultiReader(strings.NewReader("ne"), broken{})); err == nil {
		t.Fatal("wrote a broken stream")
	}
	if b, err := f.read("a/b", 100); err != nil || string(b) != "old" {
		t.Fatalf("%q, %v", b, err)
	}
	if entries, _ := os.ReadDir(filepath.Join(f.path, "a")); len(entries) != 1 {
		t.Fatalf("left behind: %v", entries)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("the disk is gone") }

// TestManyPublishersOfOneIndex lets publishers add their projects' versions at the same time: none is lost.
func TestManyPublishersOfOneIndex(t *testing.T) {
	t.Parallel()
	w := pypiIndexWorld(t)
	const n = 6
	done := make(chan error, n)
	for i := range n {
		version := string(rune('1' + i))
		r := candidate(t, map[string][]byte{"demo-" + version + "-py3-none-any.whl": wheel(t, "demo", version, version)})
		target := w.open(t)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			done <- target.Commit(ctx, r)
		}()
	}
	for range n {
		check(t, <-done)
	}
	if seen := w.visible(t); len(seen) != n {
		t.Fatalf("listed: %v", seen)
	}
}
