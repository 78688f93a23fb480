package access

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/edge"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
)

// Options are what a gate is made from.
type Options struct {
	Config    Config
	Static    []Static
	Listen    string // address of the listener
	PublicURL string
	Secret    func(name string) (string, error)
	Bus       *bus.Bus
	Log       *slog.Logger
	Now       func() time.Time
	Source    string // of the events that it says
	Projects  []ForgeProject
	Strangers bool // code of untrusted changes may run on this machine, and reach this process over loopback
	Mute      bool // it does not store that a token was used: the identity of a pool may not
}

// Gate stands before every route: it finds out who asks, and lets through who may.
type Gate struct {
	o       Options
	ledger  *ledger
	runs    *runs
	public  []string
	ownOnly bool // public to this machine only
	login   *login
}

// New makes a gate. What it needs of an OIDC provider it asks when somebody signs in.
func New(o Options) (*Gate, error) {
	if err := o.Config.check(o.PublicURL); err != nil {
		return nil, err
	}
	if o.Config.Session <= 0 {
		o.Config.Session = 12 * time.Hour
	}
	g := &Gate{o: o, ledger: &ledger{bus: o.Bus, now: o.Now, mute: o.Mute}, runs: &runs{bus: o.Bus}}
	g.public, g.ownOnly = o.Config.public(o.Listen, o.PublicURL, o.Strangers)
	var err error
	g.login, err = newLogin(g)
	return g, err
}

// recheck is how soon a stream of events ends whose token or session has.
const recheck = 5 * time.Second

// Protect puts the gate before a handler.
func (g *Gate) Protect(rule Rule, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := Identity{}
		err := error(nil)
		if rule.Where != Public {
			who, err = g.who(r)
			if err == nil {
				err = g.allow(r, who, rule)
			}
		}
		if err != nil {
			g.refuse(w, r, who, err)
			return
		}
		ctx, cancel := context.WithCancel(With(r.Context(), who, edge.Peer(r)))
		defer cancel()
		if !who.Anonymous() && safe(r.Method) {
			stop := g.watch(r.WithContext(ctx), who, rule, cancel)
			defer stop()
		}
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// watch ends a request that goes on when its sender would not be let through again, or not as the same.
func (g *Gate) watch(r *http.Request, was Identity, rule Rule, cancel func()) (stop func()) {
	var again func()
	again = func() {
		if r.Context().Err() != nil {
			return
		}
		now, err := g.who(r)
		if err == nil {
			err = g.allow(r, now, rule)
		}
		same := now.Subject == was.Subject && now.Token == was.Token && reflect.DeepEqual(now.Grants, was.Grants)
		if err == nil && !same || err != nil && !fault.Is(err, fault.Transient) && !fault.Is(err, fault.Internal) {
			cancel()
			return
		}
		time.AfterFunc(recheck, again)
	}
	first := time.AfterFunc(recheck, again)
	return func() { first.Stop() }
}

// Sees reports whether the sender of a request may look at what concerns the whole installation. It decides nothing else: it is
// for answers that everybody gets, with more or less in them.
func (g *Gate) Sees(r *http.Request) bool {
	who, err := g.who(r)
	return err == nil && who.In(All) >= Viewer
}

// who finds out who asks. A token or a session that is worth nothing is refused, never taken for nobody's.
func (g *Gate) who(r *http.Request) (Identity, error) {
	who, err := g.shown(r)
	if !g.ownOnly {
		who.Public = g.public // whoever signs in sees what anybody sees
	}
	return who, err
}

func (g *Gate) shown(r *http.Request) (Identity, error) {
	if header := r.Header.Get("Authorization"); header != "" {
		scheme, shown, _ := strings.Cut(header, " ")
		if !strings.EqualFold(scheme, "Bearer") || shown == "" {
			return Identity{}, edge.Unknown(fault.New(fault.Denied, "cannot act without a token: expected the header \"Authorization: Bearer TOKEN\""))
		}
		return g.bearer(r.Context(), shown)
	}
	if cookie, err := r.Cookie(g.login.cookieName()); err == nil && cookie.Value != "" {
		who, err := g.session(r.Context(), cookie.Value)
		if err == nil || !fault.Is(err, fault.Denied) || !safe(r.Method) {
			return who, err
		}
		return g.nobody(r), nil // whose session has ended looks as anybody does
	}
	return g.nobody(r), nil
}

// nobody is who shows nothing.
func (g *Gate) nobody(r *http.Request) Identity {
	if len(g.public) == 0 || g.ownOnly && !edge.Direct(r) {
		return Identity{}
	}
	return Identity{Public: g.public}
}

// bearer is who shows a token.
func (g *Gate) bearer(ctx context.Context, text string) (Identity, error) {
	if _, ours := idOf(text); ours {
		t, err := g.ledger.find(ctx, text)
		if err == nil && t.Kind != event.TokenOfAPI {
			err = unknownToken()
		}
		if err != nil {
			return Identity{}, unknown(err)
		}
		who, err := g.identity(ctx, t)
		if err == nil {
			g.ledger.note(ctx, g.o.Source, t.Token)
		}
		return who, unknown(err)
	}
	s, err := g.static(text)
	if err != nil {
		return Identity{}, err
	}
	return s.identity(), nil
}

// unknown makes 401 of what is denied to a token: it shows nobody.
func unknown(err error) error {
	if fault.Is(err, fault.Denied) {
		return edge.Unknown(err)
	}
	return err
}

// session is who shows a session's cookie. The roles that the installation's file gives are those of now.
func (g *Gate) session(ctx context.Context, text string) (Identity, error) {
	t, err := g.ledger.find(ctx, text)
	if err == nil && t.Kind != event.TokenOfSession {
		err = unknownToken()
	}
	if err != nil {
		return Identity{}, unknown(err)
	}
	who, err := g.identity(ctx, t)
	who.Cookie = true
	if t.Parent == "" && err == nil {
		who.Grants = append(who.Grants, g.o.Config.granted(t.Subject, t.Method+":"+t.Owner, t.Groups)...)
	}
	return who, unknown(err)
}

func safe(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// allow is the decision: may this identity do what the rule is of?
func (g *Gate) allow(r *http.Request, who Identity, rule Rule) error {
	if !safe(r.Method) {
		if err := g.act(r, who); err != nil {
			return err
		}
	}
	role, err := g.role(r, who, rule)
	switch {
	case err != nil:
		return err
	case role >= rule.needed():
		return nil
	case who.Anonymous():
		return edge.Unknown(fault.New(fault.Denied, "cannot show this to nobody: expected the header \"Authorization: Bearer TOKEN\", or a session"))
	case rule.Where == OfRun && role < Viewer:
		return missingRun(r)
	default:
		return fault.New(fault.Denied, "cannot do this as %s with role %s: it needs %s", who.Name, role, rule)
	}
}

// act checks what every change needs: somebody known, and, where a browser shows who it is by itself, that a page of ours asks.
func (g *Gate) act(r *http.Request, who Identity) error {
	if who.Anonymous() {
		return edge.Unknown(fault.New(fault.Denied, "cannot act without a token: expected the header \"Authorization: Bearer TOKEN\""))
	}
	if !who.Cookie {
		return nil
	}
	return sameOrigin(r)
}

// sameOrigin refuses a request that a page of another site made. Browsers say where a request comes from; a request that
// shows a cookie and says nothing is refused too.
func sameOrigin(r *http.Request) error {
	silent := r.Header.Get("Sec-Fetch-Site") == "" && r.Header.Get("Origin") == ""
	if err := http.NewCrossOriginProtection().Check(r); err != nil || silent {
		return fault.New(fault.Denied, "cannot act with a session from another site's page: open the page here, or use a token")
	}
	return nil
}

func (g *Gate) role(r *http.Request, who Identity, rule Rule) (Role, error) {
	switch rule.Where {
	case OfRun:
		whole := who.In(All)
		if r.PathValue("run") == string(event.Fleet) && whole < Maintainer {
			return None, nil // the facts of no run tell who signed in, and in which groups they are
		}
		if whole >= rule.needed() {
			return whole, nil // whoever may everywhere need not be told where
		}
		project, err := g.runs.project(r.Context(), r.PathValue("run"))
		if err != nil || project == "" {
			return who.In(All), err
		}
		return who.In(project), nil
	case Somewhere:
		return who.Best(), nil
	default:
		return who.In(All), nil
	}
}

func missingRun(r *http.Request) error {
	return &edge.Refusal{Status: http.StatusNotFound, Err: fault.New(fault.Invalid,
		"cannot find run %.60q; sluice runs lists those that you may see", r.PathValue("run"))}
}

// refuse answers who may not. A browser that may sign in is led there.
func (g *Gate) refuse(w http.ResponseWriter, r *http.Request, who Identity, err error) {
	status, _ := edge.Meaning(err)
	if status >= http.StatusInternalServerError {
		g.o.Log.Error("cannot decide about a request", "path", r.URL.Path, "err", err)
	} else {
		g.o.Log.Info("refused a request", "path", r.URL.Path, "err", err, "status", status, "from", edge.Peer(r))
	}
	page := r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html") && !strings.HasPrefix(r.URL.Path, "/api/")
	if page && status == http.StatusUnauthorized {
		http.Redirect(w, r, "/login?next="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
		return
	}
	if page && (status == http.StatusForbidden || status == http.StatusNotFound) {
		g.login.turnAway(w, r, who.Name, err)
		return
	}
	edge.Refuse(w, err)
}
