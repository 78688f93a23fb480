package access

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
)

func grants(role string, projects ...string) []event.RoleGrant {
	return []event.RoleGrant{{Role: role, Projects: projects}}
}

// TestNoPatternReachesFurther: a pattern that is taken for a name, where names are compared, must not match another name later.
func TestNoPatternReachesFurther(t *testing.T) {
	t.Parallel()
	for own, project := range map[string]string{"?????": "bank", "[^b]*": "bank"} {
		who := Identity{Grants: []Grant{{Developer, []string{own}}}}
		given := Grant{Developer, []string{`\bank`}}
		if who.In(project) == None && who.Covers(given) && given.covers(project) {
			t.Errorf("whoever has %s gives themselves %s", own, project)
		}
	}
}

// TestTokensEndWithWhatMadeThem: whoever steals a token cannot keep what it could do by making others with it.
func TestTokensEndWithWhatMadeThem(t *testing.T) {
	t.Parallel()
	h := open(t, Config{Anonymous: &[]string{}}, nil)
	all := grants("operator", "*")
	_, first := h.mint(event.TokenCreated{Subject: "gitea:eve", Owner: "eve", Grants: all})
	_, second := h.mint(event.TokenCreated{Subject: "gitea:eve", Owner: "eve", Grants: all, Parent: first})
	third, last := h.mint(event.TokenCreated{Subject: "gitea:eve", Owner: "eve", Grants: all, Parent: second})
	if got, text := h.ask(http.DefaultClient, "POST", "/all", bearer(third)); got != 200 {
		t.Fatalf("while all hold: %d %s", got, text)
	}
	for range MaxDepth {
		_, last = h.mint(event.TokenCreated{Subject: "gitea:eve", Owner: "eve", Grants: all, Parent: last})
	}
	deep, _ := h.mint(event.TokenCreated{Subject: "gitea:eve", Owner: "eve", Grants: all, Parent: last})
	if got, _ := h.ask(http.DefaultClient, "POST", "/all", bearer(deep)); got != 401 {
		t.Errorf("an endless chain: %d", got)
	}
	must(t, h.gate.say(t.Context(), event.Actor{}, event.TokenRevoked{Token: first, By: "ada"}))
	if got, _ := h.ask(http.DefaultClient, "POST", "/all", bearer(third)); got != 401 {
		t.Errorf("the first was revoked, the third answers %d", got)
	}
}

// TestTokensLoseWhatTheFileTakes: a token is worth what its maker has now, not what they had.
func TestTokensLoseWhatTheFileTakes(t *testing.T) {
	t.Parallel()
	h := open(t, Config{Anonymous: &[]string{}, Roles: []RoleOf{{Grant: Grant{Role: Developer}, Groups: []string{"core"}}}}, nil)
	for _, c := range []struct {
		who  string
		made event.TokenCreated
		want int
	}{
		{"a token that stands in the file", event.TokenCreated{Subject: "token:bob", Owner: "bob", Grants: grants("developer", "one")}, 200},
		{"more than stands there", event.TokenCreated{Subject: "token:bob", Owner: "bob", Grants: grants("developer", "*")}, 401},
		{"a token that stands there no more", event.TokenCreated{Subject: "token:carl", Owner: "carl", Grants: grants("developer", "one")}, 401},
		{"a group", event.TokenCreated{Subject: "oidc:1", Owner: "eve", Groups: []string{"core"}, Grants: grants("developer", "one")}, 200},
		{"another group", event.TokenCreated{Subject: "oidc:1", Owner: "eve", Groups: []string{"guests"}, Grants: grants("developer", "one")}, 403},
		{"more than the group has", event.TokenCreated{Subject: "oidc:1", Owner: "eve", Groups: []string{"core"}, Grants: grants("operator", "*")}, 403},
	} {
		token, _ := h.mint(c.made)
		if got, text := h.ask(http.DefaultClient, "POST", "/act", bearer(token)); got != c.want {
			t.Errorf("%s: %d %s, want %d", c.who, got, text, c.want)
		}
	}
}

// TestStreamEndsWithTheTokenAboveIt: a session that was opened with a token shows nothing after the token was revoked.
func TestStreamEndsWithTheTokenAboveIt(t *testing.T) {
	t.Parallel()
	h := open(t, Config{Anonymous: &[]string{}}, nil)
	_, id := h.mint(event.TokenCreated{Subject: "gitea:eve", Owner: "eve", Grants: grants("viewer", "one")})
	session, fact := Mint(event.TokenCreated{Kind: event.TokenOfSession, Subject: "gitea:eve", Owner: "eve", Parent: id, Grants: grants("viewer", "one"), Expires: time.Now().Add(time.Hour)})
	must(t, h.gate.say(t.Context(), event.Actor{}, fact))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.url+"/stream", nil)
	must(t, err)
	r.Header.Set("Cookie", "sluice="+session)
	stream, err := http.DefaultClient.Do(r)
	must(t, err)
	defer func() { _ = stream.Body.Close() }()
	if stream.StatusCode != http.StatusOK {
		t.Fatalf("a session: %d", stream.StatusCode)
	}
	must(t, h.gate.say(t.Context(), event.Actor{}, event.TokenRevoked{Token: id, By: "ada"}))
	if _, err := io.Copy(io.Discard, stream.Body); err != nil { // ends, or the test times out
		t.Errorf("the stream ended with %v", err)
	}
}

// TestWhoeverSignsInSeesWhatNobodySees: public projects are public to people with a role elsewhere too, and not theirs to give.
func TestWhoeverSignsInSeesWhatNobodySees(t *testing.T) {
	t.Parallel()
	h := open(t, Config{Anonymous: &[]string{"two"}}, nil)
	for _, token := range []string{"", "value-of-bob"} {
		header := map[string]string{}
		if token != "" {
			header = bearer(token)
		}
		if got, _ := h.ask(http.DefaultClient, "GET", "/runs/run-two", header); got != 200 {
			t.Errorf("a public project for %q: %d", token, got)
		}
		if got, _ := h.ask(http.DefaultClient, "POST", "/runs/run-two", header); got == 200 {
			t.Errorf("%q acts on a project that is public to look at", token)
		}
	}
	if (Identity{Public: []string{"two"}}).Covers(Grant{Viewer, []string{"two"}}) {
		t.Error("what is public can be given to others, for longer than it is public")
	}
}

// TestFactsOfNoRunAreNotForViewers: they tell who signed in, with which groups, and which tokens there are.
func TestFactsOfNoRunAreNotForViewers(t *testing.T) {
	t.Parallel()
	h := open(t, Config{Anonymous: &[]string{"*"}}, nil)
	viewer, _ := h.mint(event.TokenCreated{Subject: "gitea:eve", Owner: "eve", Grants: grants("viewer", "*")})
	maintainer, _ := h.mint(event.TokenCreated{Subject: "gitea:eve", Owner: "eve", Grants: grants("maintainer", "*")})
	for token, want := range map[string]int{viewer: 404, maintainer: 200} {
		if got, _ := h.ask(http.DefaultClient, "GET", "/runs/-", bearer(token)); got != want {
			t.Errorf("%.8s: %d, want %d", token, got, want)
		}
	}
	if got, _ := h.ask(http.DefaultClient, "GET", "/runs/-", nil); got != 401 {
		t.Errorf("nobody: %d", got)
	}
}

// TestOddPathsMeetTheGate: no spelling of a path, and no method, comes by the gate.
func TestOddPathsMeetTheGate(t *testing.T) {
	t.Parallel()
	h := open(t, Config{Anonymous: &[]string{}}, nil)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for _, path := range []string{"/look", "//look", "/./look", "/%2e/look", "/x/../look", "/look/", "/look%2f", "/%6cook", "/look?x=//", "/runs/run-one", "/runs/%72un-one", "//runs//run-one", "/runs/-", "/runs/%2d", "/runs/run-one%2f..%2frun-one"} {
		for _, method := range []string{"GET", "HEAD", "OPTIONS", "POST", "PUT", "DELETE", "PATCH", "TRACE", "get"} {
			for name, value := range map[string]string{"": "", "X-HTTP-Method-Override": "GET", "X-Original-URL": "/look", "X-Forwarded-For": "127.0.0.1", "X-Forwarded-Proto": "https"} {
				header := map[string]string{}
				if name != "" {
					header[name] = value
				}
				if got, text := h.ask(client, method, path, header); got < 300 {
					t.Errorf("%s %s with %s: %d %s", method, path, name, got, text)
				}
			}
		}
	}
}

// TestProxyIsNotThisMachine: whatever header a proxy adds, its request did not come from here.
func TestProxyIsNotThisMachine(t *testing.T) {
	t.Parallel()
	h := open(t, Config{}, nil)
	for _, name := range []string{"X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Server", "X-Real-Ip", "Forwarded", "Via", "Cf-Connecting-Ip", "True-Client-Ip", "X-Client-Ip", "X-Envoy-External-Address"} {
		if got, _ := h.ask(http.DefaultClient, "GET", "/look", map[string]string{name: "203.0.113.9"}); got != 401 {
			t.Errorf("a request with %s counts as of this machine: %d", name, got)
		}
	}
}

// TestNoForgedSignature: tokens that are signed by nobody, or with the published key as a secret, show nobody.
func TestNoForgedSignature(t *testing.T) {
	t.Parallel()
	for name, forge := range map[string]func(*provider, string) string{
		"none":  func(_ *provider, text string) string { return unsigned(t, text) },
		"HS256": func(p *provider, text string) string { return symmetric(t, p, text) },
	} {
		p := newProvider(t)
		p.forge = func(text string) string { return forge(p, text) }
		h := open(t, Config{OIDC: &OIDC{Issuer: p.url, ClientID: "sluice", ClientSecret: "oidc"}}, nil)
		if got, text := h.ask(browser(t), "GET", "/login/oidc?next=/look", nil); got != 401 || strings.Contains(text, "oidc:4711") {
			t.Errorf("%s: %d %s", name, got, text)
		}
	}
}
