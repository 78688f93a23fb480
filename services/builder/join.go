package builder

import (
	"fmt"
	"maps"
	"slices"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

func joinHears() []event.Type {
	return []event.Type{
		event.TypeRunPlanned, event.TypeRunRetryRequested, event.TypeTaskRequested, event.TypeTaskFinished,
		event.TypeTaskConcluded, event.TypeCandidateAssembled, event.TypeCandidateRejected,
	}
}

// joins is the fold: every run whose builds are not all in, or whose candidate is not yet a fact. Facts may come in any
// order and more than once.
type joins map[release.RunID]*joined

// joined is what is known of the builds of a run.
type joined struct {
	cause   event.Event // the newest fact that moved it
	planned *event.RunPlanned
	round   int32
	retries map[string]bool // requests, to count each once
	tasks   map[release.TaskID]*joinedTask
	ended   int32          // builds that have ended in the round, so that a fact costs the same in a large run
	decided map[int32]bool // rounds whose candidate is a fact
}

type joinedTask struct {
	build, softFail bool
	name, pool      string
	known           bool                          // it was requested: its pool is known
	results         map[string]release.Completion // its success that counts, by the pool that says so
	concluded       map[int32]event.TaskConcluded // by round
}

// apply folds one fact.
func (j joins) apply(e event.Event) {
	run := j[e.Run]
	if run == nil {
		run = &joined{retries: map[string]bool{}, tasks: map[release.TaskID]*joinedTask{}, decided: map[int32]bool{}}
		j[e.Run] = run
	}
	run.cause = e
	switch p := e.Data.(type) {
	case event.RunPlanned:
		run.planned = &p
	case event.RunRetryRequested:
		run.retry(p.Request)
	case event.TaskRequested:
		run.change(p.Task, func(t *joinedTask) {
			t.build, t.softFail, t.name, t.pool, t.known = p.Kind != release.Test, p.SoftFail, p.Name, p.Pool, true
		})
	case event.TaskFinished:
		if p.Succeeded() {
			run.change(p.Task, func(t *joinedTask) {
				t.results[p.Pool] = t.results[p.Pool].Counting(release.Completion{Seq: e.Seq, Attempt: p.Attempt, Artifacts: p.Artifacts})
			})
		}
	case event.TaskConcluded:
		run.change(p.Task, func(t *joinedTask) { t.concluded[p.Round] = p })
	case event.CandidateAssembled:
		run.decided[p.Round] = true
	case event.CandidateRejected:
		run.decided[p.Round] = true
	}
}

// retry opens the next round, in which other builds count as ended.
func (r *joined) retry(request string) {
	r.retries[request] = true
	r.round = int32(len(r.retries))
	r.ended = 0
	for _, t := range r.tasks {
		r.ended += t.ended(r.round)
	}
}

func (r *joined) change(id release.TaskID, change func(*joinedTask)) {
	t := r.tasks[id]
	if t == nil {
		t = &joinedTask{concluded: map[int32]event.TaskConcluded{}, results: map[string]release.Completion{}}
		r.tasks[id] = t
	}
	before := t.ended(r.round)
	change(t)
	r.ended += t.ended(r.round) - before
}

// succeeded reports whether the pool that the task was given to says that it succeeded, and what it left: the first success
// in the stream, which is also what tests are given. What another pool says of it does not count.
func (t *joinedTask) succeeded() ([]release.Artifact, bool) {
	success, said := t.results[t.pool]
	return success.Artifacts, said && t.known
}

// ended is 1 for a build that has ended in a round.
func (t *joinedTask) ended(round int32) int32 {
	_, succeeded := t.succeeded()
	if _, gaveUp := t.concluded[round]; t.build && (succeeded || gaveUp) {
		return 1
	}
	return 0
}

// complete is what the builds of a run gave, once all have ended.
type complete struct {
	run       release.RunID
	round     int32
	cause     event.Event
	planned   event.RunPlanned
	artifacts []release.Artifact
	failures  []string // builds that did not succeed, each with its reason
}

// ready lists the runs whose builds have all ended and whose candidate is not decided, in a fixed order.
func (j joins) ready() []complete {
	var out []complete
	for _, id := range slices.Sorted(maps.Keys(j)) {
		if c, ok := j[id].complete(); ok {
			c.run = id
			out = append(out, c)
		}
	}
	return out
}

func (r *joined) complete() (complete, bool) {
	if r.planned == nil || r.decided[r.round] || r.ended != r.planned.Builds {
		return complete{}, false
	}
	c := complete{round: r.round, cause: r.cause, planned: *r.planned}
	for _, id := range slices.Sorted(maps.Keys(r.tasks)) {
		t := r.tasks[id]
		concluded, gaveUp := t.concluded[r.round]
		artifacts, succeeded := t.succeeded()
		switch {
		case !t.build:
		case succeeded:
			c.artifacts = append(c.artifacts, artifacts...)
		case gaveUp:
			if !t.softFail {
				c.failures = append(c.failures, fmt.Sprintf("%s: %s: %s", t.name, concluded.Outcome, concluded.Reason))
			}
		}
	}
	return c, true
}
