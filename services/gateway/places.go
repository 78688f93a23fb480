package gateway

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/sluiceci/sluice/pkg/access"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/lease"
	"github.com/sluiceci/sluice/pkg/release"
)

// placeActions is what a person can do to a place.
func (g *gateway) placeActions() []action {
	return []action{
		{"POST /api/v1/places/{provider}/{place}/drain", access.Whole(access.Operator), g.drainPlace},
		{"POST /api/v1/places/{provider}/{place}/release", access.Whole(access.Operator), g.releasePlace},
	}
}

// placeList answers with every place, who holds it, and what is wrong with it.
func (g *gateway) placeList() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		places, err := g.allPlaces(r.Context())
		if err != nil {
			g.refuse(r.Context(), err, w)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string][]lease.Place{"places": places}) // the asker is gone when this fails
	})
}

func (g *gateway) allPlaces(ctx context.Context) ([]lease.Place, error) {
	ctx, cancel := context.WithTimeout(ctx, g.patience)
	defer cancel()
	places, err := bus.Ask[lease.Everything, []lease.Place](ctx, g.deps.Bus, lease.Topic, lease.Everything{})
	if places == nil {
		places = []lease.Place{}
	}
	return places, err
}

// place finds the place that a request names.
func (g *gateway) place(ctx context.Context, r request) (lease.Place, error) {
	provider, name := r.path("provider"), r.path("place")
	places, err := g.allPlaces(ctx)
	if err != nil {
		return lease.Place{}, err
	}
	i := slices.IndexFunc(places, func(p lease.Place) bool { return p.Provider == provider && p.Place == name })
	if i < 0 {
		return lease.Place{}, absent("cannot find place %.100q of provider %.100q; sluice places lists them", name, provider)
	}
	return places[i], nil
}

// drainPlace keeps a place from being leased, or no longer. It works while no scheduler answers: then nobody knows
// whether there is such a place, and the wish is stored all the same.
func (g *gateway) drainPlace(ctx context.Context, r request) (done, error) {
	provider, name := r.path("provider"), r.path("place")
	if !release.Token(provider) || !release.Token(name) {
		return done{}, fault.New(fault.Invalid, "cannot drain place %.100q of %.100q: names have letters, digits, - and _ only", name, provider)
	}
	if _, err := g.place(ctx, r); err != nil && !fault.Is(err, fault.Transient) {
		return done{}, err
	}
	id, err := g.say(ctx, event.Fleet, event.PlaceDrainRequested{
		Request: r.id, Provider: provider, Place: name, Resume: r.body.Resume, By: r.by, Reason: r.body.Reason,
	})
	return done{Event: id}, err
}

// releasePlace takes a person's word on a place: what was kept for them is not needed any more, or a place that was dirty
// or in quarantine is well.
func (g *gateway) releasePlace(ctx context.Context, r request) (done, error) {
	p, err := g.place(ctx, r)
	if err != nil {
		return done{}, err
	}
	change := event.PlaceChanged{
		Provider: p.Provider, Place: p.Place, Change: p.Change + 1, By: r.by, Reason: r.body.Reason, State: release.PlaceFree,
	}
	switch p.State {
	case lease.Kept:
		change.State = release.PlaceCleanupPending
	case lease.CleanupPending, lease.Quarantined:
	default:
		return done{}, inTheWay(fault.New(fault.Invalid, "cannot release %s/%s: it is %s; %s", p.Provider, p.Place,
			p.State, insteadOfRelease(p)))
	}
	if change.Reason == "" {
		change.Reason = r.by + " released it"
	}
	return g.changePlace(ctx, change)
}

// insteadOfRelease says what to do with a place that is not to be released.
func insteadOfRelease(p lease.Place) string {
	switch {
	case p.State == lease.Leased && len(p.Holders) > 0:
		return "cancel run " + string(p.Holders[0].Run) + ", or wait for it"
	case p.State == lease.Drained:
		return "resume it"
	case p.State == lease.Free:
		return "there is nothing to release"
	default:
		return "wait for that to end"
	}
}

// changePlace stores a change unless another came first: then what the person saw is no longer so.
func (g *gateway) changePlace(ctx context.Context, c event.PlaceChanged) (done, error) {
	ctx, cancel := context.WithTimeout(ctx, g.patience)
	defer cancel()
	e := g.fact(ctx, event.Fleet, c)
	mine, err := g.deps.Bus.Claim(ctx, e)
	if err == nil && !mine {
		err = inTheWay(fault.New(fault.Invalid, "cannot release %s/%s: it has changed meanwhile; look again", c.Provider, c.Place))
	}
	return done{Event: e.ID}, err
}
