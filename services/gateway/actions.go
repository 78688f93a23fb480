package gateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	httptransport "github.com/go-kit/kit/transport/http"

	"github.com/sluiceci/sluice/pkg/access"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// request is an action that somebody who may asked for.
type request struct {
	who  access.Identity
	by   string // their name
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
	All        bool              `json:"all"` // of a run: what succeeded too
	Resume     bool              `json:"resume"`
	Before     string            `json:"before"` // a target: only its commit is held
	Now        bool              `json:"now"`    // cancel: commits under way are broken off
	limited
	tested
	searched
	minted
}

// in checks that who asks may do something in a project. A project that they may not even look at is not there.
func (r request) in(project string, need access.Role) error {
	role := r.who.In(project)
	switch {
	case role >= need:
		return nil
	case role < access.Viewer:
		return absent("cannot find project %.100q among those that you may see", project)
	default:
		return fault.New(fault.Denied, "cannot do this as %s with role %s in project %s: it needs %s", r.by, role, project, need)
	}
}

// in finds the project that a request names, or the only one that its sender sees. No answer tells of the others.
func (g *gateway) in(r request, need access.Role) (Project, error) {
	var seen []Project
	var names []string
	for _, p := range g.config.Projects {
		if r.who.Sees(p.Name) {
			seen, names = append(seen, p), append(names, p.Name)
		}
	}
	name := r.body.Project
	if name == "" && len(seen) == 1 {
		name = seen[0].Name
	}
	i := slices.Index(names, name)
	if i < 0 {
		return Project{}, absent("cannot find project %.100q among those that you may see; there are: %s", name, strings.Join(names, ", "))
	}
	return seen[i], r.in(name, need)
}

// done answers an action: it is a fact now.
type done struct {
	Run   release.RunID `json:"run,omitempty"`
	Event string        `json:"event,omitempty"` // id of the fact

	Bisect string `json:"bisect,omitempty"`

	ID     string `json:"id,omitempty"`    // of a new token
	Secret string `json:"token,omitempty"` // the new token itself, told this once
}

// StatusCode: what follows happens later.
func (done) StatusCode() int { return http.StatusAccepted }

// act is one action.
type act func(context.Context, request) (done, error)

// action is a row of the table of actions: what can be done, and who may.
type action struct {
	pattern string
	rule    access.Rule
	do      act
}

// actions is everything that a person can do to runs and to the installation over HTTP.
func (g *gateway) actions() []action {
	return []action{
		{"POST /api/v1/runs", access.Any(access.Developer), g.trigger},
		{"POST /api/v1/runs/{run}/cancel", access.To(access.Developer), g.onRun(func(r request) event.Payload {
			return event.RunCancelRequested{Request: r.id, By: r.by, Reason: r.body.Reason, Now: r.body.Now}
		})},
		{"POST /api/v1/runs/{run}/undo", access.To(access.Maintainer), g.undo},
		{"POST /api/v1/runs/{run}/retry", access.To(access.Developer), g.retry},
		{"POST /api/v1/runs/{run}/approve", access.To(access.Maintainer), g.approve},
		{"POST /api/v1/runs/{run}/environments/{environment}/approve", access.To(access.Viewer), g.approveEnvironment},
		{"POST /api/v1/runs/{run}/hold", access.To(access.Developer), g.hold},
		{"POST /api/v1/runs/{run}/permit", access.To(access.Maintainer), g.permit},
		{"POST /api/v1/runs/{run}/resume", access.To(access.Maintainer), g.onRun(func(r request) event.Payload {
			return event.GateResumed{Request: r.id, By: r.by}
		})},
		{"POST /api/v1/pools/{pool}/drain", access.Whole(access.Operator), g.drain},
		{"POST /api/v1/limits", access.Whole(access.Operator), g.limit},
		{"POST /api/v1/deadletters/{seq}/replay", access.Whole(access.Operator), g.replay},
	}
}

// serve serves one action to those whom the gate let through.
func (g *gateway) serve(do act) http.Handler {
	return httptransport.NewServer(
		func(ctx context.Context, r any) (any, error) { return do(ctx, r.(request)) },
		g.decodeAction,
		httptransport.EncodeJSONResponse,
		httptransport.ServerErrorEncoder(g.refuse),
	)
}

// maxKey bounds an Idempotency-Key, in bytes.
const maxKey = 200

func (g *gateway) decodeAction(ctx context.Context, r *http.Request) (any, error) {
	who := access.From(ctx)
	key := r.Header.Get("Idempotency-Key")
	if len(key) > maxKey {
		return nil, fault.New(fault.Invalid, "cannot read the request: its Idempotency-Key has %d bytes, at most %d are taken", len(key), maxKey)
	}
	in := request{who: who, by: who.Name, path: r.PathValue}
	if err := decodeBody(r, &in.body); err != nil {
		return nil, err
	}
	var err error
	in.id, err = identify(cmp.Or(who.Subject, who.Name), r.URL.Path, key, in.body)
	return in, err
}

// identify names a request. Under the same key the same request has the same name. One that says something else has
// another: it would be taken for said already, and never done.
func identify(by, path, key string, b body) (string, error) {
	if key == "" {
		return strings.ToLower(rand.Text()), nil
	}
	text, err := json.Marshal(b)
	return release.Derive("request", by, path, key, string(text)), err
}

// decodeBody reads one JSON object, or nothing at all.
func decodeBody(r *http.Request, into *body) error {
	d := json.NewDecoder(http.MaxBytesReader(nil, r.Body, smallBody))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if fault.Is(err, fault.Transient) {
		return err // there is no room for it now
	}
	if err == nil {
		if _, more := d.Token(); errors.Is(more, io.EOF) {
			return into.check()
		}
		err = errors.New("something follows the object")
	}
	return fault.New(fault.Invalid, "cannot read the request: its body is no JSON object of known fields: %w", err)
}

// check bounds what becomes part of facts that stay for ever.
func (b body) check() error {
	for name, text := range map[string]string{"reason": b.Reason, "note": b.Note} {
		if !plain(text, maxText) {
			return fault.New(fault.Invalid, "cannot read the request: its %s has %d bytes or control characters; at most %d bytes of plain text are taken",
				name, len(text), maxText)
		}
	}
	for _, task := range b.Tasks {
		if !release.Token(string(task)) {
			return fault.New(fault.Invalid, "cannot read the request: %.100q is no task; its id has letters, digits, - and _ only", task)
		}
	}
	return nil
}

func (g *gateway) drain(ctx context.Context, r request) (done, error) {
	pool := r.path("pool")
	if !release.Token(pool) {
		return done{}, fault.New(fault.Invalid, "cannot drain pool %q: its name has letters, digits, - and _ only", pool)
	}
	id, err := g.say(ctx, event.Fleet, event.PoolDrainRequested{
		Request: r.id, Pool: pool, Resume: r.body.Resume, By: r.by, Reason: r.body.Reason,
	})
	return done{Event: id}, err
}

func (g *gateway) replay(ctx context.Context, r request) (done, error) {
	seq, err := strconv.ParseUint(r.path("seq"), 10, 64)
	if err != nil || seq == 0 {
		return done{}, fault.New(fault.Invalid, "cannot replay dead letter %q: expected its number", r.path("seq"))
	}
	ctx, cancel := context.WithTimeout(ctx, replayTimeout)
	defer cancel()
	letters, err := g.deps.Bus.DeadLetters(ctx, seq, 1)
	if err != nil {
		return done{}, err
	}
	if len(letters) == 0 || letters[0].Seq != seq {
		return done{}, absent("cannot replay dead letter %d: there is none; list them with sluice deadletters list", seq)
	}
	err = g.deps.Bus.Replay(ctx, seq)
	if err != nil && !fault.Is(err, fault.Transient) {
		return done{}, inTheWay(err) // the consumer's kind of error is not that of the request
	}
	if err != nil {
		return done{}, err
	}
	id, err := g.say(ctx, event.Fleet, event.DeadLetterReplayed{Request: r.id, Letter: int64(seq), By: r.by}) //nolint:gosec // a place in a stream
	return done{Event: id}, err
}

// replayTimeout is how long a consumer may work on a dead letter while somebody waits.
const replayTimeout = 30 * time.Second
