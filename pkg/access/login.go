package access

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/sluiceci/sluice/pkg/edge"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
)

// person is whom a login shows.
type person struct {
	subject string // unique among those of the method: "oidc:4711"
	name    string // for people
	groups  []string
	grants  []Grant // that the method itself gives: permissions on a forge
}

// method is one way to sign in with somebody else's word: an OIDC provider, a forge.
type method interface {
	// config is what the authorization code flow needs.
	config(ctx context.Context, callback string) (*oauth2.Config, error)
	// who is whom the answer of the token endpoint shows.
	who(ctx context.Context, c *oauth2.Config, t *oauth2.Token, nonce string) (person, error)
}

// login signs people in and out.
type login struct {
	gate    *Gate
	methods map[string]method
	secure  bool
	page    *template.Template
}

//go:embed login.html
var loginPage string

func newLogin(g *Gate) (*login, error) {
	u, err := url.Parse(g.o.PublicURL)
	if err != nil {
		return nil, fault.New(fault.Invalid, "cannot use public_url %q: %w", g.o.PublicURL, err)
	}
	l := &login{gate: g, methods: map[string]method{}, secure: u.Scheme == "https"}
	if c := g.o.Config.OIDC; c != nil {
		l.methods["oidc"] = newOIDC(*c, g.o.Secret)
	}
	if c := g.o.Config.Forge; c != nil {
		m, err := newForge(*c, g.o.Secret, g.o.Projects)
		if err != nil {
			return nil, err
		}
		l.methods[c.Kind] = m
	}
	l.page, err = template.New("login").Parse(loginPage)
	return l, err
}

// Route is a route of the gate itself.
type Route struct {
	Pattern string
	Rule    Rule
	Handler http.Handler
}

// Routes are the login and the logout. One service serves them for all.
func (g *Gate) Routes() []Route {
	if g == nil {
		return nil // the services are made to be looked at only
	}
	l := g.login
	handle := func(do func(http.ResponseWriter, *http.Request) error) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "no-store")
			if err := do(w, r); err != nil {
				g.o.Log.Info("cannot sign in", "err", err, "from", edge.Peer(r))
				l.draw(w, r, err)
			}
		})
	}
	return []Route{
		{"GET /login", Open(), handle(func(w http.ResponseWriter, r *http.Request) error { l.draw(w, r, nil); return nil })},
		{"POST /login", Open(), handle(l.withToken)},
		{"GET /login/{method}", Open(), handle(l.begin)},
		{"GET /login/{method}/callback", Open(), handle(l.finish)},
		{"POST /logout", Open(), handle(l.out)},
	}
}

func (l *login) cookieName() string { return l.named("sluice") }

// named is the name of a cookie. Browsers keep others of the domain from setting one whose name begins with __Host-.
func (l *login) named(name string) string {
	if l.secure {
		return "__Host-" + name
	}
	return name
}

func (l *login) cookie(name, value string, age time.Duration) *http.Cookie {
	c := &http.Cookie{
		Name: l.named(name), Value: value, Path: "/", HttpOnly: true, Secure: l.secure, SameSite: http.SameSiteLaxMode, MaxAge: int(age.Seconds()),
	}
	if age <= 0 {
		c.MaxAge = -1
	}
	return c
}

const pagePolicy = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// loginView is what the page of the login shows.
type loginView struct {
	Title, Problem, Next, Who string
	Methods                   []string
	Form                      bool
}

func (l *login) draw(w http.ResponseWriter, r *http.Request, problem error) {
	l.show(w, loginView{Title: "Sign in", Next: here(r.FormValue("next")), Form: true}, problem)
}

// turnAway is the page for a browser whose owner may not see what they asked for: they may be somebody else, too.
func (l *login) turnAway(w http.ResponseWriter, r *http.Request, who string, problem error) {
	v := loginView{Title: "Not with your role", Next: here(r.URL.RequestURI()), Who: who, Form: true}
	if status, _ := edge.Meaning(problem); status == http.StatusNotFound {
		v.Title, v.Form = "There is no such thing", false
	}
	w.Header().Set("Cache-Control", "no-store")
	l.show(w, v, problem)
}

func (l *login) show(w http.ResponseWriter, v loginView, problem error) {
	v.Methods = slices.Sorted(maps.Keys(l.methods))
	status := http.StatusOK
	if problem != nil {
		status, _ = edge.Meaning(problem)
		if v.Problem = problem.Error(); status == http.StatusInternalServerError {
			v.Problem = "cannot sign in: something went wrong here; the log says what"
		}
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", pagePolicy)
	w.WriteHeader(status)
	_ = l.page.Execute(w, v) // the client is gone when this fails
}

// here is a path of this site to go on to, whatever was asked for: a login leads nowhere else.
func here(next string) string {
	u, err := url.Parse(next)
	bad := err != nil || u.Host != "" || u.Scheme != "" || u.User != nil || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//")
	if bad || strings.ContainsAny(next, "\\\r\n\t") || strings.HasPrefix(u.Path, "/login") || len(next) > 1000 {
		return "/"
	}
	return next
}

// attempt is a login that has begun: the browser keeps it in a cookie, which only this site can set or read.
type attempt struct {
	Method, State, Nonce, Verifier, Next string
}

const attemptTime = 10 * time.Minute

func (l *login) begin(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("method")
	config, err := l.config(r.Context(), name)
	if err != nil {
		return err
	}
	a := attempt{name, rand.Text(), rand.Text(), oauth2.GenerateVerifier(), here(r.FormValue("next"))}
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	http.SetCookie(w, l.cookie("sluice-login", base64.RawURLEncoding.EncodeToString(text), attemptTime))
	http.Redirect(w, r, config.AuthCodeURL(a.State, oauth2.S256ChallengeOption(a.Verifier), oauth2.SetAuthURLParam("nonce", a.Nonce)), http.StatusSeeOther)
	return nil
}

func (l *login) config(ctx context.Context, name string) (*oauth2.Config, error) {
	m := l.methods[name]
	if m == nil {
		return nil, &edge.Refusal{Status: http.StatusNotFound, Err: fault.New(fault.Invalid, "cannot sign in with %.40q: this installation does not offer it", name)}
	}
	return m.config(ctx, strings.TrimRight(l.gate.o.PublicURL, "/")+"/login/"+name+"/callback")
}

// loginTimeout is how long a provider may take to answer.
const loginTimeout = 20 * time.Second

func (l *login) finish(w http.ResponseWriter, r *http.Request) error {
	a, err := l.begun(r)
	if err != nil {
		return err
	}
	http.SetCookie(w, l.cookie("sluice-login", "", 0))
	if problem := r.FormValue("error"); problem != "" {
		return edge.Unknown(fault.New(fault.Denied, "cannot sign in: %s answered %.100q", a.Method, problem))
	}
	ctx, cancel := context.WithTimeout(context.WithValue(r.Context(), oauth2.HTTPClient, outward()), loginTimeout)
	defer cancel()
	config, err := l.config(ctx, a.Method)
	if err != nil {
		return err
	}
	token, err := config.Exchange(ctx, r.FormValue("code"), oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return edge.Unknown(fault.New(fault.Denied, "cannot sign in: %s did not take the code", a.Method)) // its words may quote secrets
	}
	p, err := l.methods[a.Method].who(ctx, config, token, a.Nonce)
	if err != nil {
		return unknown(err)
	}
	return l.open(w, r, a.Next, event.TokenCreated{
		Subject: p.subject, Owner: p.name, Method: a.Method, Groups: p.groups, Grants: stored(p.grants),
	})
}

// begun finds the login that an answer belongs to: it was begun in the same browser, a short while ago.
func (l *login) begun(r *http.Request) (attempt, error) {
	var a attempt
	lost := edge.Unknown(fault.New(fault.Denied, "cannot sign in: this login was not begun in this browser, or too long ago; begin again"))
	cookie, err := r.Cookie(l.named("sluice-login"))
	if err != nil {
		return a, lost
	}
	text, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil || json.Unmarshal(text, &a) != nil || a.State == "" || a.State != r.FormValue("state") || a.Method != r.PathValue("method") {
		return a, lost
	}
	return a, nil
}

// withToken opens a session for whoever shows a token, which ends with the token.
func (l *login) withToken(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, 8<<10)
	if err := sameOrigin(r); err != nil {
		return err
	}
	who, err := l.gate.bearer(r.Context(), strings.TrimSpace(r.PostFormValue("token")))
	if err != nil {
		return err
	}
	return l.open(w, r, here(r.PostFormValue("next")), event.TokenCreated{
		Subject: who.Subject, Owner: who.Name, Method: who.Method, Parent: who.Token, Grants: stored(who.Grants),
	})
}

// open stores a session and gives its cookie. The session before, if there is one, ends.
func (l *login) open(w http.ResponseWriter, r *http.Request, next string, t event.TokenCreated) error {
	if err := l.end(r); err != nil {
		return err
	}
	t.Kind, t.Name, t.By, t.Expires = event.TokenOfSession, "session", t.Owner, l.gate.o.Now().Add(l.gate.o.Config.Session).UTC()
	text, fact := Mint(t)
	actor := event.Actor{Subject: t.Subject, Method: t.Method, Remote: edge.Peer(r)}
	if err := l.gate.say(r.Context(), actor, fact); err != nil {
		return err
	}
	http.SetCookie(w, l.cookie("sluice", text, l.gate.o.Config.Session))
	http.Redirect(w, r, next, http.StatusSeeOther)
	return nil
}

func (l *login) out(w http.ResponseWriter, r *http.Request) error {
	if err := sameOrigin(r); err != nil {
		return err
	}
	if err := l.end(r); err != nil {
		return err
	}
	http.SetCookie(w, l.cookie("sluice", "", 0))
	http.Redirect(w, r, "/login", http.StatusSeeOther)
	return nil
}

// end revokes the session of a request, if it has one that holds.
func (l *login) end(r *http.Request) error {
	cookie, err := r.Cookie(l.cookieName())
	if err != nil {
		return nil
	}
	t, err := l.gate.ledger.find(r.Context(), cookie.Value)
	if fault.Is(err, fault.Denied) {
		return nil
	}
	if err != nil {
		return err
	}
	actor := event.Actor{Subject: t.Subject, Method: event.TokenOfSession, Remote: edge.Peer(r)}
	return l.gate.say(r.Context(), actor, event.TokenRevoked{Token: t.Token, By: t.Owner, Reason: "signed out"})
}

// say stores what somebody did.
func (g *Gate) say(ctx context.Context, actor event.Actor, p event.Payload) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	e := event.Root(event.Fleet, g.o.Source, g.o.Now(), p)
	e.Actor = actor
	return g.o.Bus.Publish(ctx, e)
}

// outward is the client with which providers are asked.
func outward() *http.Client { return &http.Client{Timeout: loginTimeout} }
