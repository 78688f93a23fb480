package schedule

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/event"
)

func (s *State) applyPlanned(r *run, p event.RunPlanned, m mark) {
	if r.planned != nil {
		return
	}
	r.plannedAt = m
	before := r.project()
	r.planned = &p
	s.protect(r)
	if r.project() != before {
		s.refile(r)
	}
	s.enlist(r)
	for _, id := range p.GateTests {
		t := r.task(id)
		if t.required {
			continue
		}
		t.required = true
		s.redoom(t)
		if t.status == open {
			r.counts.openTests++
		}
	}
	if r.complete() {
		s.touchOrphans(r)
	}
	if r.settled() {
		s.touchAll(r)
	}
	s.align(r)
}

// applyRetry begins a round. Which tasks it resets follows from the places of all requests in the stream.
func (s *State) applyRetry(r *run, p event.RunRetryRequested, m mark) {
	i, known := slices.BinarySearchFunc(r.retries, m.seq, func(y retry, seq uint64) int { return cmp.Compare(y.mark.seq, seq) })
	if known {
		return
	}
	r.retries = slices.Insert(r.retries, i, retry{mark: m, tasks: slices.Clone(p.Tasks)})
	s.rounds(r)
}

// applyOpened keeps the first opening. Nothing that was asked to be retried after it resets anything.
func (s *State) applyOpened(r *run, p event.GateOpened, m mark) {
	if r.opened != nil && r.opened.mark.seq <= m.seq {
		return
	}
	r.opened = &opening{round: p.Round, mark: m}
	for _, t := range r.list {
		s.refresh(t)
	}
	if len(r.retries) > 0 {
		s.rounds(r)
	}
}

// rounds finds for each task the round that counts for it: the latest retry that names it, or something that it needs.
func (s *State) rounds(r *run) {
	for _, t := range r.list {
		t.reset, t.since = 0, 0
	}
	for i := range r.retries {
		y := &r.retries[i]
		y.void = r.opened != nil && r.opened.mark.seq < y.mark.seq
		for _, t := range r.list {
			if y.names(t.id) || !y.void && t.moot(int32(i)) {
				t.begin(int32(i+1), y.mark.seq)
			}
		}
	}
	s.touchAll(r)
	for _, t := range r.list {
		s.restate(t)
	}
}

// begin lets a round count for a task and for all that need it.
func (t *task) begin(round int32, seq uint64) {
	if round <= t.reset {
		return
	}
	t.reset, t.since = round, seq
	for _, d := range t.dependents {
		d.begin(round, seq)
	}
}

// inherit lets the round of a need count for a task that was linked to it later.
func (s *State) inherit(t *task, round int32, seq uint64) {
	if round <= t.reset {
		return
	}
	t.reset, t.since = round, seq
	s.restate(t)
	s.touch(t)
	for _, d := range t.dependents {
		s.inherit(d, round, seq)
	}
}

// applyFinished notes an end of the run. Its tasks are forgotten when it has been over for a while.
func (s *State) applyFinished(r *run, p event.RunFinished, m mark) {
	if _, known := r.ends[p.Round]; known {
		return
	}
	set(&r.ends, p.Round, p)
	r.endedAt = max(r.endedAt, m.at)
	if m.seq > s.recalled[r.id] {
		delete(s.recalled, r.id)
		s.finished = append(s.finished, r)
	}
}

// touchAll marks a run and each task of it.
func (s *State) touchAll(r *run) {
	s.touchRun(r)
	for _, t := range r.list {
		s.touch(t)
	}
}

func insert(places []uint64, seq uint64) []uint64 {
	i, known := slices.BinarySearch(places, seq)
	if known {
		return places
	}
	return slices.Insert(places, i, seq)
}

func joined(reasons []string) string { return strings.Join(reasons, "; ") }
