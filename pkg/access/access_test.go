package access

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// house is a gate on a real bus, before routes that say who came through.
type house struct {
	t    *testing.T
	bus  *bus.Bus
	gate *Gate
	url  string
}

func open(t *testing.T, config Config, more func(*Options)) *house {
	t.Helper()
	server, err := bus.Embed(bus.ServerOptions{Dir: t.TempDir(), NoSync: true})
	must(t, err)
	t.Cleanup(server.Close)
	b, err := server.Connect(t.Context(), bus.Options{})
	must(t, err)
	t.Cleanup(b.Close)
	h := &house{t: t, bus: b}
	mux := http.NewServeMux()
	front := httptest.NewServer(mux)
	t.Cleanup(front.Close)
	h.url = front.URL
	o := Options{
		Config: config, Listen: "127.0.0.1:80", PublicURL: front.URL, Bus: b, Log: slog.New(slog.DiscardHandler), Now: time.Now, Source: "/gateway/test",
		Static: []Static{{Owner: "ada", Secret: "ada"}, {Owner: "bob", Secret: "bob", Role: Developer, Projects: []string{"one"}}},
		Secret: func(name string) (string, error) { return "value-of-" + name, nil },
	}
	if more != nil {
		more(&o)
	}
	h.gate, err = New(o)
	must(t, err)
	who := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i, a := From(r.Context()), Actor(r.Context())
		fmt.Fprintf(w, "%s %s %s %s", i.Subject, i.Name, i.Method, a.Remote)
	})
	for pattern, rule := range map[string]Rule{
		"GET /look": Any(Viewer), "POST /act": Any(Developer), "GET /runs/{run}": To(Viewer), "POST /runs/{run}": To(Developer), "POST /all": Whole(Operator),
	} {
		mux.Handle(pattern, h.gate.Protect(rule, who))
	}
	mux.Handle("GET /stream", h.gate.Protect(Any(Viewer), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})))
	for _, r := range h.gate.Routes() {
		mux.Handle(r.Pattern, h.gate.Protect(r.Rule, r.Handler))
	}
	for _, project := range []string{"one", "two"} {
		change := release.Change{Kind: release.Push, Project: project, Repo: "acme/" + project}
		must(t, b.Publish(t.Context(), event.Root(release.RunID("run-"+project), "/gateway/test", time.Now(), event.ChangeReceived{Change: change})))
	}
	return h
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ask sends a request and returns the status and the body.
func (h *house) ask(client *http.Client, method, path string, header map[string]string) (int, string) {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.t.Context(), method, h.url+path, nil)
	must(h.t, err)
	for k, v := range header {
		r.Header.Set(k, v)
	}
	answer, err := client.Do(r)
	must(h.t, err)
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	must(h.t, err)
	return answer.StatusCode, string(text)
}

func bearer(token string) map[string]string {
	return map[string]string{"Authorization": "Bearer " + token}
}

func (h *house) mint(t event.TokenCreated) (text, id string) {
	h.t.Helper()
	t.Kind = event.TokenOfAPI
	text, fact := Mint(t)
	must(h.t, h.gate.say(h.t.Context(), event.Actor{}, fact))
	return text, fact.Token
}

// TestRolesAreOfProjects: a project in which somebody has no role is not there for them.
func TestRolesAreOfProjects(t *testing.T) {
	t.Parallel()
	h := open(t, Config{Anonymous: &[]string{}}, nil)
	viewer, _ := h.mint(event.TokenCreated{Subject: "gitea:eve", Owner: "eve", Grants: []event.RoleGrant{{Role: "viewer", Projects: []string{"two"}}}})
	for _, c := range []struct {
		token, method, path string
		want                int
	}{
		{"", "GET", "/look", 401},
		{"", "GET", "/runs/run-one", 401},
		{"", "POST", "/act", 401},
		{"x", "GET", "/look", 401},
		{"value-of-ada", "POST", "/all", 200},
		{"value-of-ada", "POST", "/runs/run-two", 200},
		{"value-of-bob", "GET", "/runs/run-one", 200},
		{"value-of-bob", "POST", "/runs/run-one", 200},
		{"value-of-bob", "POST", "/all", 403},
		{"value-of-bob", "GET", "/runs/run-two", 404},
		{"value-of-bob", "POST", "/runs/run-two", 404},
		{"value-of-bob", "GET", "/runs/none", 404},
		{viewer, "GET", "/runs/run-two", 200},
		{viewer, "POST", "/runs/run-two", 403},
		{viewer, "GET", "/runs/run-one", 404},
		{viewer, "POST", "/act", 403},
		{viewer + "x", "GET", "/look", 401},
		{viewer[:len(viewer)-1], "GET", "/look", 401},
		{"slc_none_x", "GET", "/look", 401},
		{"slc_*_x", "GET", "/look", 401},
	} {
		header := map[string]string{}
		if c.token != "" {
			header = bearer(c.token)
		}
		if got, text := h.ask(http.DefaultClient, c.method, c.path, header); got != c.want {
			t.Errorf("%s %s with %.12q: %d %s, want %d", c.method, c.path, c.token, got, text, c.want)
		}
	}
}

// TestOpenToItsOwnMachine: without a word of the installation only direct requests on loopback look without a token, and
// nobody acts without one.
func TestOpenToItsOwnMachine(t *testing.T) {
	t.Parallel()
	h := open(t, Config{}, nil)
	for _, c := range []struct {
		path, method string
		header       map[string]string
		want         int
	}{
		{"/look", "GET", nil, 200}, {"/act", "POST", nil, 401}, {"/look", "GET", map[string]string{"X-Forwarded-For": "203.0.113.9"}, 401},
	} {
		if got, _ := h.ask(http.DefaultClient, c.method, c.path, c.header); got != c.want {
			t.Errorf("%s %s %v: %d, want %d", c.method, c.path, c.header, got, c.want)
		}
	}
	for _, listen := range []string{"0.0.0.0:80", "10.0.0.7:80", "[::]:80", "nonsense"} {
		if projects, _ := (Config{}).public(listen, "http://127.0.0.1", false); projects != nil {
			t.Errorf("a listener at %s is open to read", listen)
		}
	}
	if projects, _ := (Config{}).public("127.0.0.1:80", "https://sluice.example", false); projects != nil {
		t.Error("a public URL is open to read")
	}
	if projects, _ := (Config{}).public("127.0.0.1:80", "http://127.0.0.1", true); projects != nil {
		t.Error("a machine that runs strangers' code is open to what runs there")
	}
}

// TestRevocationHoldsAtOnce: for the next request, on every process, and for a stream that goes on.
func TestRevocationHoldsAtOnce(t *testing.T) {
	t.Parallel()
	h := open(t, Config{}, nil)
	other, err := New(h.gate.o) // another process on the same stream
	must(t, err)
	token, id := h.mint(event.TokenCreated{Subject: "gitea:eve", Owner: "eve", Grants: []event.RoleGrant{{Role: "operator", Projects: []string{"*"}}}})
	if got, text := h.ask(http.DefaultClient, "POST", "/all", bearer(token)); got != 200 || !strings.HasPrefix(text, "gitea:eve eve token 127.0.0.1") {
		t.Fatalf("a new token: %d %s", got, text)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.url+"/stream", nil)
	must(t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	stream, err := http.DefaultClient.Do(r)
	must(t, err)
	defer func() { _ = stream.Body.Close() }()
	must(t, h.gate.say(t.Context(), event.Actor{}, event.TokenRevoked{Token: id, By: "ada"}))
	if got, _ := h.ask(http.DefaultClient, "POST", "/all", bearer(token)); got != 401 {
		t.Errorf("a revoked token: %d", got)
	}
	if _, err := other.bearer(t.Context(), token); !fault.Is(err, fault.Denied) {
		t.Errorf("a revoked token elsewhere: %v", err)
	}
	if _, err := io.Copy(io.Discard, stream.Body); err != nil { // ends, or the test times out
		t.Errorf("the stream of a revoked token ended with %v", err)
	}
	expired, _ := h.mint(event.TokenCreated{Subject: "gitea:eve", Owner: "eve", Expires: time.Now().Add(-time.Second), Grants: []event.RoleGrant{{Role: "operator", Projects: []string{"*"}}}})
	if got, text := h.ask(http.DefaultClient, "POST", "/all", bearer(expired)); got != 401 || !strings.Contains(text, "expired") {
		t.Errorf("an expired token: %d %s", got, text)
	}
}

// TestNobodyGivesMoreThanTheyHave holds Covers to the roles.
func TestNobodyGivesMoreThanTheyHave(t *testing.T) {
	t.Parallel()
	who := Identity{Grants: []Grant{{Maintainer, []string{"one"}}, {Developer, []string{"lib-*"}}}}
	for _, c := range []struct {
		grant Grant
		want  bool
	}{
		{Grant{Maintainer, []string{"one"}}, true},
		{Grant{Viewer, []string{"one", "lib-a"}}, true},
		{Grant{Developer, []string{"lib-*"}}, true},
		{Grant{Operator, []string{"one"}}, false},
		{Grant{Viewer, []string{"*"}}, false},
		{Grant{Viewer, []string{"two"}}, false},
		{Grant{Maintainer, []string{"lib-a"}}, false},
		{Grant{Viewer, []string{"lib*"}}, false},
		{Grant{Viewer, []string{"on?"}}, false},
		{Grant{Viewer, []string{"one", "two"}}, false},
		{Grant{Developer, []string{`lib-\a`}}, false}, // as a pattern it is another name than as a text
	} {
		if got := who.Covers(c.grant); got != c.want {
			t.Errorf("may give %v: %v, want %v", c.grant, got, c.want)
		}
	}
}

// provider is a small OIDC provider that speaks the real protocol: discovery, code, PKCE, signed tokens, published keys.
type provider struct {
	url       string
	key       *rsa.PrivateKey
	challenge string
	nonce     string
	claims    map[string]any
	audience  string
	forge     func(token string) string // what an attacker makes of the token; nil leaves it
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	p := &provider{key: key, audience: "sluice"}
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	p.url = server.URL
	answer := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{
			"issuer": p.url, "authorization_endpoint": p.url + "/auth", "token_endpoint": p.url + "/token", "jwks_uri": p.url + "/keys",
			"id_token_signing_alg_values_supported": []string{"RS256"},
		})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k", Algorithm: "RS256", Use: "sig"}}})
	})
	mux.HandleFunc("GET /auth", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		p.challenge, p.nonce = q.Get("code_challenge"), q.Get("nonce")
		if q.Get("code_challenge_method") != "S256" || q.Get("client_id") != "sluice" || p.nonce == "" {
			http.Error(w, "no PKCE, client or nonce", http.StatusBadRequest)
			return
		}
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {"the-code"}, "state": {q.Get("state")}}.Encode(), http.StatusSeeOther)
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		id, secret, _ := r.BasicAuth()
		if base64.RawURLEncoding.EncodeToString(sum[:]) != p.challenge || r.FormValue("code") != "the-code" || id != "sluice" || secret != "value-of-oidc" {
			http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
			return
		}
		answer(w, map[string]any{"access_token": "a", "token_type": "Bearer", "id_token": p.sign(t)})
	})
	return p
}

func (p *provider) sign(t *testing.T) string {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: p.key}, (&jose.SignerOptions{}).WithHeader("kid", "k"))
	must(t, err)
	claims := map[string]any{"iss": p.url, "aud": p.audience, "sub": "4711", "nonce": p.nonce, "iat": time.Now().Unix(), "exp": time.Now().Add(time.Minute).Unix()}
	for k, v := range p.claims {
		claims[k] = v
	}
	text, err := jwt.Signed(signer).Claims(claims).Serialize()
	must(t, err)
	if p.forge != nil {
		return p.forge(text)
	}
	return text
}

// unsigned is a token with the same claims and no signature.
func unsigned(t *testing.T, token string) string {
	t.Helper()
	claims := strings.Split(token, ".")[1]
	return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + claims + "."
}

// symmetric is a token with the same claims, signed with the published key as if it were a secret.
func symmetric(t *testing.T, p *provider, token string) string {
	t.Helper()
	public, err := x509.MarshalPKIXPublicKey(p.key.Public())
	must(t, err)
	body := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","kid":"k","typ":"JWT"}`)) + "." + strings.Split(token, ".")[1]
	mac := hmac.New(sha256.New, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))
	_, _ = mac.Write([]byte(body))
	return body + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func browser(t *testing.T) *http.Client {
	jar, err := cookiejar.New(nil)
	must(t, err)
	return &http.Client{Jar: jar}
}

// TestSignInWithOIDC goes the whole way: code, PKCE, session, CSRF, logout.
func TestSignInWithOIDC(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	p.claims = map[string]any{"email": "ada@example.org", "email_verified": true, "groups": []string{"platform"}}
	config := Config{
		OIDC:  &OIDC{Issuer: p.url, ClientID: "sluice", ClientSecret: "oidc"},
		Roles: []RoleOf{{Grant: Grant{Role: Developer, Projects: []string{"one"}}, Groups: []string{"platform"}}},
	}
	h := open(t, config, nil)
	b := browser(t)
	if got, text := h.ask(b, "GET", "/login/oidc?next=/look", nil); got != 200 || !strings.HasPrefix(text, "oidc:4711 ada@example.org session 127.0.0.1") {
		t.Fatalf("after the login: %d %s", got, text)
	}
	u, _ := url.Parse(h.url)
	session := b.Jar.Cookies(u)[slices.IndexFunc(b.Jar.Cookies(u), func(c *http.Cookie) bool { return c.Name == "sluice" })].Value
	for _, c := range []struct {
		method, path, site string
		want               int
	}{
		{"POST", "/act", "same-origin", 200},
		{"POST", "/act", "cross-site", 403},
		{"POST", "/act", "same-site", 403},
		{"POST", "/act", "", 403},
		{"GET", "/runs/run-one", "", 200},
		{"GET", "/runs/run-two", "", 404},
		{"POST", "/all", "same-origin", 403},
	} {
		if got, text := h.ask(b, c.method, c.path, map[string]string{"Sec-Fetch-Site": c.site}); got != c.want {
			t.Errorf("%s %s from %q: %d %s, want %d", c.method, c.path, c.site, got, text, c.want)
		}
	}
	if got, _ := h.ask(http.DefaultClient, "GET", "/look", bearer(session)); got != 401 {
		t.Errorf("a session shown as a token: %d", got)
	}
	h.ask(b, "POST", "/logout", map[string]string{"Sec-Fetch-Site": "same-origin"})
	if got, _ := h.ask(http.DefaultClient, "GET", "/look", map[string]string{"Cookie": "sluice=" + session}); got != 401 {
		t.Errorf("a session after the logout: %d", got)
	}
}

// TestLoginsThatDoNotHold are refused: another browser's, another audience's, another login's, an address nobody verified.
func TestLoginsThatDoNotHold(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	h := open(t, Config{OIDC: &OIDC{Issuer: p.url, ClientID: "sluice", ClientSecret: "oidc"}}, nil)
	if got, _ := h.ask(browser(t), "GET", "/login/oidc/callback?code=the-code&state=x", nil); got != 401 {
		t.Errorf("a login that was not begun: %d", got)
	}
	for name, claims := range map[string]map[string]any{
		"nonce": {"nonce": "another"}, "audience": {"aud": "another"}, "issuer": {"iss": "https://attacker.example"}, "expired": {"exp": time.Now().Add(-time.Hour).Unix()},
	} {
		p.claims = claims
		if got, text := h.ask(browser(t), "GET", "/login/oidc?next=/look", nil); got != 401 {
			t.Errorf("a wrong %s: %d %s", name, got, text)
		}
	}
	p.claims = map[string]any{"email": "ada@example.org"}
	_, text := h.ask(browser(t), "GET", "/login/oidc", nil)
	if strings.Contains(text, "ada@example.org") {
		t.Error("an address that is not verified is somebody's name")
	}
	for next, want := range map[string]string{"/runs?x=1": "/runs?x=1", "//evil.example": "/", "https://evil.example": "/", `/\evil.example`: "/", "": "/", "/login": "/", "/a\r\nb": "/"} {
		if got := here(next); got != want {
			t.Errorf("next %q leads to %q, want %q", next, got, want)
		}
	}
}
