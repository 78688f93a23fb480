package gateway

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/dialect/ray/bisect"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// say stores a fact that the rules lead to. What was said before changes nothing.
func (hs *hunts) say(ctx context.Context, run release.RunID, p event.Payload) error {
	_, err := hs.gateway.say(ctx, run, p)
	return err
}

// advance says which runs come next. They are started once that is a fact.
func (hs *hunts) advance(ctx context.Context, h *hunt, p Project, step bisect.Step) error {
	say := event.BisectAdvanced{
		Bisect: h.asked.Bisect, Number: h.next, Passing: release.Commit(step.Passing), Failing: release.Commit(step.Failing), Reason: step.Why,
	}
	for _, r := range step.Start {
		change := h.change(p, release.Commit(r.Commit), int32(r.Number))
		say.Started = append(say.Started, event.BisectRun{Commit: change.Commit, Number: int32(r.Number), Run: change.RunID()})
	}
	return hs.say(ctx, event.Fleet, say)
}

// change is one run of the test at a commit. A commit that is named alone is on no branch: its run never publishes.
func (h *hunt) change(p Project, commit release.Commit, number int32) release.Change {
	parameters := maps.Clone(h.asked.Parameters)
	if parameters == nil {
		parameters = map[string]string{}
	}
	parameters["only"] = h.asked.Task
	c := release.Change{
		Kind: release.Manual, Project: p.Name, Repo: p.Repo, CloneURL: p.CloneURL, Forge: p.Forge, Commit: commit,
		Ref: "refs/commits/" + string(commit), Author: cmp.Or(h.asked.By, "sluice"), Title: "bisect " + h.asked.Test, Verified: "api",
		Nonce: fmt.Sprintf("%s%s:%d", event.BisectNonce, h.asked.Bisect, number), Parameters: parameters,
	}
	if parameters["schedule"] != "" {
		c.Kind = release.Schedule // so is the test planned as when it failed
	}
	return c
}

// start starts the runs that were said and not begun: the gateway may have ended between the two.
func (hs *hunts) start(ctx context.Context, h *hunt, p Project) error {
	for _, q := range h.ordered() {
		if q.known || q.outcome != bisect.Running {
			continue
		}
		if _, _, err := hs.gateway.announce(ctx, h.change(p, q.Commit, q.Number)); err != nil {
			return err
		}
		q.known = true
	}
	return nil
}

// ask finds out how the tests of runs that have ended did.
func (hs *hunts) ask(ctx context.Context, h *hunt) error {
	for _, q := range h.runs {
		if q.finished == nil {
			continue
		}
		outcome, unbuilt, err := hs.gateway.judged(ctx, *q.finished)
		if err != nil {
			return err
		}
		q.outcome, q.unbuilt, q.finished = outcome, unbuilt, nil
	}
	return nil
}

func (h *hunt) ordered() []*quarry {
	return slices.SortedFunc(maps.Values(h.runs), func(a, b *quarry) int {
		return cmp.Or(cmp.Compare(slices.Index(h.commits, a.Commit), slices.Index(h.commits, b.Commit)), cmp.Compare(a.Number, b.Number))
	})
}

// cancel ends runs whose outcome no longer matters.
func (hs *hunts) cancel(ctx context.Context, h *hunt, runs []bisect.Run) error {
	for _, r := range runs {
		for id, q := range h.runs {
			if string(q.Commit) != r.Commit || int(q.Number) != r.Number || q.stopped || q.outcome != bisect.Running {
				continue
			}
			wish := event.RunCancelRequested{Request: bisectRequest(h), By: h.asked.By, Reason: "its bisection no longer asks for it"}
			if err := hs.say(ctx, id, wish); err != nil {
				return err
			}
			q.stopped = true
		}
	}
	return nil
}

func bisectRequest(h *hunt) string { return "bisect-" + release.Slug(h.asked.Bisect) }

// giveUp ends a bisection, with the commit that it blames or with the reason why it blames none.
func (hs *hunts) giveUp(ctx context.Context, h *hunt, step bisect.Step) error {
	var left []bisect.Run
	for _, q := range h.runs {
		left = append(left, bisect.Run{Commit: string(q.Commit), Number: int(q.Number)})
	}
	if err := hs.cancel(ctx, h, left); err != nil {
		return err
	}
	say := event.BisectEnded{
		Bisect: h.asked.Bisect, Project: h.asked.Project, Test: h.asked.Test, Passing: release.Commit(step.Passing),
		Failing: release.Commit(step.Failing), Unbuilt: h.unbuilt(), Runs: int32(len(h.runs)), Reason: step.Why,
	}
	if step.Do == bisect.Blame {
		say.Blamed = release.Commit(step.Commit)
		if n := h.between(say.Passing, say.Blamed); n > 0 {
			say.Reason += fmt.Sprintf("; %d commits between the two could not be built: it may be one of them", n)
		}
	}
	return hs.say(ctx, event.Fleet, say)
}

// between counts the commits of the question strictly between two.
func (h *hunt) between(from, to release.Commit) int {
	return slices.Index(h.commits, to) - slices.Index(h.commits, from) - 1
}

// judged tells how the test of a run ended. The run has it, what it needs, and nothing else.
func (g *gateway) judged(ctx context.Context, finished event.Event) (outcome bisect.Outcome, unbuilt bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	f, err := g.deps.Bus.Follow(ctx, bus.Following{
		Name: "gateway-bisect-run", Run: string(finished.Run),
		Types: []event.Type{event.TypeRunPlanned, event.TypeTaskRequested, event.TypeTaskFinished, event.TypeTaskConcluded},
	})
	if err != nil {
		return bisect.Running, false, err
	}
	defer f.Close()
	var t trial
	for {
		batch, err := f.Next(ctx, time.Second)
		if err != nil {
			return bisect.Running, false, fault.As(fault.Transient, err)
		}
		for _, e := range batch.Events {
			if e.Seq <= finished.Seq {
				t.hear(e)
			}
		}
		if batch.Live {
			outcome, unbuilt = t.verdict()
			return outcome, unbuilt, nil
		}
	}
}

// trial is what the tasks of one run say of its commit.
type trial struct {
	tests          map[release.TaskID]bool
	passed, failed map[release.TaskID]bool
	broken         bool // a build failed by the commit's own fault
	owners         event.Owners
}

func (t *trial) hear(e event.Event) {
	if t.tests == nil {
		t.tests, t.passed, t.failed = map[release.TaskID]bool{}, map[release.TaskID]bool{}, map[release.TaskID]bool{}
	}
	t.owners.Hear(e)
	if believed, _ := t.owners.Believes(e); !believed {
		return
	}
	switch d := e.Data.(type) {
	case event.TaskRequested:
		t.tests[d.Task] = d.Kind == release.Test
	case event.TaskFinished:
		if d.Outcome == release.Success {
			t.passed[d.Task] = true
		}
	case event.TaskConcluded:
		switch {
		case d.Outcome != release.Failure || d.Attempts == 0: // it says nothing of the commit
		case t.tests[d.Task]:
			t.failed[d.Task] = true
		default:
			t.broken = true
		}
	}
}

// verdict is what a run says: missing is not passing, and a machine that failed says nothing.
func (t *trial) verdict() (outcome bisect.Outcome, unbuilt bool) {
	tests, passed := 0, 0
	for id, test := range t.tests {
		if test {
			tests++
		}
		if test && t.passed[id] {
			passed++
		}
	}
	switch {
	case len(t.failed) > 0:
		return bisect.Fail, false
	case tests > 0 && passed == tests:
		return bisect.Pass, false
	default:
		return bisect.Infra, t.broken
	}
}
