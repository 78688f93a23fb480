package schedule

import (
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// State is what the scheduler knows. It has one owner and is not safe for concurrent use.
//
// Runs, tasks and drained pools are folded from facts. The fleet is folded from heartbeats, which are no facts. All else
// is an index: it says where to look, never what is so.
type State struct {
	cfg   Config
	runs  map[release.RunID]*run
	pools map[string]*pool
	fleet map[string]*executor // by the key of its heartbeat

	limits  limits
	budgets map[limitKey]*budget

	forgotten map[release.RunID]bool   // finished runs whose tasks are not kept
	recall    []release.RunID          // forgotten runs that somebody asks for
	recalled  map[release.RunID]uint64 // those that came back, and when
	finished  []*run                   // in the order of their end, to be forgotten

	changedTasks []*task
	changedRuns  []*run
	changedPools []*pool
	heard        []*executor // heartbeats since the last decision
	wants        []*want     // made, not yet sent
	timers       timers
	seq          uint64 // the newest fact
	clock        stamp  // of the newest fact
	now          stamp  // of the last decision
}

// New makes an empty state.
func New(cfg Config) *State {
	return &State{
		limits: newLimits(cfg.Limits), budgets: map[limitKey]*budget{},
		cfg: cfg.withDefaults(), runs: map[release.RunID]*run{}, pools: map[string]*pool{},
		fleet: map[string]*executor{}, forgotten: map[release.RunID]bool{}, recalled: map[release.RunID]uint64{},
	}
}

// Hears lists the facts that State is folded from; heartbeats come beside them.
func Hears() []event.Type {
	return []event.Type{
		event.TypeRunPlanned, event.TypeRunRejected, event.TypeRunCancelRequested, event.TypeRunRetryRequested,
		event.TypeRunFinished, event.TypeTaskRequested, event.TypeTaskDispatched, event.TypeTaskStarted,
		event.TypeTaskFinished, event.TypeTaskDelayed, event.TypeTaskConcluded, event.TypeTaskCancelRequested,
		event.TypeCandidateAssembled, event.TypeCandidateRejected, event.TypeGateOpened, event.TypeGateClosed,
		event.TypeGateApproved, event.TypeGateHeld, event.TypeGateResumed, event.TypePublicationFailed,
		event.TypePublicationRetryRequested, event.TypeReleasePublished, event.TypeReleaseFailed,
		event.TypePoolDrainRequested, event.TypeLimitSet,
	}
}

// Says lists the types of the intents that Decide makes.
func Says() []event.Type {
	return []event.Type{
		event.TypeTaskDispatched, event.TypeTaskDelayed, event.TypeTaskConcluded, event.TypeTaskFinished,
		event.TypeTaskCancelRequested, event.TypeGateOpened, event.TypeGateClosed, event.TypeRunFinished,
	}
}

// touch marks a task for the next decision.
func (s *State) touch(t *task) {
	if !t.changed {
		t.changed = true
		s.changedTasks = append(s.changedTasks, t)
	}
}

func (s *State) touchRun(r *run) {
	if !r.changed {
		r.changed = true
		s.changedRuns = append(s.changedRuns, r)
	}
}

func (s *State) touchPool(p *pool) {
	if !p.changed {
		p.changed = true
		s.changedPools = append(s.changedPools, p)
	}
}

// run returns the run with an id; an event may name one before anything else is known of it.
func (s *State) run(id release.RunID) *run {
	r := s.runs[id]
	if r == nil {
		r = newRun(id)
		s.runs[id] = r
	}
	return r
}

func (s *State) pool(name string) *pool {
	p := s.pools[name]
	if p == nil {
		p = newPool(name)
		s.pools[name] = p
	}
	return p
}
