package forge_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/forge"
	"github.com/sluiceci/sluice/pkg/forge/forgetest"
	"github.com/sluiceci/sluice/pkg/release"
)

func api(t *testing.T, name string) (*forgetest.Forge, forge.API) {
	t.Helper()
	f, stop := forgetest.Start("acme/widget")
	t.Cleanup(stop)
	return f, forge.API{Forge: name, BaseURL: f.URL, Token: forgetest.Token, Repo: "acme/widget"}
}

func TestPullsAsEachForgeTellsThem(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"github", "gitea", "gitlab"} {
		f, a := api(t, name)
		f.Put(forgetest.Pull{Number: 7, Head: head, Branch: "better", From: "acme/widget", Into: "master", Author: "dev"})
		f.Put(forgetest.Pull{Number: 8, Head: head, Branch: "better", From: "eve/widget", Into: "master", Closed: true})
		f.Put(forgetest.Pull{Number: 9, Head: "x", Branch: "better", From: "acme/widget", Into: "master"})
		f.Put(forgetest.Pull{Number: 10, Head: head, Branch: "a b", From: "acme/widget", Into: "master"})
		own, err := a.Pull(t.Context(), 7)
		if err != nil {
			t.Fatal(name, err)
		}
		c := own.Change
		if !own.Open || c.Fork || c.Commit != head || c.Branch != "master" || c.HeadRef != "better" || c.Number != 7 ||
			c.Kind != release.PullRequest || !strings.HasSuffix(c.Ref, "/7/head") || c.Title != "Add feature" || c.Author != "dev" {
			t.Errorf("%s: %+v", name, own)
		}
		if fork, err := a.Pull(t.Context(), 8); err != nil || fork.Open || !fork.Change.Fork {
			t.Errorf("%s: a closed one of a fork is %+v, %v", name, fork, err)
		}
		for number, kind := range map[int32]fault.Kind{9: fault.Invalid, 10: fault.Invalid, 11: fault.Invalid} {
			if _, err := a.Pull(t.Context(), number); !fault.Is(err, kind) {
				t.Errorf("%s: pull request %d gives %v, expected an error of kind %s", name, number, err, kind)
			}
		}
	}
}

func TestPermissionsAsEachForgeTellsThem(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"github", "gitea", "gitlab"} {
		f, a := api(t, name)
		want := map[string]string{"admin": "admin", "maintain": "admin", "write": "write", "read": "read", "": ""}
		for permission, expected := range want {
			f.Allow("ada", permission)
			f.Allow("5", permission)
			if got, err := a.Permission(t.Context(), "ada", 5); err != nil || got != expected {
				t.Errorf("%s: %q is %q, expected %q; %v", name, permission, got, expected, err)
			}
		}
		for _, login := range []string{"", "../x", "a/b", ".."} {
			if _, err := a.Permission(t.Context(), login, 0); !fault.Is(err, fault.Invalid) {
				t.Errorf("%s: %q gives %v", name, login, err)
			}
		}
	}
}

// TestAnswersArePostedOnce shows that an answer that is posted again, whatever was said meanwhile, stands there once.
func TestAnswersArePostedOnce(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"github", "gitea", "gitlab"} {
		f, a := api(t, name)
		f.Put(forgetest.Pull{Number: 7, Head: head, Branch: "better", From: "acme/widget", Into: "master"})
		for i := range 45 {
			f.Say(7, fmt.Sprint("talk ", i))
		}
		for range 3 {
			if err := a.PostAnswer(t.Context(), 7, "k1", "Done.\n"); err != nil {
				t.Fatal(name, err)
			}
		}
		if err := a.PostAnswer(t.Context(), 7, "k2", "Done.\n"); err != nil {
			t.Fatal(name, err)
		}
		all := f.Comments(7)
		if len(all) != 47 || all[45] != "Done.\n\n<!-- sluice:answer k1 -->" || !strings.Contains(all[46], "k2") {
			t.Errorf("%s: %d comments, the last are %q", name, len(all), all[45:])
		}
		if err := a.PostAnswer(t.Context(), 8, "k1", "x"); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: an answer on no pull request gives %v", name, err)
		}
		want := map[string]string{
			"github": "POST /repos/acme/widget/issues/7/comments", "gitea": "POST /api/v1/repos/acme/widget/issues/7/comments",
			"gitlab": "POST /api/v4/projects/acme/widget/merge_requests/7/notes",
		}[name]
		if !slices.Contains(f.Calls(), want) {
			t.Errorf("%s was called at %q, expected %q", name, f.Calls(), want)
		}
	}
}

func TestAPIErrorsHaveKinds(t *testing.T) {
	t.Parallel()
	answers := map[int]fault.Kind{401: fault.Denied, 403: fault.Denied, 429: fault.Transient, 502: fault.Transient, 302: fault.Invalid, 422: fault.Invalid}
	for code, kind := range answers {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = w.Write([]byte(`{"message": "no, t0ken"}`))
		}))
		_, err := forge.API{Forge: "github", BaseURL: server.URL, Token: "t0ken", Repo: "acme/widget"}.Pull(t.Context(), 7)
		server.Close()
		if !fault.Is(err, kind) || strings.Contains(fmt.Sprint(err), "t0ken") || !strings.HasPrefix(fmt.Sprint(err), "cannot ask for pull request 7") {
			t.Errorf("%d gives %v of kind %s, expected %s", code, err, fault.Of(err), kind)
		}
	}
	nowhere := forge.API{Forge: "github", BaseURL: "http://127.0.0.1:1", Token: "t0ken", Repo: "acme/widget"}
	if _, err := nowhere.Permission(t.Context(), "ada", 1); !fault.Is(err, fault.Transient) {
		t.Errorf("a forge that is away gives %v", err)
	}
	for _, a := range []forge.API{{Forge: "github", BaseURL: "x", Repo: "a/b"}, {Forge: "github", BaseURL: "http://x", Repo: "a/../b"}, {Forge: "cvs", BaseURL: "http://x", Repo: "a/b"}} {
		if _, err := a.Pull(t.Context(), 1); !fault.Is(err, fault.Invalid) {
			t.Errorf("%+v gives %v", a, err)
		}
	}
}
