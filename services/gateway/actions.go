package gateway

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	httptransport "github.com/go-kit/kit/transport/http"

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
	All        bool              `json:"all"` // of a run: what succeeded too
	Resume     bool              `json:"resume"`
	limited
	tested
	searched
}

// done answers an action: it is a fact now.
type done struct {
	Run   release.RunID `json:"run,omitempty"`
	Event string        `json:"event,omitempty"` // id of the fact

	Bisect string `json:"bisect,omitempty"`
}

// StatusCode: what follows happens later.
func (done) StatusCode() int { return http.StatusAccepted }

// act is one action.
type act func(context.Context, request) (done, error)

// actions is everything that a person can do over HTTP.
func (g *gateway) actions() map[string]act {
	return map[string]act{
		"POST /api/v1/runs": g.trigger,
		"POST /api/v1/runs/{run}/cancel": g.onRun(func(r request) event.Payload {
			return event.RunCancelRequested{Request: r.id, By: r.by, Reason: r.body.Reason}
		}),
		"POST /api/v1/runs/{run}/retry": g.retry,
		"POST /api/v1/runs/{run}/approve": g.onRun(func(r request) event.Payload {
			return event.GateApproved{By: r.by, Note: r.body.Note}
		}),
		"POST /api/v1/runs/{run}/hold": g.hold,
		"POST /api/v1/runs/{run}/resume": g.onRun(func(r request) event.Payload {
			return event.GateResumed{Request: r.id, By: r.by}
		}),
		"POST /api/v1/pools/{pool}/drain":       g.drain,
		"POST /api/v1/limits":                   g.limit,
		"POST /api/v1/deadletters/{seq}/replay": g.replay,
	}
}

// action serves one action to those who show a token.
func (g *gateway) action(do act) http.Handler {
	return httptransport.NewServer(
		func(ctx context.Context, r any) (any, error) { return do(ctx, r.(request)) },
		g.decodeAction,
		httptransport.EncodeJSONResponse,
		httptransport.ServerErrorEncoder(g.refuse),
	)
}

// maxKey bounds an Idempotency-Key, in bytes.
const maxKey = 200

func (g *gateway) decodeAction(_ context.Context, r *http.Request) (any, error) {
	by, err := g.authorize(r.Header.Get("Authorization"))
	if err != nil {
		return nil, err
	}
	key := r.Header.Get("Idempotency-Key")
	if len(key) > maxKey {
		return nil, fault.New(fault.Invalid, "cannot read the request: its Idempotency-Key has %d bytes, at most %d are taken", len(key), maxKey)
	}
	in := request{by: by, path: r.PathValue}
	if err := decodeBody(r, &in.body); err != nil {
		return nil, err
	}
	in.id, err = identify(by, r.URL.Path, key, in.body)
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
		return done{}, &refusal{http.StatusNotFound, fault.New(fault.Invalid,
			"cannot replay dead letter %d: there is none; list them with sluice deadletters list", seq)}
	}
	err = g.deps.Bus.Replay(ctx, seq)
	if err != nil && !fault.Is(err, fault.Transient) {
		return done{}, &refusal{http.StatusConflict, err} // the consumer's kind of error is not that of the request
	}
	return done{}, err
}

// replayTimeout is how long a consumer may work on a dead letter while somebody waits.
const replayTimeout = 30 * time.Second
