package lease

import (
	"maps"
	"time"
)

// watch is this table's sense of time. Silence counts only while it looks: after its start, a sleep or a step of the
// clock the measure begins anew, so that no step of a clock takes a place from a living holder or leaves one for ever.
type watch struct {
	last  time.Time // it looked
	since time.Time // from when on it has looked without a gap
}

// span is something that ends at a stated time: a lease by its token, or a quarantine by its change.
type span struct {
	number     int64
	quarantine bool
	end        int64 // as it is stated
}

// gap is the longest time between looks that is no sleep.
const gap = time.Minute

func (t *Table) look(now time.Time) {
	step := now.Sub(t.watch.last)
	if t.watch.last.IsZero() || step < 0 || step > gap {
		t.watch.since = now
		for _, p := range t.order {
			p.dues = nil
			t.touch(p)
		}
	}
	t.watch.last = now
}

// awake reports whether the table has looked for long enough that silence is silence.
func (t *Table) awake(now time.Time) bool { return !now.Before(t.wakes()) }

func (t *Table) wakes() time.Time { return t.watch.since.Add(t.cfg.Grace) }

// due is when something ends that was to end at a stated time and to last no longer than most from now on. It does not
// end before this table has looked for a while.
func (t *Table) due(p *place, s span, end time.Time, most time.Duration, now time.Time) time.Time {
	s.end = end.UnixNano()
	if due, known := p.dues[s]; known {
		return due
	}
	due := earlier(end, now.Add(most))
	if first := now.Add(t.cfg.Grace); due.Before(first) {
		due = first
	}
	set(&p.dues, s, due)
	return due
}

// forget drops what was known of the times of leases that have ended.
func (p *place) forget() {
	maps.DeleteFunc(p.dues, func(s span, _ time.Time) bool { return !s.quarantine && p.now.under(s.number) == nil })
}

// set makes the map when it is needed first.
func set[K comparable, V any](into *map[K]V, key K, value V) {
	if *into == nil {
		*into = map[K]V{}
	}
	(*into)[key] = value
}

// earlier is the earlier of two moments; the zero one stands for never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
