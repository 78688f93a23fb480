package gateway

import (
	"cmp"
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/idtoken"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

const (
	maxPlan  = 64 << 20 // bytes
	keepKeys = 30 * 24 * time.Hour
)

// newIssuer makes the issuer of identity tokens, if there is a place for its keys.
func newIssuer(c IDTokens) (*idtoken.Issuer, error) {
	if c.Keys == "" || c.Issuer == "" {
		return nil, nil
	}
	if u, err := url.Parse(c.Issuer); err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fault.New(fault.Invalid, "cannot issue identity tokens as %q: expected the URL that others reach this gateway at", c.Issuer)
	}
	keys, err := idtoken.OpenKeys(c.Keys, cmp.Or(c.Rotate, keepKeys))
	if err != nil {
		return nil, err
	}
	return &idtoken.Issuer{URL: strings.TrimRight(c.Issuer, "/"), Keys: keys}, nil
}

// vouch answers executors that ask for tokens.
func (g *gateway) vouch(ctx context.Context) error {
	if err := bus.AnswerEach(ctx, g.deps.Bus, idtoken.Topic, g.token); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// token signs a token for an attempt that runs now on an executor of the pool that asks, if its frozen plan asks for one.
// Nothing that the question says is believed: the facts are looked up.
func (g *gateway) token(ctx context.Context, pool string, q idtoken.Question) (idtoken.Answer, error) {
	ref := event.AttemptRef{Run: q.Run, Task: q.Task, Attempt: q.Attempt}
	given, err := g.attests(ctx, pool, ref, q.Executor)
	if err != nil {
		return idtoken.Answer{}, err
	}
	text, err := blob.ReadAll(ctx, g.deps.Blobs, given.Plan, maxPlan)
	if err != nil {
		return idtoken.Answer{}, err
	}
	p, err := plan.Decode(text)
	if err != nil {
		return idtoken.Answer{}, fault.As(fault.Invalid, err)
	}
	t, known := p.Task(q.Task)
	if !known {
		return idtoken.Answer{}, fault.New(fault.Denied, "cannot sign an identity token: the plan has no task %s", q.Task)
	}
	for _, wanted := range t.Tokens {
		if wanted.Name == q.Name {
			return g.sign(idtoken.ClaimsOf(p, t, ref, pool, given.Environment), t, wanted)
		}
	}
	return idtoken.Answer{}, fault.New(fault.Denied, "cannot sign an identity token: task %s asks for none named %s", q.Task, q.Name)
}

func (g *gateway) sign(c idtoken.Claims, t *plan.Task, wanted plan.IDToken) (idtoken.Answer, error) {
	if c.Trust == release.TrustUntrusted && !g.config.IDTokens.Untrusted {
		return idtoken.Answer{Withheld: "a run of an untrusted change gets no identity token"}, nil
	}
	id := release.Derive("id_token", string(c.Run), string(c.Task), c.Attempt, wanted.Name)
	token, err := g.issuer.Sign(c, wanted.Audience, id, g.deps.Now(), idtoken.Life(t))
	return idtoken.Answer{Token: token}, err
}

// attests finds the dispatch of an attempt that was dispatched to a pool, that an executor has started there, and that has not
// ended.
func (g *gateway) attests(ctx context.Context, pool string, ref event.AttemptRef, executor string) (*event.TaskDispatched, error) {
	none := func(why string) error {
		return fault.New(fault.Denied, "cannot sign an identity token for attempt %d of %s/%s: %s", ref.Attempt, ref.Run, ref.Task, why)
	}
	given, err := fact(ctx, g, ref.Run, event.TaskDispatched{Task: ref.Task, Attempt: ref.Attempt, Pool: pool})
	if err != nil {
		return nil, err
	}
	started, err := fact(ctx, g, ref.Run, event.TaskStarted{Task: ref.Task, Attempt: ref.Attempt, Pool: pool})
	if err != nil {
		return nil, err
	}
	ended, err := fact(ctx, g, ref.Run, event.TaskFinished{Task: ref.Task, Attempt: ref.Attempt, Pool: pool})
	switch {
	case err != nil:
		return nil, err
	case given == nil || given.Pool != pool:
		return nil, none("it was not given to pool " + pool)
	case started == nil || started.Pool != pool || started.Executor != executor:
		return nil, none("executor " + executor + " of pool " + pool + " did not start it")
	case ended != nil:
		return nil, none("it has ended")
	}
	return given, nil
}

// fact reads what stands in the place of an event; nil when nothing does.
func fact[P event.Payload](ctx context.Context, g *gateway, run release.RunID, place P) (*P, error) {
	e, err := g.deps.Bus.Get(ctx, event.Event{Type: place.EventType(), Run: run, Key: place.Key()}.Subject())
	if bus.Empty(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	found, ok := e.Data.(P)
	if !ok {
		return nil, fault.New(fault.Internal, "cannot read %s of run %s", place.EventType(), run)
	}
	return &found, nil
}
