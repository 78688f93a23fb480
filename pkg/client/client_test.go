package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/client"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

const token = "t0ken-of-the-test"

// serve is a server of some routes, and a client of it.
func serve(t *testing.T, routes map[string]http.HandlerFunc) *client.Client {
	t.Helper()
	mux := http.NewServeMux()
	for pattern, h := range routes {
		mux.HandleFunc(pattern, h)
	}
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return connect(t, s.URL)
}

func connect(t *testing.T, url string) *client.Client {
	t.Helper()
	c, err := client.New(client.Connection{URL: url, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// says answers with JSON.
func says(body any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(body) }
}

// refuses answers with an error of the API.
func refuses(status int, kind, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{"kind": kind, "message": message, "next": "do that"}})
	}
}

func TestRunsAsksForWhatIsWanted(t *testing.T) {
	t.Parallel()
	c := serve(t, map[string]http.HandlerFunc{"GET /api/v1/runs": func(w http.ResponseWriter, r *http.Request) {
		if got := r.URL.RawQuery; got != "before=70&branch=a%26b&limit=5&project=p&state=failed" {
			t.Errorf("the query is %s", got)
		}
		if r.Header.Get("Authorization") != "Bearer "+token {
			t.Error("the token is missing")
		}
		fmt.Fprint(w, `{"runs":[{"run":"4f2a9c1d-k3m2pa7q","state":"success","tasks":{"success":3}}],"next":61}`)
	}})
	page, err := c.Runs(t.Context(), client.RunsQuery{Limit: 5, Before: 70, Project: "p", Branch: "a&b", State: "failed"})
	if err != nil || page.Next != 61 || len(page.Runs) != 1 || page.Runs[0].Tasks["success"] != 3 {
		t.Fatalf("%+v, %v", page, err)
	}
}

func TestRefusalsAreFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		kind   fault.Kind
		says   string
	}{
		"invalid":   {refuses(400, "invalid", "cannot do this"), fault.Invalid, "cannot do this; do that"},
		"missing":   {refuses(404, "invalid", "cannot find run x"), fault.Invalid, "cannot find run x; do that"},
		"busy":      {refuses(503, "transient", "cannot reach the bus"), fault.Transient, "cannot reach the bus; do that"},
		"hostile":   {refuses(409, "conflict", "own \x1b]0;title\a\nline"), fault.Conflict, "own  line; do that"},
		"no token":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }, fault.Denied, "$SLUICE_TOKEN"},
		"a proxy":   {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>", 502) }, fault.Transient, "502 Bad Gateway"},
		"new kind":  {refuses(403, "surprise", "no"), fault.Denied, "no; do that"},
		"too busy":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(429) }, fault.Transient, "try again"},
		"not JSON":  {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, fault.Invalid, "expected the JSON of this API"},
		"not found": {http.NotFound, fault.Invalid, "404 Not Found"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := serve(t, map[string]http.HandlerFunc{"/api/v1/pools": c.answer})
			_, err := api.Pools(t.Context())
			if !fault.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v (%s), want %s that says %q", err, fault.Of(err), c.kind, c.says)
			}
		})
	}
}

func TestNobodyThere(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	_, err := connect(t, s.URL).Pools(t.Context())
	if !fault.Is(err, fault.Transient) || !strings.Contains(err.Error(), "sluice up") || client.Answered(err) {
		t.Errorf("%v, want a transient fault that names sluice up", err)
	}
}

func TestTokenStaysWithItsServer(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the other server was asked, with Authorization %q", r.Header.Get("Authorization"))
	}))
	t.Cleanup(other.Close)
	c := serve(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}})
	for _, err := range []error{
		second(c.Pools(t.Context())), second(c.Act(t.Context(), "r", "cancel", client.Act{})), c.Replay(t.Context(), 1),
	} {
		if !fault.Is(err, fault.Denied) || strings.Contains(err.Error(), token) {
			t.Errorf("%v, want a denied fault without the token", err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestResolve(t *testing.T) {
	t.Parallel()
	runs := []client.Run{
		{ID: "aaaa1111-newest", Commit: release.Commit(strings.Repeat("a", 40))},
		{ID: "bbbb2222-one", Commit: release.Commit(strings.Repeat("b", 40))},
		{ID: "bbbb3333-two", Commit: release.Commit("bbbb3333" + strings.Repeat("c", 32))},
	}
	c := serve(t, map[string]http.HandlerFunc{
		"GET /api/v1/runs": func(w http.ResponseWriter, r *http.Request) {
			if r.FormValue("before") == "" {
				says(map[string]any{"runs": runs[:2], "next": 2})(w, r)
				return
			}
			says(map[string]any{"runs": runs[2:]})(w, r)
		},
		"GET /api/v1/runs/{run}": func(w http.ResponseWriter, r *http.Request) {
			if r.PathValue("run") == "old-run" {
				says(client.Status{Run: client.Run{ID: "old-run"}})(w, r)
				return
			}
			refuses(404, "invalid", "cannot find it")(w, r)
		},
	})
	for name, want := range map[string]string{
		"latest": "aaaa1111-newest", "old-run": "old-run", "aaaa": "aaaa1111-newest", "bbbb3": "bbbb3333-two",
		strings.Repeat("b", 40): "bbbb2222-one",
	} {
		if got, err := c.Resolve(t.Context(), name); err != nil || string(got) != want {
			t.Errorf("Resolve(%s) = %s, %v; want %s", name, got, err, want)
		}
	}
	for name, says := range map[string]string{
		"bbbb": "2 begin so", "zzzz": "sluice runs", "../../x": "letters, digits", "": "letters, digits", "a b": "letters, digits",
	} {
		if _, err := c.Resolve(t.Context(), name); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("Resolve(%q): %v, want invalid that says %q", name, err, says)
		}
	}
}

func TestStatusReadsEveryTask(t *testing.T) {
	t.Parallel()
	c := serve(t, map[string]http.HandlerFunc{"GET /api/v1/runs/r": func(w http.ResponseWriter, r *http.Request) {
		switch r.FormValue("tasks_after") {
		case "":
			says(client.Status{Tasks: []client.Task{{ID: "a"}}, TasksNext: 7})(w, r)
		case "7":
			says(client.Status{Tasks: []client.Task{{ID: "b"}}})(w, r)
		}
	}})
	status, err := c.Status(t.Context(), "r")
	if err != nil || len(status.Tasks) != 2 || status.Tasks[1].ID != "b" {
		t.Fatalf("%+v, %v", status.Tasks, err)
	}
	for name, want := range map[string]string{"a": "a", "b": "b"} {
		if id, err := c.ResolveTask(t.Context(), "r", name); err != nil || string(id) != want {
			t.Errorf("ResolveTask(%s) = %s, %v", name, id, err)
		}
	}
	if _, err := c.ResolveTask(t.Context(), "r", "c"); !fault.Is(err, fault.Invalid) {
		t.Errorf("%v, want invalid", err)
	}
}

func TestABrokenConnectionIsTriedOnceMoreUnderTheSameKey(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	keys := make(chan string, 2)
	c := serve(t, map[string]http.HandlerFunc{"POST /api/v1/runs": func(w http.ResponseWriter, r *http.Request) {
		keys <- r.Header.Get("Idempotency-Key")
		if calls.Add(1) == 1 {
			panic(http.ErrAbortHandler)
		}
		var body map[string]any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body["project"] != "p" || body["branch"] != "master" {
			t.Errorf("the body is %v, %v", body, err)
		}
		w.WriteHeader(http.StatusAccepted)
		says(client.Done{Run: "new-run"})(w, r)
	}})
	done, err := c.Trigger(within(t, 10*time.Second), client.Trigger{Project: "p", Branch: "master"})
	if err != nil || done.Run != "new-run" {
		t.Fatalf("%+v, %v", done, err)
	}
	if one, two := <-keys, <-keys; one != two || one == "" {
		t.Errorf("the keys are %q and %q, want the same", one, two)
	}
}

func TestARefusalIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	c := serve(t, map[string]http.HandlerFunc{"POST /": func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		refuses(503, "transient", "cannot store it")(w, r)
	}})
	_, err := c.Drain(t.Context(), "gpu", false, "")
	var refused *client.Refused
	if !errors.As(err, &refused) || refused.Status != 503 || calls.Load() != 1 {
		t.Errorf("%v after %d calls, want one", err, calls.Load())
	}
}
