package gateway

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	httptransport "github.com/go-kit/kit/transport/http"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// request is an action that somebody who may asked for.
type request struct {
	by   string // the token's owner
	id   string // the same id again does nothing new
	path func(name string) string
	body body
}

// body is what the actions read; each reads its own fields.
type body struct {
	Project    string            `json:"project"`
	Branch     string            `json:"branch"`
	Commit     release.Commit    `json:"commit"`
	Parameters map[string]string `json:"parameters"`
	Reason     string            `json:"reason"`
	Note       string            `json:"note"`
	Tasks      []release.TaskID  `json:"tasks"`
	Resume     bool              `json:"resume"`
}

// done answers an action: it is a fact now.
type done struct {
	Run release.RunID `json:"run,omitempty"`
}

// StatusCode: what follows happens later.
func (done) StatusCode() int { return http.StatusAccepted }

// actions is everything that a person can do over HTTP.
func (g *gateway) actions() map[string]func(context.Context, request) (done, error) {
	return map[string]func(context.Context, request) (done, error){
		"POST /api/v1/runs": g.trigger,
		"POST /api/v1/runs/{run}/cancel": g.onRun(func(r request) event.Payload {
			return event.RunCancelRequested{Request: r.id, By: r.by, Reason: r.body.Reason}
		}),
		"POST /api/v1/runs/{run}/retry": g.retry,
		"POST /api/v1/runs/{run}/approve": g.onRun(func(r request) event.Payload {
			return event.GateApproved{By: r.by, Note: r.body.Note}
		}),
		"POST /api/v1/runs/{run}/hold": g.onRun(func(r request) event.Payload {
			return event.GateHeld{Request: r.id, By: r.by, Reason: r.body.Reason}
		}),
		"POST /api/v1/runs/{run}/resume": g.onRun(func(r request) event.Payload {
			return event.GateResumed{Request: r.id, By: r.by}
		}),
		"POST /api/v1/pools/{pool}/drain":       g.drain,
		"POST /api/v1/deadletters/{seq}/replay": g.replay,
	}
}

// action serves one action to those who show a token.
func (g *gateway) action(do func(context.Context, request) (done, error)) http.Handler {
	return httptransport.NewServer(
		func(ctx context.Context, r any) (any, error) { return do(ctx, r.(request)) },
		g.decodeAction,
		httptransport.EncodeJSONResponse,
		httptransport.ServerErrorEncoder(g.refuse),
	)
}

func (g *gateway) decodeAction(_ context.Context, r *http.Request) (any, error) {
	by, err := g.authorize(r.Header.Get("Authorization"))
	if err != nil {
		return nil, err
	}
	in := request{by: by, path: r.PathValue, id: release.Derive("request", by, r.URL.Path, r.Header.Get("Idempotency-Key"))}
	if r.Header.Get("Idempotency-Key") == "" {
		in.id = strings.ToLower(rand.Text())
	}
	d := json.NewDecoder(http.MaxBytesReader(nil, r.Body, 1<<20))
	d.DisallowUnknownFields()
	if err := d.Decode(&in.body); err != nil && !errors.Is(err, io.EOF) {
		return nil, fault.New(fault.Invalid, "cannot read the request: its body is no JSON object of known fields: %w", err)
	}
	return in, nil
}

// authorize finds the owner of a bearer token. Every token is compared, each in constant time.
func (g *gateway) authorize(header string) (string, error) {
	if len(g.config.Tokens) == 0 {
		return "", fault.New(fault.Denied, "cannot act: this installation has no tokens; add one under gateway: tokens:")
	}
	shown, bearer := strings.CutPrefix(header, "Bearer ")
	if !bearer || shown == "" {
		return "", fault.New(fault.Denied, "cannot act without a token: expected the header \"Authorization: Bearer TOKEN\"")
	}
	found := ""
	for _, t := range g.config.Tokens {
		value, err := g.deps.Secret(t.Secret)
		if err != nil {
			return "", fault.New(fault.Internal, "cannot check tokens: %w", err)
		}
		if value != "" && subtle.ConstantTimeCompare([]byte(value), []byte(shown)) == 1 {
			found = t.Owner
		}
	}
	if found == "" {
		return "", fault.New(fault.Denied, "cannot act: the token is not one of this installation")
	}
	return found, nil
}

// trigger starts a run of a commit, or of a branch's head. Each request is a run of its own.
func (g *gateway) trigger(ctx context.Context, r request) (done, error) {
	p, err := g.project(r.body.Project)
	if err != nil {
		return done{}, err
	}
	change := release.Change{
		Kind: release.Manual, Project: p.Name, Repo: p.Repo, CloneURL: p.CloneURL, Forge: p.Forge, Commit: r.body.Commit,
		Ref: "refs/heads/" + r.body.Branch, Branch: r.body.Branch, Author: r.by, Title: "started by " + r.by,
		Verified: "api", Nonce: r.id, Parameters: r.body.Parameters,
	}
	if err := g.locate(ctx, p, &change); err != nil {
		return done{}, err
	}
	if err := change.Validate(); err != nil {
		return done{}, fault.As(fault.Invalid, err)
	}
	run, err := g.announce(ctx, change)
	return done{run}, err
}

func (g *gateway) project(name string) (Project, error) {
	var names []string
	for _, p := range g.config.Projects {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Project{}, fault.New(fault.Invalid, "cannot find project %q; there are: %s", name, strings.Join(names, ", "))
}

// locate fills in the commit of a branch, or checks that a commit was named. A commit alone is on no branch, and so it
// can never publish.
func (g *gateway) locate(ctx context.Context, p Project, c *release.Change) error {
	if c.Branch == "" {
		if c.Commit == "" {
			return fault.New(fault.Invalid, "cannot start a run: name a branch or a commit")
		}
		c.Ref = "refs/commits/" + string(c.Commit)
		return nil
	}
	heads, err := g.git.LsRemote(ctx, p.CloneURL, c.Ref)
	if err != nil {
		return err
	}
	head, ok := heads[c.Ref]
	switch {
	case !ok:
		return fault.New(fault.Invalid, "cannot start a run: %s has no branch %q", p.Repo, c.Branch)
	case c.Commit == "":
		c.Commit = head
	case c.Commit != head:
		return fault.New(fault.Invalid, "cannot start a run: commit %s is not the head of %s, which is %s; name the commit alone",
			c.Commit.Short(), c.Branch, head.Short())
	}
	return nil
}

// onRun makes an action that says one thing about a run that exists.
func (g *gateway) onRun(payload func(request) event.Payload) func(context.Context, request) (done, error) {
	return func(ctx context.Context, r request) (done, error) {
		run, err := g.run(ctx, r)
		if err != nil {
			return done{}, err
		}
		return done{run}, g.say(ctx, run, payload(r))
	}
}

// run reads the run of the path and looks that there is one: a fact about a run that never was would stay for ever.
func (g *gateway) run(ctx context.Context, r request) (release.RunID, error) {
	run := release.RunID(r.path("run"))
	if !release.Token(string(run)) {
		return "", fault.New(fault.Invalid, "cannot find run %q: its name has letters, digits, - and _ only", run)
	}
	for _, t := range []event.Type{event.TypeRunPlanned, event.TypeRunRejected} {
		_, err := g.deps.Bus.Get(ctx, t.FilterRun(run))
		if err == nil {
			return run, nil
		}
		if !nothing(err) {
			return "", err
		}
	}
	return "", &refusal{http.StatusNotFound, fault.New(fault.Invalid, "cannot find run %s, or it is not planned yet; list them with sluice runs", run)}
}

func nothing(err error) bool { return bus.Empty(err) }

// retry asks for tasks again, or, after a release that failed, for its targets to go on. Once the gate has opened the
// candidate is what it is: no task is made again.
func (g *gateway) retry(ctx context.Context, r request) (done, error) {
	run, err := g.run(ctx, r)
	if err != nil {
		return done{}, err
	}
	opened, err := g.opened(ctx, run)
	if err != nil {
		return done{}, err
	}
	if !opened {
		return done{run}, g.say(ctx, run, event.RunRetryRequested{Request: r.id, By: r.by, Tasks: r.body.Tasks})
	}
	if len(r.body.Tasks) > 0 {
		return done{}, fault.New(fault.Conflict, "cannot retry tasks of run %s: its gate has opened, and what was tested is what is published", run)
	}
	return done{run}, g.say(ctx, run, event.PublicationRetryRequested{Request: r.id, By: r.by})
}

// opened reports whether the run's gate has opened in any round.
func (g *gateway) opened(ctx context.Context, run release.RunID) (bool, error) {
	_, err := g.deps.Bus.Get(ctx, event.TypeGateOpened.FilterRun(run))
	if nothing(err) {
		return false, nil
	}
	return err == nil, err
}

func (g *gateway) drain(ctx context.Context, r request) (done, error) {
	pool := r.path("pool")
	if !release.Token(pool) {
		return done{}, fault.New(fault.Invalid, "cannot drain pool %q: its name has letters, digits, - and _ only", pool)
	}
	return done{}, g.say(ctx, event.Fleet, event.PoolDrainRequested{
		Request: r.id, Pool: pool, Resume: r.body.Resume, By: r.by, Reason: r.body.Reason,
	})
}

func (g *gateway) replay(ctx context.Context, r request) (done, error) {
	seq, err := strconv.ParseUint(r.path("seq"), 10, 64)
	if err != nil {
		return done{}, fault.New(fault.Invalid, "cannot replay dead letter %q: expected its number", r.path("seq"))
	}
	return done{}, g.deps.Bus.Replay(ctx, seq)
}
