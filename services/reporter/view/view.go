package view

import (
	"context"
	"log/slog"
	"sync"

	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/schedule"
	"github.com/sluiceci/sluice/services/reporter/readmodel"
)

// Source is where views come from. It is safe for concurrent use.
type Source struct {
	Model *readmodel.Model
	Blobs blob.Store
	Bus   *bus.Bus
	Log   *slog.Logger

	mu    sync.Mutex
	plans map[release.Digest]*plan.Plan // the last few that were read
}

const (
	maxPlan     = 64 << 20 // bytes
	maxPlans    = 8
	MaxTasks    = 2000 // of a run in one view
	maxTimeline = 500
)

// Detail is all of a run that fits a page.
type Detail struct {
	Run        readmodel.Run              `json:"run"`
	Tasks      []readmodel.Task           `json:"tasks"`                // the requested, in that order, then those that are only planned
	TasksNext  uint64                     `json:"tasks_next,omitempty"` // "tasks_after" of the rest
	Gates      []readmodel.Gate           `json:"gates"`
	Conditions []release.Condition        `json:"conditions"` // of the gate, decided or as the scheduler sees them now
	Candidates []readmodel.Candidate      `json:"candidates"`
	Steps      []readmodel.Step           `json:"steps"`
	Release    *readmodel.Release         `json:"release,omitempty"`
	Publishing []Publishing               `json:"publishing"` // how far each target is, and what it waits for
	Exports    []readmodel.Export         `json:"exports"`
	Artifacts  []readmodel.ArtifactTotals `json:"artifacts"`
	LeftOut    []plan.Skipped             `json:"left_out"` // of the plan, with reasons
	Why        *schedule.Why              `json:"why,omitempty"`
	Unanswered string                     `json:"unanswered,omitempty"` // who did not say why
}

// Missing is the error of what is not there.
func Missing(what, next string) error {
	return fault.New(fault.Invalid, "%w", &missing{what, next})
}

type missing struct{ what, next string }

func (m *missing) Error() string { return "cannot find " + m.what + "; " + m.next }

// Run puts a run together; tasks are those born after a place in the stream.
func (s *Source) Run(ctx context.Context, id release.RunID, tasksAfter uint64) (*Detail, error) {
	run, found, err := s.Model.Run(ctx, id)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, Missing("run "+string(id), "sluice runs lists those that there are")
	}
	d := &Detail{Run: run, LeftOut: []plan.Skipped{}, Conditions: []release.Condition{}}
	if err := s.rows(ctx, d, tasksAfter); err != nil {
		return nil, err
	}
	s.addPlan(ctx, d)
	s.addGate(ctx, d)
	d.Publishing, err = s.publishing(ctx, run)
	return d, err
}

func (s *Source) rows(ctx context.Context, d *Detail, tasksAfter uint64) error {
	id := d.Run.ID
	var err error
	for _, read := range []func() error{
		func() error { d.Tasks, d.TasksNext, err = s.Model.Tasks(ctx, id, tasksAfter, MaxTasks); return err },
		func() error { d.Gates, err = s.Model.Gates(ctx, id); return err },
		func() error { d.Candidates, err = s.Model.Candidates(ctx, id); return err },
		func() error { d.Steps, err = s.Model.Steps(ctx, id); return err },
		func() error { d.Release, err = s.Model.Release(ctx, id); return err },
		func() error { d.Exports, err = s.Model.Exports(ctx, id); return err },
		func() error { d.Artifacts, err = s.Model.CountArtifacts(ctx, id); return err },
	} {
		if err := read(); err != nil {
			return err
		}
	}
	return nil
}

// addPlan adds what only the plan knows: tasks that nobody asked for yet, and what was left out. A plan that cannot be
// read leaves the view without them.
func (s *Source) addPlan(ctx context.Context, d *Detail) {
	p, err := s.Plan(ctx, d.Run.Plan)
	if err != nil {
		s.Log.Warn("cannot read the plan of a run", "run", d.Run.ID, "err", err)
	}
	if p == nil {
		return
	}
	d.LeftOut = append(d.LeftOut, p.Skipped...)
	if d.TasksNext != 0 {
		return
	}
	known := map[release.TaskID]bool{}
	for _, t := range d.Tasks {
		known[t.ID] = true
	}
	for _, t := range p.Tasks {
		if !known[t.ID] && len(d.Tasks) < MaxTasks {
			d.Tasks = append(d.Tasks, readmodel.Task{
				ID: t.ID, Name: t.Name, Job: t.Job, Kind: t.Kind, Pool: t.Pool, Needs: t.Needs, State: readmodel.TaskPlanned,
			})
		}
	}
}

// addGate says what the gate demands: as it was decided, or as the scheduler sees it now.
func (s *Source) addGate(ctx context.Context, d *Detail) {
	if n := len(d.Gates); n > 0 && d.Run.State != readmodel.StateRunning {
		d.Conditions = d.Gates[n-1].Conditions
		return
	}
	if n := len(d.Gates); n > 0 {
		d.Conditions = d.Gates[n-1].Conditions
	}
	if d.Run.State != readmodel.StateRunning {
		return
	}
	why, err := s.Why(ctx, d.Run.ID, "")
	if err != nil {
		d.Unanswered = err.Error()
		return
	}
	d.Why = &why
	if len(why.Conditions) > 0 {
		d.Conditions = why.Conditions
	}
}

// Plan reads a frozen plan; an empty digest is none.
func (s *Source) Plan(ctx context.Context, digest release.Digest) (*plan.Plan, error) {
	if digest == "" {
		return nil, nil
	}
	s.mu.Lock()
	p := s.plans[digest]
	s.mu.Unlock()
	if p != nil {
		return p, nil
	}
	text, err := blob.ReadAll(ctx, s.Blobs, digest, maxPlan)
	if err != nil {
		return nil, err
	}
	if p, err = plan.Decode(text); err != nil {
		return nil, fault.As(fault.Internal, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.plans == nil || len(s.plans) >= maxPlans {
		s.plans = map[release.Digest]*plan.Plan{}
	}
	s.plans[digest] = p
	return p, nil
}
