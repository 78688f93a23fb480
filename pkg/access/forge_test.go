package access

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// standIn is a forge as its documentation says that it answers: where people agree, where codes are taken for tokens, who somebody
// is and what they may do in a repository.
type standIn struct {
	kind, authorize, take, api string
	scopes                     string
	repo                       func(name string) string    // path, as a mux sees it
	user                       func(login string) any      // the answer
	may                        func(permission string) any // the answer
}

func standIns() []standIn {
	flags := func(permission string) any {
		return map[string]any{"permissions": map[string]bool{
			"admin": permission == "admin", "push": permission == "admin" || permission == "write", "pull": permission != "none",
		}}
	}
	login := func(name string) any { return map[string]any{"login": name, "id": 7} }
	return []standIn{
		{
			kind: "gitea", authorize: "/login/oauth/authorize", take: "/login/oauth/access_token", api: "/api/v1", scopes: "read:user read:repository",
			repo: func(r string) string { return "/repos/" + r }, user: login, may: flags,
		},
		{
			kind: "github", authorize: "/login/oauth/authorize", take: "/login/oauth/access_token", api: "/api/v3", scopes: "read:user repo",
			repo: func(r string) string { return "/repos/" + r }, user: login, may: flags,
		},
		{
			kind: "gitlab", authorize: "/oauth/authorize", take: "/oauth/token", api: "/api/v4", scopes: "read_api",
			repo: func(r string) string { return "/projects/" + url.PathEscape(r) },
			user: func(name string) any { return map[string]any{"username": name, "name": "Somebody", "id": 7} },
			may: func(permission string) any {
				level := map[string]int{"admin": 40, "write": 30, "read": 20, "none": 0}[permission]
				return map[string]any{"permissions": map[string]any{"project_access": nil, "group_access": map[string]int{"access_level": level}}}
			},
		},
	}
}

// forge is a running stand-in in which ada has a permission in acme/one, and none in acme/two, which she does not see.
func (s standIn) forge(t *testing.T, permission string) string {
	t.Helper()
	var verifier string
	forge := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := func(of any) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(of)
		}
		switch path := r.URL.EscapedPath(); {
		case path == s.authorize:
			q := r.URL.Query()
			if q.Get("response_type") != "code" || q.Get("client_id") != "sluice" || q.Get("scope") != s.scopes || q.Get("code_challenge_method") != "S256" {
				t.Errorf("%s is asked to agree to %v", s.kind, q)
			}
			verifier = q.Get("code_challenge")
			http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {"c0de"}, "state": {q.Get("state")}}.Encode(), http.StatusSeeOther)
		case path == s.take && r.Method == http.MethodPost:
			id, secret, basic := r.BasicAuth()
			if !basic {
				id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
			}
			if r.PostFormValue("code") != "c0de" || id != "sluice" || secret != "value-of-forge" || verifier == "" || r.PostFormValue("code_verifier") == "" {
				http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
				return
			}
			answer(map[string]string{"access_token": "of-ada", "token_type": "bearer"})
		case r.Header.Get("Authorization") != "Bearer of-ada":
			http.Error(w, "no", http.StatusUnauthorized)
		case path == s.api+"/user":
			answer(s.user("ada"))
		case path == s.api+s.repo("acme/one") && permission != "none":
			answer(s.may(permission))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(forge.Close)
	return forge.URL
}

// TestSignInWithForge is the suite of all forges: from the link on the login's page to what somebody may do, by the permission that they
// have in a repository.
func TestSignInWithForge(t *testing.T) {
	t.Parallel()
	for _, s := range standIns() {
		for permission, may := range map[string]struct{ look, start int }{
			"admin": {200, 200}, "write": {200, 200}, "read": {200, 403}, "none": {404, 404},
		} {
			t.Run(s.kind+"/"+permission, func(t *testing.T) {
				t.Parallel()
				forge := s.forge(t, permission)
				h := open(t, Config{Forge: &Forge{Kind: s.kind, BaseURL: forge, ClientID: "sluice", ClientSecret: "forge"}}, func(o *Options) {
					o.Projects = []ForgeProject{{"one", s.kind, "acme/one"}, {"two", s.kind, "acme/two"}}
				})
				b := browser(t)
				got, text := h.ask(b, "GET", "/login/"+s.kind+"?next=/runs/run-one", nil)
				if want := s.kind + ":ada ada session"; got != may.look || got == 200 && !strings.HasPrefix(text, want) {
					t.Fatalf("after the login: %d %s, expected %d %s", got, text, may.look, want)
				}
				own := map[string]string{"Sec-Fetch-Site": "same-origin"}
				if got, text := h.ask(b, "POST", "/runs/run-one", own); got != may.start {
					t.Errorf("starting: %d %s, expected %d", got, text, may.start)
				}
				if got, _ := h.ask(b, "POST", "/runs/run-one", map[string]string{"Sec-Fetch-Site": "cross-site"}); got == 200 {
					t.Error("another site's page acts with the session")
				}
				if got, _ := h.ask(b, "GET", "/runs/run-two", nil); got != 404 {
					t.Errorf("a repository that the forge does not show: %d", got)
				}
				stranger := browser(t)
				_, _ = h.ask(stranger, "GET", "/login/"+s.kind+"/callback?code=c0de&state=forged", nil)
				if got, _ := h.ask(stranger, "GET", "/runs/run-one", nil); got == 200 {
					t.Error("a login that nobody began opens a session")
				}
			})
		}
	}
}

// TestPermissionsAreReadStrictly: what cannot be read grants nothing; of a group's and a project's level the higher one counts.
func TestPermissionsAreReadStrictly(t *testing.T) {
	t.Parallel()
	if got := levels([]byte(`{"permissions":{"project_access":{"access_level":30},"group_access":{"access_level":40}}}`)); got != "admin" {
		t.Errorf("two levels give %q", got)
	}
	for _, text := range []string{"", "null", "{", `{"permissions":null}`, `{"permissions":{"project_access":{"access_level":5}}}`} {
		if a, b := levels([]byte(text)), flags([]byte(text)); a != "" || b != "" {
			t.Errorf("%s gives %q and %q", text, a, b)
		}
	}
}

// TestForgesThatRefuse: a code that the forge does not take opens no session.
func TestForgesThatRefuse(t *testing.T) {
	t.Parallel()
	for _, s := range standIns() {
		forge := s.forge(t, "admin")
		h := open(t, Config{Forge: &Forge{Kind: s.kind, BaseURL: forge, ClientID: "sluice", ClientSecret: "token"}}, func(o *Options) { // another secret
			o.Projects = []ForgeProject{{"one", s.kind, "acme/one"}}
		})
		b := browser(t)
		if _, text := h.ask(b, "GET", "/login/"+s.kind+"?next=/look", nil); strings.Contains(text, "ada") {
			t.Errorf("%s: signed in: %s", s.kind, text)
		}
		if got, _ := h.ask(b, "GET", "/look", nil); got == 200 {
			t.Errorf("%s: there is a session", s.kind)
		}
	}
}
