package gateway

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluiceci/sluice/pkg/access"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/forge/forgetest"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/service"
)

// world is a gateway on a real bus, served over HTTP. Its loops run when a test starts them.
type world struct {
	t       testing.TB
	dir     string // of the server's streams
	server  *bus.Server
	bus     *bus.Bus
	gateway *gateway
	url     string

	mu       sync.Mutex
	follower *bus.Follower
	read     []event.Event // so far
	last     uint64
}

// remote stands for the forge's git where a test has no repository.
type remote map[string]release.Commit

func (r remote) LsRemote(_ context.Context, _ string, patterns ...string) (map[string]release.Commit, error) {
	if r == nil {
		return nil, fault.New(fault.Transient, "cannot list the refs: the forge is away")
	}
	out := map[string]release.Commit{}
	for ref, commit := range r {
		for _, p := range patterns {
			if ok, _ := filepath.Match(p, ref); ok {
				out[ref] = commit
			}
		}
	}
	return out, nil
}

// values are the secrets of every world. The one named "absent" is not among them.
func values(name string) (string, error) {
	known := map[string]string{"hook": "s3cr3t", "hook-new": "n3w", "other": "oth3r", "token": "t0ken", "token-old": "0ld", "empty": "", "forge": forgetest.Token}
	if v, ok := known[name]; ok {
		return v, nil
	}
	return "", fmt.Errorf("there is no secret %q", name)
}

// widget is the project that the captured deliveries are about.
func widget() Project {
	return Project{Name: "widget", Forge: "gitea", Repo: "acme/widget", CloneURL: "https://git.test/acme/widget.git", Secrets: []string{"hook-new", "hook"}}
}

func newWorld(t testing.TB, config Config, lister Lister, options bus.Options) *world {
	t.Helper()
	dir := t.TempDir()
	server, err := bus.Embed(bus.ServerOptions{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	b, err := server.Connect(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	deps := service.Deps{
		Bus: b, Log: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry(), Now: time.Now, Instance: "test", Secret: values,
	}
	deps.Gate, err = access.New(access.Options{
		Static: config.Tokens, Listen: "127.0.0.1:80", PublicURL: "http://127.0.0.1", Secret: values, Bus: b, Log: deps.Log, Now: time.Now, Source: "/gateway/test",
	})
	if err != nil {
		t.Fatal(err)
	}
	g, err := newGateway(config, deps, lister)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(service.Handler(b, prometheus.NewRegistry(), &service.Health{}, deps.Gate, g.service()))
	t.Cleanup(front.Close)
	return &world{t: t, dir: dir, server: server, bus: b, gateway: g, url: front.URL}
}

// run runs the gateway's loops until the test ends, or the function that it returns is called.
func (w *world) run() (stop func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	ended, g := make(chan struct{}), w.gateway
	go func() {
		defer close(ended)
		_ = service.Run(ctx, g.deps, &service.Health{}, g.service()) // it has no routes that could fail
	}()
	stop = func() { cancel(); <-ended }
	w.t.Cleanup(stop)
	return stop
}

// answer is what came back over HTTP.
type answer struct {
	code   int
	header http.Header
	text   string

	Run     release.RunID `json:"run"`
	Event   string        `json:"event"`
	Ignored string        `json:"ignored"`
	Error   struct {
		Kind    fault.Kind `json:"kind"`
		Message string     `json:"message"`
		Next    string     `json:"next"`
	} `json:"error"`
}

func (w *world) post(path string, header http.Header, body io.Reader) answer {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+path, body)
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header = header
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = got.Body.Close() }()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	a := answer{code: got.StatusCode, header: got.Header, text: string(text)}
	if err := json.Unmarshal(text, &a); err != nil {
		w.t.Fatalf("%s answered %d %q, which is no JSON: %v", path, got.StatusCode, text, err)
	}
	if a.code >= 300 && (a.Error.Kind == "" || a.Error.Next == "" || !strings.HasPrefix(a.Error.Message, "cannot ") && a.code != http.StatusInternalServerError) {
		w.t.Errorf("%s answered %d %s, expected a kind, what cannot be done, and what to do next", path, a.code, text)
	}
	return a
}

// captured is a delivery that a real Gitea sent.
func captured(t testing.TB, file string) (http.Header, string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "pkg", "forge", "testdata", "gitea", file))
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Headers [][2]string `json:"headers"`
		Raw     string      `json:"body_raw"`
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	h := http.Header{}
	for _, pair := range d.Headers {
		if pair[0] != "Content-Length" && pair[0] != "Host" {
			h.Set(pair[0], pair[1])
		}
	}
	return h, d.Raw
}

func (w *world) deliver(file string) answer {
	w.t.Helper()
	h, body := captured(w.t, file)
	return w.post("/hooks/gitea", h, strings.NewReader(body))
}

// pushed is a signed push to a branch.
func pushed(repo, branch string, commit release.Commit, secret string) (http.Header, string) {
	body := fmt.Sprintf(`{"ref":"refs/heads/%s","before":"%s","after":"%s","head_commit":{"id":"%s","message":"x"},"repository":{"full_name":"%s"}}`,
		branch, strings.Repeat("0", 40), commit, commit, repo)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	return http.Header{
		"X-Gitea-Event": {"push"}, "X-Gitea-Delivery": {"d"}, "X-Gitea-Signature": {hex.EncodeToString(mac.Sum(nil))},
		"Content-Type": {"application/json"},
	}, body
}

func (w *world) push(repo, branch string, commit release.Commit, secret string) answer {
	w.t.Helper()
	h, body := pushed(repo, branch, commit, secret)
	return w.post("/hooks/gitea", h, strings.NewReader(body))
}

// numbered is a commit.
func numbered(n int) release.Commit { return release.Commit(fmt.Sprintf("%040x", n+1)) }

// facts are all that the stream holds. One follower reads them for the whole test: one for each look would leave the server
// with more consumers than it allows while it is slow to forget them.
func (w *world) facts() []event.Event {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.follower == nil {
		f, err := w.bus.Follow(w.t.Context(), bus.Following{Name: "test"})
		if err != nil {
			w.t.Fatal(err)
		}
		w.follower = f
	}
	status, err := w.bus.StreamStatus(w.t.Context(), bus.Facts)
	if err != nil {
		w.t.Fatal(err)
	}
	for end := time.Now().Add(30 * time.Second); w.last < status.LastSeq; {
		batch, err := w.follower.Next(w.t.Context(), 200*time.Millisecond)
		if err != nil {
			w.t.Fatal(err)
		}
		w.read, w.last = append(w.read, batch.Events...), batch.Last
		if time.Now().After(end) {
			w.t.Fatalf("read %d of %d facts", w.last, status.LastSeq)
		}
	}
	return slices.Clone(w.read)
}

// get is the one fact of a run and type.
func (w *world) get(run release.RunID, t event.Type) event.Event {
	w.t.Helper()
	e, err := w.bus.Get(w.t.Context(), t.FilterRun(run))
	if err != nil {
		w.t.Fatalf("%s of run %s is not stored: %v", t, run, err)
	}
	return e
}

// until waits for facts to fulfil a condition.
func (w *world) until(what string, met func([]event.Event) bool) {
	w.t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
		if met(w.facts()) {
			return
		}
		time.Sleep(5 * time.Millisecond) // between two looks, not instead of one
	}
	var have bytes.Buffer
	for _, e := range w.facts() {
		fmt.Fprintln(&have, e.Describe())
	}
	w.t.Fatalf("waited in vain for %s; the stream has\n%s", what, have.String())
}
