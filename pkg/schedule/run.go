package schedule

import (
	"slices"

	"github.com/sluiceci/sluice/pkg/environment"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// run is what is known of a run.
type run struct {
	id      release.RunID
	cause   string // id of the event that its intents follow from
	first   uint64 // place of that event
	tasks   map[release.TaskID]*task
	early   map[release.TaskID][]claim // that wait until it is known whose the task is
	waiting int                        // of these
	list    []*task                    // in the order in which they were first named
	specs   []*spec                    // of its tasks, the newest last
	lanes   []*lane                    // one per pool that it has used
	want    *want
	alarm   stamp
	counts  counts
	retried ledger  // its own retries
	ledger  *ledger // of its release's retries; nil when its plan has no budget for these
	dooms   int32   // tasks whose failure decides the outcome, or is about to
	doomed  *task   // one of those whose failure decides the outcome

	planned     *event.RunPlanned
	plannedAt   mark
	rejected    bool
	unpermitted string         // why it waits for somebody to let it run, until it has a plan
	asked       release.Change // that it waits for
	retries     []retry        // in the order of the stream
	cancel      note           // the latest
	hold        note           // the latest
	resumed     uint64         // place of the latest gate.resumed
	approvals   map[approval]bool
	reviews     map[review]mark                     // of protected environments
	protected   []environment.Protected             // that its targets belong to
	candidates  map[int32]*event.CandidateAssembled // by round
	refusals    map[int32][]string                  // candidate.rejected, by round
	taken       map[int32][]string                  // names of the candidate that targets have with other bytes, by round
	opened      *opening
	closed      map[int32]stamp
	ends        map[int32]event.RunFinished
	endedAt     stamp
	published   bool
	unpublished note            // the latest release.failed
	republish   []uint64        // places of publication.retry_requested
	platform    map[uint64]bool // publication.failed by place: whether the fault is the platform's
	changed     bool
}

// counts are kept so that a run with 100 000 tasks need not be counted again for each.
type counts struct {
	known      int32 // tasks requested
	builds     int32 // of these, what the candidate is made of
	tests      int32 // and the others
	open       int32 // known and not ended
	openBuilds int32
	badBuilds  int32 // concluded, and their failure matters
	openTests  int32 // required tests that have not ended, known or not
	running    int32 // attempts started and not finished
}

// retry is a run.retry_requested.
type retry struct {
	mark  mark
	tasks []release.TaskID // empty: all
	void  bool             // it came after the gate had opened
}

// note is something that somebody said.
type note struct {
	mark   mark
	by     string
	reason string
}

// approval is what a person said of a candidate. Another candidate needs another approval.
type approval struct {
	by        string
	candidate release.Digest
}

// approvers counts the people who approved this round's candidate.
func (r *run) approvers() int {
	n := 0
	for a := range r.approvals {
		if c := r.candidate(); c != nil && a.candidate == c.Candidate {
			n++
		}
	}
	return n
}

// opening is the gate.opened that came first.
type opening struct {
	round int32
	mark  mark
}

func newRun(id release.RunID) *run {
	return &run{id: id, tasks: map[release.TaskID]*task{}, retried: ledger{name: "the run"}}
}

// task returns the task with an id. One that is not requested yet is a name that others wait for.
func (r *run) task(id release.TaskID) *task {
	t := r.tasks[id]
	if t == nil {
		t = &task{id: id, run: r}
		r.tasks[id] = t
		r.list = append(r.list, t)
		for i := range r.retries {
			if r.retries[i].names(id) {
				t.begin(int32(i+1), r.retries[i].mark.seq)
			}
		}
	}
	return t
}

// round counts the requests to try again: all of them, whatever they reset.
func (r *run) round() int32 { return int32(len(r.retries)) }

// ending is the round of the run's end: a publication that is tried again opens the run again as well.
func (r *run) ending() int32 { return r.round() + int32(len(r.republish)) }

func (y retry) names(id release.TaskID) bool {
	return !y.void && (len(y.tasks) == 0 || slices.Contains(y.tasks, id))
}

// reopened is the place of the latest retry that reset anything.
func (r *run) reopened() uint64 {
	for i := len(r.retries) - 1; i >= 0; i-- {
		if !r.retries[i].void {
			return r.retries[i].mark.seq
		}
	}
	return 0
}

// cancelled reports whether the run is to end. A retry asked for later takes the cancellation back.
func (r *run) cancelled() bool { return r.cancel.mark.seq > r.reopened() }

func (r *run) held() bool { return r.hold.mark.seq > r.resumed }

// candidate is this round's.
func (r *run) candidate() *event.CandidateAssembled { return r.candidates[r.round()] }

// allBuilds reports whether every build of the plan has been requested.
func (r *run) allBuilds() bool { return r.planned != nil && r.counts.builds >= r.planned.Builds }

func (r *run) allTests() bool { return r.planned != nil && r.counts.tests >= r.planned.Tests }

// complete reports whether no further task will be requested: tests are requested once a candidate exists.
func (r *run) complete() bool {
	return r.allBuilds() && (r.allTests() || len(r.candidates) == 0)
}

// project is whose share of a pool the run's attempts are.
func (r *run) project() string {
	if r.planned == nil {
		return ""
	}
	return r.planned.Change.Project
}

// quiet reports whether nothing of the run is under way or still to come.
func (r *run) quiet() bool { return r.complete() && r.counts.open == 0 && r.counts.running == 0 }

// spec returns the run's shared form of what a task asks for. Equal ones are found among the newest: the tasks of one
// job are requested one after the other.
func (r *run) spec(want spec) *spec {
	const look = 8
	for i := len(r.specs) - 1; i >= max(0, len(r.specs)-look); i-- {
		if r.specs[i].equal(&want) {
			return r.specs[i]
		}
	}
	if len(r.specs) == look {
		r.specs = append(r.specs[:0], r.specs[1:]...)
	}
	r.specs = append(r.specs, &want)
	return &want
}

// origin is the event that the run's intents name as their cause.
func (r *run) origin() event.Event { return event.Event{Run: r.id, ID: r.cause} }
