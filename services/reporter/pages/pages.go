package pages

import (
	"bytes"
	"errors"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/sluiceci/sluice/pkg/access"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/service"
	"github.com/sluiceci/sluice/services/reporter/chart"
	"github.com/sluiceci/sluice/services/reporter/live"
	"github.com/sluiceci/sluice/services/reporter/view"
)

// Deps is what the pages are made from.
type Deps struct {
	Source *view.Source
	Logs   *live.Logs
	Hub    *live.Hub
	Bus    *bus.Bus
	Book   *chart.Book
	Log    *slog.Logger
	Now    func() time.Time
}

type pages struct {
	Deps
	templates map[string]*template.Template
}

// Endpoints is the table of pages.
func Endpoints(deps Deps) []service.Endpoint {
	p := &pages{Deps: deps, templates: parse()}
	out := []service.Endpoint{{Pattern: "GET /static/{file}", Rule: access.Open(), Handler: static()}}
	for _, e := range []struct {
		pattern string
		rule    access.Rule
		answer  func(http.ResponseWriter, *http.Request) error
	}{
		{"/{$}", access.Any(access.Viewer), p.runs},
		{"/live", access.Any(access.Viewer), p.runsLive},
		{"/runs/{run}", access.To(access.Viewer), p.run},
		{"/runs/{run}/live", access.To(access.Viewer), p.runLive},
		{"/runs/{run}/events", access.To(access.Viewer), p.events},
		{"/runs/{run}/artifacts", access.To(access.Viewer), p.artifacts},
		{"/runs/{run}/tasks/{task}", access.To(access.Viewer), p.task},
		{"/runs/{run}/tasks/{task}/live", access.To(access.Viewer), p.taskLive},
		{"/runs/{run}/tasks/{task}/log", access.To(access.Viewer), p.logLive},
		{"/tests", access.Any(access.Viewer), p.tests},
		{"/tests/{test}", access.Any(access.Viewer), p.test},
		{"/pools", access.Whole(access.Viewer), p.pools},
		{"/streams", access.Whole(access.Viewer), p.streams},
		{"/audit", access.Any(access.Maintainer), p.audit},
	} {
		out = append(out, service.Endpoint{Pattern: "GET " + e.pattern, Rule: e.rule, Handler: p.handle(e.answer)})
	}
	return out
}

// policy lets a page load its own files and speak with its own server, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';" +
	" form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

func (p *pages) handle(answer func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		w = &asked{w, access.From(r.Context()), r.URL.RequestURI()}
		err := answer(w, r)
		if err == nil || r.Context().Err() != nil {
			return
		}
		if fault.Of(err) == fault.Internal {
			p.Log.Error("cannot draw a page", "path", r.URL.Path, "err", err)
		}
		if h.Get("Content-Type") == "" { // nothing was sent yet
			p.refuse(w, r, err)
		}
	})
}

// asked is an answer that knows who asked, and for what.
type asked struct {
	http.ResponseWriter
	who access.Identity
	uri string
}

// Unwrap lets http.ResponseController reach the connection.
func (a *asked) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// sign puts who is signed in into a frame, or where to sign in.
func (a *asked) sign(f *frame) {
	switch {
	case a.who.Cookie:
		f.Who, f.Audit = a.who.Name, a.who.Best() >= access.Maintainer
	case a.who.Anonymous():
		f.SignIn = "/login?" + url.Values{"next": {a.uri}}.Encode()
	}
}

// frame is what every page has.
type frame struct {
	Title   string
	Section string // of the navigation
	Command string // of the CLI, that shows the same
	Who     string // is signed in, with a session that can be ended here
	Audit   bool   // they may read it
	SignIn  string // address of the login, for whoever is not signed in
	Page    any
}

// draw writes a page at once: a template that fails leaves no half page.
func (p *pages) draw(w http.ResponseWriter, status int, name string, f frame) error {
	var b bytes.Buffer
	if a, ok := w.(*asked); ok {
		a.sign(&f)
	}
	if err := p.templates[name].ExecuteTemplate(&b, "base", f); err != nil {
		return fault.New(fault.Internal, "cannot draw page %s: %w", name, err)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, err := w.Write(b.Bytes())
	return err
}

// part draws one part of a page, for those who watch it.
func (p *pages) part(page, name string, data any) (string, error) {
	var b bytes.Buffer
	if err := p.templates[page].ExecuteTemplate(&b, name, data); err != nil {
		return "", fault.New(fault.Internal, "cannot draw %s of page %s: %w", name, page, err)
	}
	return b.String(), nil
}

func (p *pages) refuse(w http.ResponseWriter, r *http.Request, err error) {
	status, title := http.StatusInternalServerError, "This page cannot be drawn"
	switch {
	case view.IsMissing(err) || errors.Is(err, fs.ErrNotExist):
		status, title = http.StatusNotFound, "There is no such thing"
	case fault.Is(err, fault.Invalid):
		status, title = http.StatusBadRequest, "This address cannot be read"
	case fault.Is(err, fault.Transient):
		status, title = http.StatusServiceUnavailable, "Not available just now"
	}
	page := struct{ Title, Message, Path string }{title, err.Error(), r.URL.Path}
	if err := p.draw(w, status, "error", frame{Title: title, Page: page}); err != nil {
		p.Log.Error("cannot draw the page of an error", "err", err)
	}
}

func runOf(r *http.Request) (release.RunID, error) {
	if id := r.PathValue("run"); release.Token(id) {
		return release.RunID(id), nil
	}
	return "", view.Missing("this run", "a run's name has letters, digits, - and _")
}

func taskOf(r *http.Request) (release.RunID, release.TaskID, error) {
	run, err := runOf(r)
	if id := r.PathValue("task"); err == nil && release.Token(id) {
		return run, release.TaskID(id), nil
	}
	return "", "", view.Missing("this task", "a task's name has letters, digits, - and _")
}
