package schedule

import (
	"slices"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/lease"
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
	over    bool // more is used of a budget than there is: by what another scheduler dispatched

	leases   *lease.Table
	placed   bool               // something is known of places
	revision uint64             // of leases, that the last decision has seen
	places   *budget            // what waits for one
	askedAll stamp              // when the table was last told which asks stand
	leasing  map[*task]*leasing // whose places are being granted

	lines    map[string]*line          // branches and pull requests
	ledgers  map[string]*ledger        // releases, whose retries are counted over all their runs
	received map[release.RunID]mark    // changes: how new a run is
	drains   map[string]draining       // by the key of the executor
	paces    map[paceKey]time.Duration // how long tasks took
	gaps     []gap                     // in which nothing was decided

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
	doubts       []Doubt // that nobody has taken
	seq          uint64  // the newest fact
	clock        stamp   // of the newest fact
	asked        stamp   // when it is to decide again
	time         clock
	now          stamp // of the last decision, by the stream's clock
	began        stamp // the first decision
	watching     stamp // since when it has looked without a gap
	echo         echo
	attended     stamp // when a scheduler, this one or another, was last known to decide
}

// New makes an empty state.
func New(cfg Config) *State {
	return &State{
		limits: newLimits(cfg.Limits), budgets: map[limitKey]*budget{}, leases: lease.New(cfg.Leases),
		places: &budget{name: "places"}, leasing: map[*task]*leasing{}, lines: map[string]*line{}, ledgers: map[string]*ledger{},
		received: map[release.RunID]mark{}, drains: map[string]draining{}, paces: map[paceKey]time.Duration{},
		cfg: cfg.withDefaults(), runs: map[release.RunID]*run{}, pools: map[string]*pool{},
		fleet: map[string]*executor{}, forgotten: map[release.RunID]bool{}, recalled: map[release.RunID]uint64{},
	}
}

// Hears lists the facts that State is folded from; heartbeats come beside them.
func Hears() []event.Type {
	return union(lease.Hears(), []event.Type{
		event.TypeChangeReceived, event.TypeChangeIgnored, event.TypeExecutorDraining, event.TypeRunPlanned, event.TypeRunRejected, event.TypeRunPermissionRequested, event.TypeRunCancelRequested, event.TypeRunRetryRequested,
		event.TypeRunFinished, event.TypeTaskRequested, event.TypeTaskDispatched, event.TypeTaskAwaited, event.TypeTaskStarted,
		event.TypeTaskFinished, event.TypeTaskDelayed, event.TypeTaskConcluded, event.TypeTaskCancelRequested,
		event.TypeCandidateAssembled, event.TypeCandidateRejected, event.TypeGateOpened, event.TypeGateClosed,
		event.TypeGateApproved, event.TypeEnvironmentApproved, event.TypeGateHeld, event.TypeGateResumed, event.TypePublicationChecked, event.TypePublicationFailed,
		event.TypePublicationRetryRequested, event.TypeReleasePublished, event.TypeReleaseFailed,
		event.TypePoolDrainRequested, event.TypeLimitSet,
	})
}

func union(a, b []event.Type) []event.Type {
	out := slices.Concat(b, a)
	slices.Sort(out)
	return slices.Compact(out)
}

// Says lists the types of the intents that Decide makes.
func Says() []event.Type {
	return union(lease.Says(), []event.Type{
		event.TypeTaskDispatched, event.TypeTaskStarted, event.TypeTaskDelayed, event.TypeTaskConcluded, event.TypeTaskFinished,
		event.TypeTaskCancelRequested, event.TypeGateOpened, event.TypeGateClosed, event.TypeRunFinished,
		event.TypeRunCancelRequested,
	})
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
