package schedule

import (
	"cmp"
	"slices"
	"time"

	"github.com/sluiceci/sluice/pkg/release"
)

// Pool is what is known of a pool and its queue now.
type Pool struct {
	Name      string     `json:"name"`
	Waiting   int        `json:"waiting"` // tasks that could be given to it
	Given     int        `json:"given"`   // attempts that it has and that have not ended
	Running   int        `json:"running"` // of these, on an executor
	Slots     int        `json:"slots"`   // of its live executors
	Window    int        `json:"window"`  // attempts that it may have at once
	Drained   bool       `json:"drained,omitempty"`
	Reason    string     `json:"reason,omitempty"` // why it is drained
	Executors []Executor `json:"executors,omitempty"`
}

// Executor is a member of a pool.
type Executor struct {
	Name     string    `json:"name"`
	Host     string    `json:"host,omitempty"`
	Slots    int       `json:"slots"`
	Running  int       `json:"running"`
	Alive    bool      `json:"alive"`
	Draining bool      `json:"draining,omitempty"`
	Reason   string    `json:"reason,omitempty"` // why it takes no more
	Seen     time.Time `json:"seen,omitzero"`

	Held    []string `json:"held,omitempty"`    // what commands are held back by
	Missing []string `json:"missing,omitempty"` // what its machine cannot give of that
	Refusal string   `json:"refusal,omitempty"` // why no untrusted change runs there

	Accepts []release.Trust `json:"accepts,omitempty"` // changes that it takes
}

// Survey lists the pools that tasks or executors have named, by name.
func Survey(s *State) []Pool {
	byName := map[string]*Pool{}
	names := make([]string, 0, len(s.pools))
	for _, p := range s.pools {
		names = append(names, p.name)
		byName[p.name] = s.survey(p)
	}
	for _, x := range s.members() {
		p := byName[x.pool.name]
		p.Running += len(x.running)
		p.Executors = append(p.Executors, Executor{
			Name: x.name, Host: x.beat.Host, Slots: int(x.beat.Slots), Running: len(x.running), Alive: s.alive(x),
			Draining: s.leaving(x), Reason: s.leaves(x), Seen: x.seen.time(),
			Held: x.beat.Isolation.Held, Missing: x.beat.Isolation.Missing, Refusal: x.beat.Isolation.Refusal,
			Accepts: x.beat.Accepts,
		})
	}
	slices.Sort(names)
	out := make([]Pool, 0, len(names))
	for _, n := range names {
		out = append(out, *byName[n])
	}
	return out
}

func (s *State) survey(p *pool) *Pool {
	out := &Pool{
		Name: p.name, Waiting: int(p.queued), Given: int(p.holding), Slots: int(p.slots), Window: int(s.window(p)),
		Drained: p.drained(),
	}
	if out.Drained {
		out.Reason = "drained" + by(p.drain)
	}
	return out
}

// inHand lists what an executor runs, in a fixed order.
func (x *executor) inHand() []held {
	out := make([]held, 0, len(x.running))
	for h := range x.running {
		out = append(out, h)
	}
	slices.SortFunc(out, func(a, b held) int {
		return cmp.Or(cmp.Compare(a.task.run.id, b.task.run.id), cmp.Compare(a.task.id, b.task.id), cmp.Compare(a.n, b.n))
	})
	return out
}
