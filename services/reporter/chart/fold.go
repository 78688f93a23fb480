package chart

import (
	"cmp"
	"slices"

	"github.com/sluiceci/sluice/pkg/event"
)

// Apply folds facts, in the order of the stream. Whole says that nothing more was stored when the last of them was.
func (b *Book) Apply(events []event.Event, whole bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range events {
		b.apply(e)
	}
	b.whole = b.whole || whole
}

func (b *Book) apply(e event.Event) {
	switch d := e.Data.(type) {
	case event.TestsJudged:
		for _, t := range d.Tests {
			b.test(d.Project, t.Test).judged(e, d, t)
		}
	case event.TestMoved:
		b.test(d.Project, d.Test).moved(e, d)
	case event.IssueSynced:
		if t := b.test(d.Project, d.Test); e.Seq > t.Issue.seq {
			t.Issue = Issue{Number: d.Issue, URL: d.URL, Open: d.Open, Action: d.Action, At: e.Time, seq: e.Seq}
		}
	case event.BisectRequested:
		b.requested(e, d)
	case event.BisectAdvanced:
		if one := b.bisects[d.Bisect]; one != nil {
			one.advanced(e, d)
		}
	case event.BisectEnded:
		if one := b.bisects[d.Bisect]; one != nil {
			one.Ended, one.Blamed, one.Reason = e.Time, d.Blamed, d.Reason
		}
	}
}

func (b *Book) test(project, test string) *Test {
	key := event.TestKey(project, test)
	t := b.tests[key]
	if t == nil {
		t = &Test{Key: key, Project: project, Name: test}
		b.tests[key] = t
	}
	return t
}

func (b *Book) requested(e event.Event, d event.BisectRequested) {
	if b.bisects[d.Bisect] != nil {
		return
	}
	one := &Bisect{ID: d.Bisect, Good: d.Good, Bad: d.Bad, At: e.Time, Deadline: d.Deadline, By: d.By, Reason: d.Reason}
	key := b.test(d.Project, d.Test).Key
	b.bisects[d.Bisect], b.of[key] = one, append(b.of[key], one)
}

// judged puts a result where it belongs by the time of its change; a later round takes the place of an earlier one.
func (t *Test) judged(e event.Event, d event.TestsJudged, one event.JudgedTest) {
	r := Result{
		Run: e.Run, Round: d.Round, Task: one.Task, Commit: d.Commit, At: d.At, Outcome: one.Outcome, Class: one.Class, Reason: one.Reason, seq: e.Seq,
	}
	for i, known := range t.Results {
		if known.Run == r.Run {
			if known.Round > r.Round {
				return
			}
			t.Results = slices.Delete(t.Results, i, i+1)
			break
		}
	}
	at, _ := slices.BinarySearchFunc(t.Results, r, func(a, b Result) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.seq, a.seq))
	})
	t.State = cmp.Or(t.State, firstState)
	t.Results = slices.Insert(t.Results, at, r)
	t.Results = t.Results[:min(len(t.Results), maxResults)]
	if at == 0 {
		t.Frequency, t.Stable = one.Frequency, one.Stable
		if t.State != jailedState {
			t.Owner = cmp.Or(one.Owner, t.Owner)
		}
	}
}

func (t *Test) moved(e event.Event, d event.TestMoved) {
	if len(t.Moves) > 0 && t.Moves[0].Number >= d.Number {
		return
	}
	t.State, t.Since, t.Until, t.By, t.Reason, t.Owner = d.To, e.Time, d.Until, d.By, d.Reason, cmp.Or(d.Owner, t.Owner)
	t.Moves = slices.Insert(t.Moves, 0, Move{
		Number: d.Number, From: d.From, To: d.To, At: e.Time, Until: d.Until, Owner: d.Owner, By: d.By, Run: d.Run, Reason: d.Reason,
	})
	t.Moves = t.Moves[:min(len(t.Moves), maxMoves)]
}

func (b *Bisect) advanced(e event.Event, d event.BisectAdvanced) {
	if d.Number == 0 {
		b.Commits = len(d.Commits)
	}
	b.Started += len(d.Started)
	if b.Ended.IsZero() {
		b.Reason = cmp.Or(d.Reason, b.Reason)
	}
	if len(b.Rounds) < maxRounds {
		b.Rounds = append(b.Rounds, Round{Number: d.Number, At: e.Time, Runs: d.Started, Passing: d.Passing, Failing: d.Failing, Reason: d.Reason})
	}
}
