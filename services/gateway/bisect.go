package gateway

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/dialect/ray/bisect"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// History lists the commits between two; *git.Cache does.
type History interface {
	Between(ctx context.Context, url string, from, to release.Commit, most int) ([]release.Commit, error)
}

const (
	bisectMost  = 1000            // commits in question
	bisectIdle  = time.Second     // between two looks at deadlines
	bisectPause = 5 * time.Second // before a forge that was away is asked again for commits
)

func bisectHears() []event.Type {
	return []event.Type{
		event.TypeBisectRequested, event.TypeBisectAdvanced, event.TypeBisectEnded,
		event.TypeRunFinished, event.TypeRunRejected, event.TypeChangeIgnored,
	}
}

func bisectSays() []event.Type {
	return []event.Type{
		event.TypeBisectAdvanced, event.TypeBisectEnded, event.TypeChangeReceived, event.TypeRunCancelRequested,
	}
}

// hunts are the bisections that have not ended. Which there are, and what each knows, is a fold over the stream: it goes on
// wherever it was, in whichever process.
type hunts struct {
	gateway *gateway
	open    map[string]*hunt
	ended   map[string]bool
	runs    map[release.RunID]*hunt
	dirty   map[*hunt]bool // something was heard since they were last told of their runs
}

// hunt is one bisection.
type hunt struct {
	asked   event.BisectRequested
	commits []release.Commit
	next    int32 // number of the next advance
	runs    map[release.RunID]*quarry
	after   time.Time // before which the forge is not asked again
}

// quarry is one run of a bisection.
type quarry struct {
	event.BisectRun
	outcome  bisect.Outcome
	unbuilt  bool         // it ended before the test could run, by the commit's fault
	finished *event.Event // that was not yet asked about
	known    bool         // it was started
	stopped  bool         // it was told to end
}

// hunt drives the bisections of this installation, for ever.
func (g *gateway) hunt(ctx context.Context) error {
	f, err := g.deps.Bus.Follow(ctx, bus.Following{Name: "gateway-bisect", Types: bisectHears()})
	if err != nil {
		return err
	}
	defer f.Close()
	hs := &hunts{gateway: g, open: map[string]*hunt{}, ended: map[string]bool{}, runs: map[release.RunID]*hunt{}}
	for live := false; ; {
		batch, err := f.Next(ctx, bisectIdle)
		if err != nil {
			return err
		}
		for _, e := range batch.Events {
			hs.hear(e)
		}
		if live = live || batch.Live; !live || !batch.Live {
			continue
		}
		if err := hs.drive(ctx); err != nil {
			return err
		}
	}
}

// hear folds one fact.
func (hs *hunts) hear(e event.Event) {
	switch d := e.Data.(type) {
	case event.BisectRequested:
		if !hs.ended[d.Bisect] && hs.open[d.Bisect] == nil {
			hs.open[d.Bisect] = &hunt{asked: d, runs: map[release.RunID]*quarry{}}
		}
	case event.BisectAdvanced:
		if h := hs.open[d.Bisect]; h != nil {
			h.advance(d)
			for id := range h.runs {
				hs.runs[id] = h
			}
		}
	case event.BisectEnded:
		hs.end(d.Bisect)
	default:
		if h := hs.runs[e.Run]; h != nil {
			h.runs[e.Run].hear(e)
		}
	}
}

// hear notes that a run has ended. How its test did is asked for later, by those whose bisection is still open.
func (q *quarry) hear(e event.Event) {
	q.known = true
	switch e.Data.(type) {
	case event.RunFinished:
		q.finished = &e
	default:
		q.outcome, q.unbuilt = bisect.Infra, true // the commit gives no plan with this test
	}
}

func (hs *hunts) end(id string) {
	if h := hs.open[id]; h != nil {
		for run := range h.runs {
			delete(hs.runs, run)
		}
	}
	delete(hs.open, id)
	hs.ended[id] = true
}

func (h *hunt) advance(d event.BisectAdvanced) {
	if d.Number != h.next {
		return
	}
	h.next++
	if d.Number == 0 {
		h.commits = d.Commits
	}
	for _, r := range d.Started {
		h.runs[r.Run] = &quarry{BisectRun: r}
	}
}

// drive says what follows for each bisection. One that cannot be helped now does not hold up the others.
func (hs *hunts) drive(ctx context.Context) error {
	for _, id := range slices.Sorted(maps.Keys(hs.open)) {
		h := hs.open[id]
		err := hs.step(ctx, h)
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return err
		default:
			h.after = hs.gateway.deps.Now().Add(bisectPause)
			hs.gateway.deps.Log.Warn("cannot go on with a bisection; trying again", "bisect", id, "test", h.asked.Test, "err", err)
		}
	}
	return nil
}

// step makes the next step of a bisection: first the commits in question, then what the rules say.
func (hs *hunts) step(ctx context.Context, h *hunt) error {
	now := hs.gateway.deps.Now()
	if now.Before(h.after) {
		return nil
	}
	p, err := hs.gateway.project(h.asked.Project)
	if err != nil {
		return hs.giveUp(ctx, h, bisect.Step{Why: err.Error()})
	}
	if h.next == 0 {
		return hs.begin(ctx, h, p, now)
	}
	if err := hs.ask(ctx, h); err != nil {
		return err
	}
	if err := hs.start(ctx, h, p); err != nil {
		return err
	}
	step := h.decide(now)
	if err := hs.cancel(ctx, h, step.Stop); err != nil {
		return err
	}
	switch step.Do {
	case bisect.Start:
		return hs.advance(ctx, h, p, step)
	case bisect.Blame, bisect.GiveUp:
		return hs.giveUp(ctx, h, step)
	}
	return nil
}

// begin freezes the commits in question.
func (hs *hunts) begin(ctx context.Context, h *hunt, p Project, now time.Time) error {
	history, _ := hs.gateway.git.(History)
	if history == nil {
		return hs.giveUp(ctx, h, bisect.Step{Why: "this gateway reads no commits"})
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	commits, err := history.Between(ctx, p.CloneURL, h.asked.Good, h.asked.Bad, bisectMost)
	switch {
	case fault.Is(err, fault.Invalid), err != nil && !now.Before(h.asked.Deadline):
		return hs.giveUp(ctx, h, bisect.Step{Why: err.Error()})
	case err != nil:
		return err
	}
	return hs.say(ctx, event.Fleet, event.BisectAdvanced{Bisect: h.asked.Bisect, Commits: commits, Reason: strconv.Itoa(len(commits)) + " commits are in question"})
}

// decide asks the rules what comes next. Commits that cannot be built are left out of the question.
func (h *hunt) decide(now time.Time) bisect.Step {
	unbuilt := h.unbuilt()
	c := bisect.Config{
		Parallel: int(h.asked.Ways), Runs: int(h.asked.Runs), Confirm: int(h.asked.Confirm), Deadline: h.asked.Deadline,
		Budget: int(h.asked.Budget),
	}
	for i, commit := range h.commits {
		if !slices.Contains(unbuilt, commit) {
			c.Commits = append(c.Commits, string(commit))
		} else if i == 0 || i == len(h.commits)-1 {
			return bisect.Step{Do: bisect.GiveUp, Why: "commit " + commit.Short() + " gives no run of the test: it cannot be told whether it passes"}
		}
	}
	var runs []bisect.Run
	for _, q := range h.runs {
		runs = append(runs, bisect.Run{Commit: string(q.Commit), Number: int(q.Number), Outcome: q.outcome})
	}
	slices.SortFunc(runs, func(a, b bisect.Run) int { return cmp.Compare(a.Key(), b.Key()) })
	return bisect.Next(c, runs, now)
}

// unbuilt lists the commits whose test could not be run, by their own fault, in the order of the commits.
func (h *hunt) unbuilt() []release.Commit {
	bad := map[release.Commit]bool{}
	for _, q := range h.runs {
		bad[q.Commit] = bad[q.Commit] || q.unbuilt
	}
	return slices.DeleteFunc(slices.Clone(h.commits), func(c release.Commit) bool { return !bad[c] })
}
