package forge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/forge"
	"github.com/sluiceci/sluice/pkg/release"
)

// forges says how each forge is spoken to; the conformance tests below hold for all of them.
func forges() map[string]struct {
	path, header, token, stateOfCancel, stateOfError, label string
} {
	type spoken = struct {
		path, header, token, stateOfCancel, stateOfError, label string
	}
	return map[string]spoken{
		"github": {"/repos/acme/widget/statuses/" + head, "Authorization", "Bearer t0ken", "error", "error", "context"},
		"gitea":  {"/api/v1/repos/acme/widget/statuses/" + head, "Authorization", "Bearer t0ken", "error", "error", "context"},
		"gitlab": {"/api/v4/projects/acme%2Fwidget/statuses/" + head, "Private-Token", "t0ken", "canceled", "failed", "name"},
	}
}

func status(name, base string) forge.StatusRequest {
	return forge.StatusRequest{
		Forge: name, BaseURL: base, Token: "t0ken", Repo: "acme/widget", Commit: head, State: release.Success, Context: "sluice",
		Description: "12 tasks", TargetURL: "http://sluice/runs/1",
	}
}

func server(t testing.TB, h http.HandlerFunc) string {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func TestStatusesAsEachForgeWantsThem(t *testing.T) {
	for name, want := range forges() {
		t.Run(name, func(t *testing.T) {
			var sent map[string]any
			url := server(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodPost || r.URL.EscapedPath() != want.path || r.Header.Get(want.header) != want.token {
					t.Errorf("%s %s with %q", r.Method, r.URL.EscapedPath(), r.Header.Get(want.header))
				}
				sent = nil
				if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
					t.Error(err)
				}
				w.WriteHeader(http.StatusCreated)
				_, _ = fmt.Fprint(w, `{"id": 1}`)
			})
			failure := "failure"
			if name == "gitlab" {
				failure = "failed"
			}
			for state, word := range map[release.Outcome]string{
				forge.Pending: "pending", release.Success: "success", release.Failure: failure, release.Error: want.stateOfError,
				release.Cancelled: want.stateOfCancel, "nonsense": want.stateOfError,
			} {
				s := status(name, url)
				s.State, s.Description = state, strings.Repeat("ü", 200)
				if err := forge.SetStatus(t.Context(), s); err != nil {
					t.Fatal(err)
				}
				expected := map[string]any{
					"state": word, want.label: "sluice", "target_url": "http://sluice/runs/1", "description": strings.Repeat("ü", 139) + "…",
				}
				delete(sent, "created_at") // go-scm sends both to GitHub, which sets its own
				delete(sent, "updated_at")
				if diff := cmp.Diff(expected, sent); diff != "" {
					t.Errorf("%s (-expected +sent):\n%s", state, diff)
				}
			}
		})
	}
}

func TestStatusErrorsHaveKinds(t *testing.T) {
	cases := []struct {
		code   int
		header http.Header
		body   string
		kind   fault.Kind
		after  time.Duration
	}{
		{http.StatusCreated, nil, "", "", 0},
		{http.StatusOK, nil, "<html>", "", 0},
		{http.StatusUnauthorized, nil, `{"message": "token t0ken is wrong"}`, fault.Denied, 0},
		{http.StatusForbidden, nil, `{"message": "no"}`, fault.Denied, 0},
		{http.StatusForbidden, http.Header{"Retry-After": {"7"}}, `{"message": "secondary rate limit"}`, fault.Transient, 7 * time.Second},
		{http.StatusForbidden, http.Header{"X-Ratelimit-Remaining": {"0"}}, `{}`, fault.Transient, time.Minute},
		{http.StatusTooManyRequests, http.Header{"Retry-After": {"999999"}}, "", fault.Transient, time.Hour},
		{http.StatusNotFound, nil, `{"message": "Not Found"}`, fault.Invalid, 0},
		{http.StatusUnprocessableEntity, nil, `{"message": "No commit found for SHA"}`, fault.Invalid, 0},
		{http.StatusBadGateway, nil, "<html>", fault.Transient, 0},
		{http.StatusMovedPermanently, http.Header{"Location": {"/elsewhere"}}, "", fault.Invalid, 0},
	}
	for name := range forges() {
		for _, k := range cases {
			t.Run(fmt.Sprint(name, k.code), func(t *testing.T) {
				url := server(t, func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/elsewhere" {
						t.Error("the token was shown to another address")
					}
					for header, values := range k.header {
						w.Header()[header] = values
					}
					w.WriteHeader(k.code)
					_, _ = fmt.Fprint(w, k.body)
				})
				err := forge.SetStatus(t.Context(), status(name, url))
				if fault.Of(err) != k.kind || fault.RetryAfter(err) != k.after {
					t.Errorf("%v is %q after %s, expected %q after %s", err, fault.Of(err), fault.RetryAfter(err), k.kind, k.after)
				}
				if err != nil && (strings.Contains(err.Error(), "t0ken") || !strings.HasPrefix(err.Error(), "cannot ")) {
					t.Errorf("%q", err)
				}
			})
		}
	}
}

func TestForgeThatDoesNotAnswer(t *testing.T) {
	for name := range forges() {
		closed := httptest.NewServer(nil)
		closed.Close()
		if err := forge.SetStatus(t.Context(), status(name, closed.URL)); !fault.Is(err, fault.Transient) {
			t.Errorf("%s: %v is %s", name, err, fault.Of(err))
		}
		hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // only then does the server see that the client is gone
			<-r.Context().Done()
		}))
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if err := forge.SetStatus(ctx, status(name, hanging.URL)); !fault.Is(err, fault.Transient) {
			t.Errorf("%s: %v is %s", name, err, fault.Of(err))
		}
		cancel()
		hanging.Close()
	}
}

// Gitea answers a status of an unknown commit with 500, as it answers its own troubles.
func TestGiteaUnknownCommit(t *testing.T) {
	for known, kind := range map[bool]fault.Kind{false: fault.Invalid, true: fault.Transient} {
		url := server(t, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == http.MethodPost:
				w.WriteHeader(http.StatusInternalServerError)
			case known:
				_, _ = fmt.Fprint(w, `{"sha": "x"}`)
			default:
				w.WriteHeader(http.StatusNotFound)
			}
		})
		if err := forge.SetStatus(t.Context(), status("gitea", url)); !fault.Is(err, kind) {
			t.Errorf("known %t: %v is %s, expected %s", known, err, fault.Of(err), kind)
		}
	}
}

func TestGitLabStatusThatIsSetAlready(t *testing.T) {
	url := server(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprint(w, `{"message": "Cannot transition status via :enqueue from :pending (Reason(s): Status cannot transition)"}`)
	})
	if err := forge.SetStatus(t.Context(), status("gitlab", url)); err != nil {
		t.Error(err)
	}
}

func TestStatusRequestsThatAreRefused(t *testing.T) {
	for name, edit := range map[string]func(*forge.StatusRequest){
		"forge":    func(s *forge.StatusRequest) { s.Forge = "sourcehut" },
		"scheme":   func(s *forge.StatusRequest) { s.BaseURL = "file:///x" },
		"secret":   func(s *forge.StatusRequest) { s.BaseURL = "http://u:t0ken@h/" },
		"repo":     func(s *forge.StatusRequest) { s.Repo = "../../admin" },
		"one name": func(s *forge.StatusRequest) { s.Repo = "widget" },
		"commit":   func(s *forge.StatusRequest) { s.Commit = "master" },
		"context":  func(s *forge.StatusRequest) { s.Context = "" },
	} {
		s := status("gitea", "http://127.0.0.1:1")
		edit(&s)
		if err := forge.SetStatus(t.Context(), s); !fault.Is(err, fault.Invalid) || strings.Contains(err.Error(), "t0ken") {
			t.Errorf("%s: %v is %s", name, err, fault.Of(err))
		}
	}
}
