package view

import (
	"context"
	"errors"
	"time"

	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/schedule"
	"github.com/sluiceci/sluice/services/reporter/readmodel"
)

// IsMissing reports whether an error says that something is not there.
func IsMissing(err error) bool {
	var m *missing
	return errors.As(err, &m)
}

// Task is all of a task that fits a page.
type Task struct {
	Run        readmodel.Run        `json:"run"`
	Task       readmodel.Task       `json:"task"`
	Spec       *plan.Task           `json:"spec,omitempty"` // what the plan says of it
	Artifacts  []readmodel.Artifact `json:"artifacts"`
	Why        *schedule.Why        `json:"why,omitempty"`
	Unanswered string               `json:"unanswered,omitempty"`
}

const maxArtifacts = 200

// Task puts a task together. One that is only planned is there as well.
func (s *Source) Task(ctx context.Context, run release.RunID, id release.TaskID) (*Task, error) {
	r, found, err := s.Model.Run(ctx, run)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, Missing("run "+string(run), "sluice runs lists those that there are")
	}
	t := &Task{Run: r}
	if t.Task, found, err = s.Model.Task(ctx, run, id); err != nil {
		return nil, err
	}
	s.addSpec(ctx, t, id)
	if !found && t.Spec == nil {
		return nil, Missing("task "+string(id)+" in run "+string(run), "sluice status "+string(run)+" lists those that there are")
	}
	if !found {
		p := t.Spec
		t.Task = readmodel.Task{ID: p.ID, Name: p.Name, Job: p.Job, Kind: p.Kind, Pool: p.Pool, Needs: p.Needs, State: readmodel.TaskPlanned}
	}
	if t.Artifacts, _, err = s.Model.Artifacts(ctx, readmodel.ArtifactsQuery{Run: run, Task: id, Limit: maxArtifacts}); err != nil {
		return nil, err
	}
	if !r.Ended() && !t.Task.Ended() {
		s.addWhy(ctx, t)
	}
	return t, nil
}

func (s *Source) addSpec(ctx context.Context, t *Task, id release.TaskID) {
	p, err := s.Plan(ctx, t.Run.Plan)
	if err != nil {
		s.Log.Warn("cannot read the plan of a run", "run", t.Run.ID, "err", err)
	}
	if p == nil {
		return
	}
	if spec, ok := p.Task(id); ok {
		t.Spec = spec
	}
}

func (s *Source) addWhy(ctx context.Context, t *Task) {
	why, err := s.Why(ctx, t.Run.ID, t.Task.ID)
	if err != nil {
		t.Unanswered = err.Error()
		return
	}
	t.Why = &why
}

// LastAttempt is the number of an attempt that is known: the one asked for, or the last for 0.
func (s *Source) LastAttempt(ctx context.Context, run release.RunID, id release.TaskID, n int32) (int32, error) {
	task, found, err := s.Model.Task(ctx, run, id)
	if err != nil {
		return 0, err
	}
	if !found {
		return 0, Missing("task "+string(id)+" in run "+string(run), "it was not requested yet, or is not in the plan")
	}
	a, ok := task.Attempt(n)
	if !ok {
		return 0, Missing("this attempt of task "+string(id), "it has not been tried so often yet")
	}
	return a.Number, nil
}

// Answer says why a run, or a task, is where it is: as the test-scheduler says, or, when it does not answer, as the last
// fact says.
type Answer struct {
	schedule.Why
	By           string       `json:"by"`                     // who says it: "test-scheduler", or "reporter" from what was stored
	Note         string       `json:"note,omitempty"`         // who did not answer
	Publications []Publishing `json:"publications,omitempty"` // of a run: how far each target is, and what it waits for
}

// Explain says why.
func (s *Source) Explain(ctx context.Context, run release.RunID, task release.TaskID) (Answer, error) {
	r, found, err := s.Model.Run(ctx, run)
	if err != nil {
		return Answer{}, err
	}
	if !found {
		return Answer{}, Missing("run "+string(run), "sluice runs lists those that there are")
	}
	answer, err := s.answer(ctx, r, task)
	if err == nil && task == "" {
		answer.Publications, err = s.publishing(ctx, r)
	}
	return answer, err
}

func (s *Source) answer(ctx context.Context, r readmodel.Run, task release.TaskID) (Answer, error) {
	why, err := s.Why(ctx, r.ID, task)
	if err == nil {
		return Answer{Why: why, By: "test-scheduler"}, nil
	}
	stored, storedErr := s.stored(ctx, r, task)
	return Answer{Why: stored, By: "reporter", Note: "the test-scheduler did not say: " + err.Error()}, storedErr
}

// stored is what the rows say.
func (s *Source) stored(ctx context.Context, r readmodel.Run, id release.TaskID) (schedule.Why, error) {
	w := schedule.Why{Run: r.ID, Task: id, State: r.State, Reason: r.Reason, Round: r.Round, Outcome: r.Outcome, Since: r.Updated}
	if id == "" {
		gates, err := s.Model.Gates(ctx, r.ID)
		if n := len(gates); n > 0 {
			w.Conditions = gates[n-1].Conditions
		}
		return w, err
	}
	t, err := s.Task(ctx, r.ID, id)
	if err != nil {
		return w, err
	}
	w.State, w.Reason, w.Attempt, w.Outcome, w.Class = t.Task.State, t.Task.Reason, t.Task.Tried, t.Task.Outcome, t.Task.Class
	w.Since = latest(t.Task.Requested, t.Task.Started, t.Task.Finished)
	w.Until = t.Task.Delayed
	return w, nil
}

func latest(times ...time.Time) time.Time {
	var out time.Time
	for _, t := range times {
		if t.After(out) {
			out = t
		}
	}
	return out
}
