package gateway_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/git"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/service"
	"github.com/sluiceci/sluice/services/gateway"
)

// patience bounds every wait of a test.
const patience = 20 * time.Second

// The secrets of every installation of these tests.
const (
	widgetSecret = "s3cr3t" // what the captured deliveries are signed with
	otherSecret  = "0ther-s3cr3t"
	annToken     = "ann-t0ken-value"
	benToken     = "ben-t0ken-value"
)

func secretValue(name string) (string, error) {
	values := map[string]string{"WIDGET": widgetSecret, "WIDGET_NEW": "n3w-s3cr3t", "OTHER": otherSecret, "ANN": annToken, "BEN": benToken}
	if v, ok := values[name]; ok {
		return v, nil
	}
	return "", errors.New("there is no secret " + name)
}

// widget is the project that the captured deliveries are about.
func widget() gateway.Project {
	return gateway.Project{
		Name: "widget", Forge: "gitea", Repo: "acme/widget", CloneURL: "https://git.example.com/acme/widget.git",
		Secrets: []string{"WIDGET", "WIDGET_NEW"},
	}
}

// edge is a gateway on a real bus, behind a real HTTP server.
type edge struct {
	t      testing.TB
	dir    string
	server *bus.Server
	bus    *bus.Bus
	deps   service.Deps
	made   service.Service
	url    string
	said   *lines
}

// lines is a log that a test reads.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// newEdge starts the HTTP side of a gateway. Its reconciler runs from run on.
func newEdge(t testing.TB, config gateway.Config, options bus.Options) *edge {
	t.Helper()
	e := &edge{t: t, dir: t.TempDir(), said: &lines{}}
	var err error
	e.server, err = bus.Embed(bus.ServerOptions{Dir: e.dir})
	must(t, err)
	t.Cleanup(e.server.Close)
	e.bus, err = e.server.Connect(t.Context(), options)
	must(t, err)
	t.Cleanup(e.bus.Close)
	e.serve(config)
	return e
}

// serve makes the service and its HTTP server; a second one is a second process on the same bus.
func (e *edge) serve(config gateway.Config) {
	e.t.Helper()
	cache, err := git.New(e.t.TempDir(), git.Options{})
	must(e.t, err)
	e.deps = service.Deps{
		Bus: e.bus, Log: slog.New(slog.NewTextHandler(e.said, nil)), Registry: prometheus.NewRegistry(), Now: time.Now,
		Instance: "test", Secret: secretValue,
	}
	e.made, err = gateway.New(config, e.deps, cache)
	must(e.t, err)
	mux := http.NewServeMux()
	for _, p := range e.made.HTTP {
		mux.Handle(p.Pattern, p.Handler)
	}
	web := httptest.NewServer(mux)
	e.t.Cleanup(web.Close)
	e.url = web.URL
}

// run runs the loops until the test ends, or the function that it returns is called.
func (e *edge) run() (stop func()) {
	ctx, cancel := context.WithCancel(e.t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		if err := service.Run(ctx, e.deps, &service.Health{}, e.made); err != nil && ctx.Err() == nil {
			e.t.Errorf("the gateway ended: %v", err)
		}
	})
	stop = func() { cancel(); group.Wait() }
	e.t.Cleanup(stop)
	return stop
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// reply is an answer of the gateway.
type reply struct {
	status  int
	header  http.Header
	text    string
	Run     release.RunID `json:"run"`
	Ignored string        `json:"ignored"`
	Error   struct {
		Kind    string `json:"kind"`
		Message string `json:"message"`
		Next    string `json:"next"`
	} `json:"error"`
}

// post sends a request. Its answer must be JSON, and a refusal must say what is wrong and what to do.
func (e *edge) post(path string, header http.Header, body []byte) reply {
	e.t.Helper()
	r, err := send(e.t.Context(), e.url+path, header, bytes.NewReader(body))
	if err != nil {
		e.t.Fatalf("%s: %v", path, err)
	}
	return r
}

// send also checks what every answer owes its reader.
func send(ctx context.Context, url string, header http.Header, body io.Reader) (reply, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body)
	if err != nil {
		return reply{}, err
	}
	for name, values := range header {
		if name != "Content-Length" && name != "Host" && name != "Accept-Encoding" {
			request.Header[name] = values
		}
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	r := reply{status: answer.StatusCode, header: answer.Header, text: string(text)}
	if err := errors.Join(err, json.Unmarshal(text, &r)); err != nil {
		return r, fmt.Errorf("%d %q is no answer: %w", r.status, text, err)
	}
	if r.status >= 300 && (r.Error.Message == "" || r.Error.Next == "" || r.Error.Kind == "") {
		return r, fmt.Errorf("refusal %d %s does not say what it is and what to do", r.status, text)
	}
	return r, nil
}

// facts reads everything that the stream has.
func (e *edge) facts() []event.Event { e.t.Helper(); return factsOf(e.t, e.bus) }

func factsOf(t testing.TB, b *bus.Bus) (out []event.Event) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	f, err := b.Follow(ctx, bus.Following{Name: "look"})
	must(t, err)
	defer f.Close()
	for {
		batch, err := f.Next(ctx, time.Millisecond)
		must(t, err)
		out = append(out, batch.Events...)
		if batch.Live {
			return out
		}
	}
}

// changes are the changes that were announced, by their run and kind.
func (e *edge) changes() map[string]release.Change {
	e.t.Helper()
	out := map[string]release.Change{}
	for _, f := range e.facts() {
		if c, ok := f.Data.(event.ChangeReceived); ok {
			out[string(f.Run)+" "+f.Key] = c.Change
		}
	}
	return out
}

type object = map[string]any

func text(t testing.TB, body any) []byte {
	t.Helper()
	b, err := json.Marshal(body)
	must(t, err)
	return b
}

func mac(secret string, body []byte) string {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write(body)
	return hex.EncodeToString(m.Sum(nil))
}

// gitea are the headers of a delivery of Gitea.
func gitea(secret, kind string, body []byte) http.Header {
	return http.Header{
		"Content-Type": {"application/json"}, "X-Gitea-Event": {kind}, "X-Gitea-Delivery": {"d-1"}, "X-Gitea-Signature": {mac(secret, body)},
	}
}

// github are the headers of a delivery of GitHub.
func github(secret, kind string, body []byte) http.Header {
	return http.Header{
		"Content-Type": {"application/json"}, "X-Github-Event": {kind}, "X-Github-Delivery": {"d-1"},
		"X-Hub-Signature-256": {"sha256=" + mac(secret, body)},
	}
}

// The commits of deliveries that are made here.
const (
	head   = "1111111111111111111111111111111111111111"
	parent = "2222222222222222222222222222222222222222"
	tagged = "3333333333333333333333333333333333333333"
	zeros  = "0000000000000000000000000000000000000000"
)

// pushOf is the body of a push to acme/widget, with some fields changed.
func pushOf(change object) object {
	body := object{
		"ref": "refs/heads/master", "before": parent, "after": head,
		"head_commit": object{"id": head, "message": "Fix the gate\n\nLong story.", "url": "https://forge.example.com/c/1"},
		"repository":  object{"full_name": "acme/widget", "clone_url": "file:///etc"},
		"sender":      object{"login": "dev"},
	}
	for k, v := range change {
		body[k] = v
	}
	return body
}

// pullOf is the body of a pull request from branch better of acme/widget.
func pullOf(change object) object {
	repo := object{"full_name": "acme/widget", "clone_url": "file:///etc"}
	pull := object{
		"number": 7, "title": "Better gate", "user": object{"login": "dev"},
		"base": object{"ref": "master", "sha": parent, "repo": repo}, "head": object{"ref": "better", "sha": head, "repo": repo},
	}
	for k, v := range change {
		pull[k] = v
	}
	return object{"action": "opened", "number": 7, "pull_request": pull, "repository": repo}
}
