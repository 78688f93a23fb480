package lease

import "time"

// watch is this table's sense of time. Silence counts only while it looks: after its start, a sleep or a step of the
// clock the measure begins anew, so that no step of a clock takes a place from a living holder or leaves one for ever.
type watch struct {
	last  time.Time // it looked
	since time.Time // from when on it has looked without a gap
}

// gap is the longest time between looks that is no sleep.
const gap = time.Minute

func (w *watch) look(t *Table, now time.Time) {
	step := now.Sub(w.last)
	if w.last.IsZero() || step < 0 || step > gap {
		w.since = now
		t.resume(now)
	}
	w.last = now
}

// awake reports whether the table has looked for long enough that silence is silence.
func (t *Table) awake(now time.Time) bool { return now.Sub(t.watch.since) >= t.cfg.Grace }
