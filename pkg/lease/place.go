package lease

import (
	"cmp"
	"slices"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// keptFacts is how many facts of a place are kept as such: so far apart may they arrive from their order in the stream.
const keptFacts = 128

// fact is an event with its place in the stream.
type fact struct {
	seq  uint64
	at   time.Time
	said time.Time // by the clock of who said it
	run  release.RunID
	data event.Payload
	id   string // one for each place in the stream
}

func newFact(e event.Event) fact {
	f := fact{seq: e.Seq, at: e.Stored, said: e.Time, run: e.Run, data: e.Data}
	if f.at.IsZero() {
		f.at = e.Time
	}
	f.id = identify(e.Run, e.Data)
	return f
}

// until is a moment that was said with a fact, by the stream's clock.
func (f fact) until(t time.Time) time.Time {
	if t.IsZero() || f.said.IsZero() {
		return t
	}
	return f.at.Add(t.Sub(f.said))
}

func identify(run release.RunID, p event.Payload) string {
	return string(run) + " " + string(p.EventType()) + " " + p.Key()
}

// place is one place: the facts of it in the order of the stream, and what they come to.
type place struct {
	name    name
	log     []fact
	floor   uint64   // the last fact that is in base
	base    standing // before the log
	now     standing // after it
	promise promise
	wanted  bool               // a claim waits for a check of it
	touched bool               // it is to be looked at
	wake    time.Time          // when time alone may change what is to be done about it
	dues    map[span]time.Time // when what has an end ends, as this table sees it
	wishes  []*wish
}

// promise is a grant that was answered and is no fact yet. There is one at a time: so tokens leave no gap.
type promise struct {
	token  int64
	holder event.AttemptRef
	at     time.Time
}

func compareNames(a, b name) int {
	return cmp.Or(cmp.Compare(a.provider, b.provider), cmp.Compare(a.place, b.place))
}

// insert puts a fact where it belongs and reports whether it is new.
func (p *place) insert(f fact) bool {
	i, known := slices.BinarySearchFunc(p.log, f.seq, func(g fact, seq uint64) int { return cmp.Compare(g.seq, seq) })
	if known || f.seq <= p.floor || p.said(f) {
		return false
	}
	p.log = slices.Insert(p.log, i, f)
	if i == len(p.log)-1 {
		p.now.step(f)
	} else {
		p.replay()
	}
	return true
}

// said reports whether the log has the same fact already: one whose place in the stream was not known the first time.
func (p *place) said(f fact) bool {
	return slices.ContainsFunc(p.log, func(g fact) bool { return g.id == f.id })
}

func (p *place) replay() {
	p.now = p.base.clone()
	for _, f := range p.log {
		p.now.step(f)
	}
}

// compact folds the older half of a place's facts into its base.
func (t *Table) compact(p *place) {
	half := len(p.log) / 2
	for _, f := range p.log[:half] {
		p.base.step(f)
	}
	p.floor, p.log = p.log[half-1].seq, slices.Clone(p.log[half:])
	for ref, places := range t.holds {
		if slices.Contains(places, p) && !p.mentions(ref) {
			t.release(ref, p)
		}
	}
}

// mentions reports whether an attempt holds the place, or may still be told something about it.
func (p *place) mentions(ref event.AttemptRef) bool {
	if p.now.of(ref) != nil || p.base.of(ref) != nil {
		return true
	}
	return slices.ContainsFunc(p.log, func(f fact) bool {
		g, ok := f.data.(event.LeaseGranted)
		return ok && g.Holder == ref
	})
}

func (t *Table) release(ref event.AttemptRef, p *place) {
	left := slices.DeleteFunc(slices.Clone(t.holds[ref]), func(q *place) bool { return q == p })
	if len(left) == 0 {
		delete(t.holds, ref)
		return
	}
	t.holds[ref] = left
}

// recent remembers what was last said of attempts that hold nothing as far as is known.
type recent struct {
	facts map[event.AttemptRef][]fact
	order []event.AttemptRef
}

const keptAttempts = 1024

func (r *recent) add(ref event.AttemptRef, f fact) {
	if r.facts == nil {
		r.facts = map[event.AttemptRef][]fact{}
	}
	if len(r.facts[ref]) == 0 {
		r.order = append(r.order, ref)
	}
	r.facts[ref] = append(r.facts[ref], f)
	if len(r.order) > keptAttempts {
		delete(r.facts, r.order[0])
		r.order = r.order[1:]
	}
}

func (r *recent) of(ref event.AttemptRef) []fact { return r.facts[ref] }

// limits remembers for how long tasks want places in whole. Of the tasks that say so the last are remembered, and those
// that hold a place or ask for one.
type limits struct {
	of    map[limited]time.Duration
	order []limited
	most  int // remembered before the oldest are looked at
}

type limited struct {
	run  release.RunID
	task release.TaskID
}

const keptLimits = 1 << 14

// limit notes for how long a task wants a place in whole.
func (t *Table) limit(run release.RunID, task release.TaskID, limit time.Duration) {
	l, who := &t.limits, limited{run, task}
	if limit <= 0 || l.of[who] == limit {
		return
	}
	if l.of[who] == 0 {
		l.order = append(l.order, who)
	}
	set(&l.of, who, limit)
	if l.most = max(l.most, keptLimits); len(l.order) > l.most {
		l.forget(t.inUse())
	}
}

// inUse are the tasks that hold a place or ask for one.
func (t *Table) inUse() map[limited]bool {
	out := make(map[limited]bool, len(t.holds)+len(t.claims))
	for ref := range t.holds {
		out[limited{ref.Run, ref.Task}] = true
	}
	for ref := range t.claims {
		out[limited{ref.Run, ref.Task}] = true
	}
	return out
}

// forget drops the older half of the limits but for those in use.
func (l *limits) forget(used map[limited]bool) {
	half := len(l.order) / 2
	kept := l.order[:0:0]
	for i, who := range l.order {
		if i >= half || used[who] {
			kept = append(kept, who)
		} else {
			delete(l.of, who)
		}
	}
	l.order, l.most = kept, max(keptLimits, 2*len(used))
}

// tenure is the longest that a lease may be held, in whole; 0 without a limit.
func (t *Table) tenure(h *hold) time.Duration {
	return t.limits.of[limited{h.holder.Run, h.holder.Task}]
}
