package edge

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

const testKey = "the-key-of-the-siblings"

// pair are two processes of one installation: the front serves /front, the back serves everything below /back, which tells what it
// knows of a request.
type pair struct {
	t           *testing.T
	front, back *httptest.Server
	gone        chan string // what the back's streams end with
}

func newPair(t *testing.T, believed ...string) *pair {
	t.Helper()
	p := &pair{t: t, gone: make(chan string, 1)}
	backMux := http.NewServeMux()
	backMux.HandleFunc("GET /back/who", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'self'")
		fmt.Fprintf(w, "%s %s direct=%t %s=%q %s=%q", r.Host, Peer(r), Direct(r), headerSibling, r.Header.Get(headerSibling), headerPeer, r.Header.Get(headerPeer))
	})
	backMux.HandleFunc("POST /back/echo", func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	backMux.HandleFunc("GET /back/lines", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "first")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		p.gone <- "the client went"
	})
	frontMux := http.NewServeMux()
	frontMux.HandleFunc("GET /front", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "front") })
	p.front, p.back = httptest.NewUnstartedServer(nil), httptest.NewUnstartedServer(nil)
	p.serve(p.front, frontMux, p.back, believed...)
	p.serve(p.back, backMux, p.front)
	return p
}

// serve starts a process that leads what it does not serve to another, and is led to by that one.
func (p *pair) serve(server *httptest.Server, mux *http.ServeMux, to *httptest.Server, believed ...string) {
	p.t.Helper()
	proxies, err := ParseProxies(believed)
	if err != nil {
		p.t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	e := New(NewHosts("127.0.0.1:0", "", "sluice.example.com"), proxies, Limits{}, log)
	if err := e.Siblings(testKey); err != nil {
		p.t.Fatal(err)
	}
	other, err := NewSibling("back", "http://"+to.Listener.Addr().String(), testKey, log)
	if err != nil {
		p.t.Fatal(err)
	}
	server.Config.Handler = e.Handler(other.Or(mux))
	server.Start()
	p.t.Cleanup(server.Close)
}

func (p *pair) get(server *httptest.Server, path, host string, header http.Header) (*http.Response, string) {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, server.URL+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	r.Host, r.Header = host, header
	if header == nil {
		r.Header = http.Header{}
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return answer, string(text)
}

func (p *pair) says(server *httptest.Server, path, host string, header http.Header, want string) {
	p.t.Helper()
	if _, got := p.get(server, path, host, header); !strings.Contains(got, want) {
		p.t.Errorf("%s with %v: %s, want %q in it", path, header, got, want)
	}
}

// TestSiblingsAnswerForEachOther: one address serves what either process serves; the sibling knows who asked, and its own headers
// are those of the answer.
func TestSiblingsAnswerForEachOther(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.says(p.front, "/front", "sluice.example.com", nil, "front")
	answer, text := p.get(p.front, "/back/who", "sluice.example.com", nil)
	if want := `sluice.example.com 127.0.0.1 direct=true Sluice-Sibling="" Sluice-Peer=""`; text != want {
		t.Errorf("the sibling says %s, want %s", text, want)
	}
	if policy := answer.Header.Values("Content-Security-Policy"); len(policy) != 1 || policy[0] != "default-src 'self'" {
		t.Errorf("the policy of the answer is %q", policy)
	}
	if frame := answer.Header.Values("X-Frame-Options"); len(frame) != 1 {
		t.Errorf("X-Frame-Options is %q", frame)
	}
	if answer, _ := p.get(p.front, "/nowhere", "sluice.example.com", nil); answer.StatusCode != http.StatusNotFound {
		t.Errorf("what nobody serves is answered %s", answer.Status)
	}
	if answer, text := p.get(p.front, "/back/echo", "sluice.example.com", nil); answer.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("a wrong method is answered %s %s", answer.Status, text)
	}
	big := strings.Repeat("x", 3<<20)
	echo, err := http.Post(p.front.URL+"/back/echo", "text/plain", strings.NewReader(big))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = echo.Body.Close() }()
	if got, err := io.ReadAll(echo.Body); err != nil || string(got) != big {
		t.Errorf("of %d bytes %d came back (%v)", len(big), len(got), err)
	}
}

// TestNobodyPosesAsASibling: who does not know the key cannot say where a request comes from, at either process; and the front
// believes X-Forwarded-For of its own proxies only.
func TestNobodyPosesAsASibling(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	forged := http.Header{headerSibling: {"a-guess-of-the-right-length"}, headerPeer: {"10.9.9.9"}, headerDirect: {"true"}, "X-Forwarded-For": {"10.8.8.8"}}
	for name, server := range map[string]*httptest.Server{"/back/who": p.front, "/back/who?": p.back} {
		p.says(server, name, "sluice.example.com", forged.Clone(), `127.0.0.1 direct=false Sluice-Sibling="" Sluice-Peer=""`)
	}
	if answer, _ := p.get(p.back, "/back/who", "attacker.example", forged.Clone()); answer.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("a foreign host is answered %s", answer.Status)
	}
	if answer, _ := p.get(p.front, "/back/who", "attacker.example", nil); answer.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("a foreign host is answered %s", answer.Status)
	}
	behind := newPair(t, "127.0.0.1")
	behind.says(behind.front, "/back/who", "sluice.example.com", http.Header{"X-Forwarded-For": {"10.8.8.8"}}, "sluice.example.com 10.8.8.8 direct=false")
}

// TestSiblingsStream: lines come through as they are written, a client that goes ends the sibling's work, and a sibling that is
// away is a refusal that says so.
func TestSiblingsStream(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	answer, err := http.Get(p.front.URL + "/back/lines")
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(answer.Body).ReadString('\n'); line != "first\n" {
		t.Errorf("the first line is %q (%v)", line, err)
	}
	_ = answer.Body.Close()
	select {
	case <-p.gone:
	case <-time.After(time.Minute):
		t.Error("the sibling goes on for a client that is gone")
	}
	p.back.Close()
	answer, text := p.get(p.front, "/back/who", "sluice.example.com", nil)
	if answer.StatusCode != http.StatusServiceUnavailable || !strings.Contains(text, "service back, which serves this, does not answer") || answer.Header.Get("Retry-After") == "" {
		t.Errorf("without its sibling the front says %s %s", answer.Status, text)
	}
}

// TestSiblingsNeedAKey that nobody guesses, and a URL.
func TestSiblingsNeedAKey(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ at, key, says string }{
		{"http://10.0.0.8:8030", "short", "expected one line of at least 16"},
		{"http://10.0.0.8:8030", "two lines of text\nin it", "expected one line"},
		{"10.0.0.8:8030", testKey, "expected a URL without a path"},
		{"http://user:word@10.0.0.8:8030", testKey, "expected a URL without a path"},
		{"http://10.0.0.8:8030/sluice", testKey, "expected a URL without a path"},
	} {
		if _, err := NewSibling("gateway", c.at, c.key, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q with key %q: %v, want %q", c.at, c.key, err, c.says)
		}
	}
}
