package gateway

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/sluiceci/sluice/pkg/access"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// BisectStatus is how a bisection fares.
type BisectStatus struct {
	Bisect  string         `json:"bisect"`
	Project string         `json:"project"`
	Test    string         `json:"test"`
	State   string         `json:"state"` // running, blamed, gave up
	Since   time.Time      `json:"since,omitzero"`
	By      string         `json:"by,omitempty"`
	Good    release.Commit `json:"good"`
	Bad     release.Commit `json:"bad"`
	Runs    int            `json:"runs"` // that were started
	Blamed  release.Commit `json:"blamed,omitempty"`
	Reason  string         `json:"reason,omitempty"`
}

// The states of a bisection.
const (
	bisectRunning = "running"
	bisectBlamed  = "blamed"
	bisectGaveUp  = "gave up"
)

// bisectList answers with every bisection, the newest first.
func (g *gateway) bisectList() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all, err := g.bisects(r.Context())
		if err != nil {
			g.refuse(r.Context(), err, w)
			return
		}
		all = slices.DeleteFunc(all, func(b BisectStatus) bool { return !access.From(r.Context()).Sees(b.Project) })
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string][]BisectStatus{"bisects": all}) // the asker is gone when this fails
	})
}

func (g *gateway) bisects(ctx context.Context) ([]BisectStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	all := []*BisectStatus{}
	known := map[string]*BisectStatus{}
	err := g.history(ctx, []event.Type{event.TypeBisectRequested, event.TypeBisectAdvanced, event.TypeBisectEnded}, func(e event.Event) {
		switch d := e.Data.(type) {
		case event.BisectRequested:
			known[d.Bisect] = &BisectStatus{
				Bisect: d.Bisect, Project: d.Project, Test: d.Test, State: bisectRunning, Since: e.Time, By: d.By, Good: d.Good, Bad: d.Bad, Reason: d.Reason,
			}
			all = append(all, known[d.Bisect])
		case event.BisectAdvanced:
			if s := known[d.Bisect]; s != nil {
				s.Runs, s.Reason = s.Runs+len(d.Started), d.Reason
			}
		case event.BisectEnded:
			if s := known[d.Bisect]; s != nil {
				s.State, s.Blamed, s.Reason = bisectGaveUp, d.Blamed, d.Reason
				if d.Blamed != "" {
					s.State = bisectBlamed
				}
			}
		}
	}, nil)
	out := make([]BisectStatus, 0, len(all))
	for _, s := range slices.Backward(all) {
		out = append(out, *s)
	}
	return out, err
}
