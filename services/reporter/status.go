package reporter

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/forge"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/service"
	"github.com/sluiceci/sluice/services/reporter/readmodel"
)

const (
	statusWorkers = 4
	// statusAge is the age at which nobody waits for a status any more. A reporter that is new to a long history says
	// nothing about it.
	statusAge = 24 * time.Hour
	// statusPause is when a status is tried again whose forge is busy with another one.
	statusPause = 200 * time.Millisecond
)

// statuses tells forges how commits fare. Only transitions are told: a forge keeps a limited number per commit.
type statuses struct {
	deps     service.Deps
	public   string
	projects []Project
	busy     map[string]chan struct{} // by project: a forge that does not answer holds few workers
}

func newStatuses(config Config, deps service.Deps) *statuses {
	s := &statuses{deps: deps, public: strings.TrimRight(config.PublicURL, "/"), busy: map[string]chan struct{}{}}
	for _, p := range config.Projects {
		if p.Forge != "" && p.Forge != "git" {
			s.projects = append(s.projects, p)
			s.busy[p.Name] = make(chan struct{}, 1)
		}
	}
	return s
}

// planned says that a run has begun. One that has ended already gets its end: this message may be late, and the end of a run
// that was cancelled before it was planned found no commit to be told of.
func (s *statuses) planned(ctx context.Context, d *bus.Delivery[event.RunPlanned]) error {
	ended, err := s.ended(ctx, d.Event.Run)
	if err != nil {
		return err
	}
	if ended {
		return s.repair(ctx, d.Event.Run)
	}
	if err := s.set(ctx, d.Event, d.Data.Change, forge.Pending, "the run has begun"); err != nil {
		return err
	}
	return s.repair(ctx, d.Event.Run)
}

// unpermitted says that a run waits until somebody lets it run, unless it has a plan by now.
func (s *statuses) unpermitted(ctx context.Context, d *bus.Delivery[event.RunPermissionRequested]) error {
	if planned, err := s.there(ctx, d.Event.Run, event.RunPlanned{}); err != nil || planned {
		return err
	}
	return s.set(ctx, d.Event, d.Data.Change, forge.Pending, "waits for /ok-to-test of a maintainer: "+d.Data.Reason)
}

// rejected says where the definition is wrong.
func (s *statuses) rejected(ctx context.Context, d *bus.Delivery[event.RunRejected]) error {
	line, _ := readmodel.Line(d.Event)
	return s.set(ctx, d.Event, d.Data.Change, release.Failure, line)
}

// finished says how a round ended, unless a later one has ended too.
func (s *statuses) finished(ctx context.Context, d *bus.Delivery[event.RunFinished]) error {
	later := event.RunFinished{Round: d.Data.Round + 1}
	if there, err := s.there(ctx, d.Event.Run, later); err != nil || there {
		return err
	}
	return s.final(ctx, d.Event, d.Data)
}

func (s *statuses) final(ctx context.Context, e event.Event, p event.RunFinished) error {
	planned, err := s.deps.Bus.Get(ctx, event.Root(e.Run, Name, e.Time, event.RunPlanned{}).Subject())
	if err == nil {
		return s.set(ctx, e, planned.Data.(event.RunPlanned).Change, p.Outcome, p.Reason)
	}
	if !bus.Empty(err) {
		return err
	}
	asked, err := s.deps.Bus.Get(ctx, event.Root(e.Run, Name, e.Time, event.RunPermissionRequested{}).Subject())
	if bus.Empty(err) || err == nil && p.Outcome != release.Cancelled {
		return nil // a rejected run was told already
	}
	if err != nil {
		return err
	}
	return s.set(ctx, e, asked.Data.(event.RunPermissionRequested).Change, p.Outcome, p.Reason)
}

// repair says the end of the last round that ended: its message may have come before the run was planned, or while the
// beginning was being told.
func (s *statuses) repair(ctx context.Context, run release.RunID) error {
	var last event.Event
	for round := int32(0); ; round++ {
		e, err := s.deps.Bus.Get(ctx, event.Root(run, Name, time.Time{}, event.RunFinished{Round: round}).Subject())
		if bus.Empty(err) {
			break
		}
		if err != nil {
			return err
		}
		last = e
	}
	if end, is := last.Data.(event.RunFinished); is {
		return s.final(ctx, last, end)
	}
	return nil
}

func (s *statuses) ended(ctx context.Context, run release.RunID) (bool, error) {
	return s.there(ctx, run, event.RunFinished{})
}

func (s *statuses) there(ctx context.Context, run release.RunID, p event.Payload) (bool, error) {
	_, err := s.deps.Bus.Get(ctx, event.Root(run, Name, time.Time{}, p).Subject())
	if bus.Empty(err) {
		return false, nil
	}
	return err == nil, err
}

// set tells the project's forge the state of a commit.
func (s *statuses) set(ctx context.Context, e event.Event, c release.Change, state release.Outcome, text string) error {
	p, ok := s.project(c)
	if !ok || s.deps.Now().Sub(e.Time) > statusAge || strings.HasPrefix(c.Nonce, event.BisectNonce) {
		return nil // a bisection looks at old commits: their statuses stay as they are
	}
	leave, err := s.enter(p)
	if err != nil {
		return err
	}
	defer leave()
	token, err := s.deps.Secret(p.Token)
	if err != nil {
		return fault.New(fault.Denied, "cannot set the status of commit %s: %w", c.Commit.Short(), err)
	}
	return forge.SetStatus(ctx, forge.StatusRequest{
		Forge: p.Forge, BaseURL: p.BaseURL, Token: token, Repo: cmp.Or(p.Repo, c.Repo), Commit: c.Commit, State: state,
		Context: contextOf(c), Description: text, TargetURL: s.page(e.Run),
	})
}

// project finds the project of a change by its name, or by its repository.
func (s *statuses) project(c release.Change) (Project, bool) {
	for _, p := range s.projects {
		if p.Name == c.Project || c.Project == "" && p.Repo == c.Repo {
			return p, true
		}
	}
	return Project{}, false
}
