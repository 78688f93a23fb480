package schedule

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// Why says where a run or a task stands, what keeps it there, and who could change that.
type Why struct {
	Run        release.RunID       `json:"run"`
	Task       release.TaskID      `json:"task,omitempty"`
	State      string              `json:"state"`  // of a task its phase; of a run "planning", "building" … "finished"
	Reason     string              `json:"reason"` // one sentence
	Attempt    int32               `json:"attempt,omitempty"`
	Round      int32               `json:"round,omitempty"`
	Outcome    release.Outcome     `json:"outcome,omitempty"`
	Class      release.Class       `json:"class,omitempty"`
	Since      time.Time           `json:"since,omitzero"`
	Until      time.Time           `json:"until,omitzero"`       // when time alone changes it
	Expected   time.Time           `json:"expected,omitzero"`    // when it is expected to start; zero when nobody can tell
	Expects    string              `json:"expects,omitempty"`    // what that rests on, or why nobody can tell
	Retried    bool                `json:"retried,omitempty"`    // it succeeded, and not at once
	Approves   string              `json:"approves,omitempty"`   // the protected environment whose reviewers it waits for
	Holders    []Holder            `json:"holders,omitempty"`    // who has what it waits for; the first 20
	Conditions []release.Condition `json:"conditions,omitempty"` // of the gate
	Retries    []RetriesLeft       `json:"retries,omitempty"`    // budgets that its tasks share, while it goes on
}

// Holder is a task that has what another waits for.
type Holder struct {
	Run      release.RunID  `json:"run"`
	Task     release.TaskID `json:"task"`
	State    string         `json:"state"`
	Attempt  int32          `json:"attempt,omitempty"`
	Executor string         `json:"executor,omitempty"`
	Since    time.Time      `json:"since,omitzero"`
	Ends     time.Time      `json:"ends,omitzero"`  // when it is expected to give it back; zero when nobody can tell
	Until    time.Time      `json:"until,omitzero"` // when its lease ends at the latest; zero when nothing bounds that
}

const maxHolders = 20

// Explain says why a task, or with an empty task a run, is where it is: by the functions with which Decide decides. It
// changes nothing; now is the moment that it is asked for.
func Explain(s *State, id release.RunID, task release.TaskID, now time.Time) Why {
	before := s.now
	s.now = max(stampOf(now).plus(-s.time.ahead), 1)
	defer func() { s.now = before }()
	r := s.runs[id]
	w := Why{Run: id, Task: task}
	switch {
	case r == nil && s.received[id].set():
		w.State, w.Reason, w.Since = "planning", "it has no plan yet", s.received[id].at.time()
	case r == nil && s.forgotten[id]:
		w.State, w.Reason = "finished", "it ended long ago"
	case r == nil:
		w.State, w.Reason = string(unknown), "nothing is known of this run"
	case task == "":
		s.explainRun(r, &w)
	case r.tasks[task] == nil:
		w.State, w.Reason = string(unknown), "nothing is known of this task; tests are requested once there is a candidate"
	default:
		s.explainTask(r.tasks[task], &w)
	}
	if w.Outcome == "" && r != nil {
		w.Retries = r.retriesLeft()
	}
	return w
}

func (s *State) explainTask(t *task, w *Why) {
	j := s.judge(t)
	w.State, w.Attempt, w.Round = string(j.phase), j.attempt, t.reset
	w.Since, w.Until = j.since.time(), j.wake.time()
	switch j.phase {
	case unknown:
		w.Reason = "it is not requested yet"
	case waiting:
		w.Reason = "it needs " + string(j.need.id) + ", which " + s.standing(j.need)
		if a := j.need.last(); a != nil && a.running() && t.waiting == 1 {
			w.expect(s.foresee(0, 1, []tenure{s.tenureOf(j.need, 1)}, nil))
		}
		w.Holders = append(w.Holders, s.holder(j.need))
	case delayed:
		w.Reason = fmt.Sprintf("attempt %d waits until %s", j.attempt, w.Until.Format(time.RFC3339))
	case unapproved:
		w.Reason, w.Expects, w.Approves = s.unentered(t), "it is not known when somebody approves", t.spec.environment
	case ready:
		s.explainReady(t, w)
	case dispatched:
		s.explainDispatched(t, w)
	case running, stopping:
		h := s.holder(t)
		w.Reason, w.Holders = "executor "+h.Executor+" has it"+s.silence(t), []Holder{h}
	case concluding:
		w.Reason = "a verdict on it is being stored: " + saying(j.say)
	case ended:
		s.explainEnded(t, w)
	}
}

// standing is a task's state in words that follow its name.
func (s *State) standing(t *task) string {
	switch p := s.judge(t).phase; p {
	case unknown:
		return "is not requested yet"
	case waiting, delayed:
		return "waits itself"
	case unapproved:
		return "waits for an approval of environment " + t.spec.environment
	case ready, dispatched:
		return "waits in pool " + t.spec.pool.name
	case running, stopping:
		return "is running"
	default:
		return "has not ended"
	}
}

func (s *State) explainReady(t *task, w *Why) {
	p := t.spec.pool
	switch {
	case t.want.dispatches(w.Attempt):
		w.Reason = "its dispatch to pool " + p.name + " is being stored"
	default:
		o := s.obstacle(t)
		w.Reason, w.Holders = o.reason, o.holders
		w.expect(o.expected)
		w.Since = max(o.since, stampOf(w.Since)).time()
		if o.until > s.now {
			w.Until = earlier(stampOf(w.Until), o.until).time()
		}
	}
}

func (s *State) explainDispatched(t *task, w *Why) {
	p := t.spec.pool
	if t.fetches() {
		s.explainAwaited(t, w)
		return
	}
	if p.slots == 0 {
		w.Reason = "pool " + p.name + " has no live executor that takes work"
		w.Expects = "no executor has said when it will be there"
		return
	}
	w.Reason = fmt.Sprintf("it waits for one of the %d slots of pool %s", p.slots, p.name)
	w.Holders = s.holders(p)
	before := s.given(p)
	if i := slices.Index(before, t); i >= 0 {
		before = before[:i]
	}
	w.expect(s.foreseeSlot(p, before))
}

// expect tells when a task is expected to start.
func (w *Why) expect(f forecast) { w.Expected, w.Expects = f.at.time(), f.why }

func (s *State) explainEnded(t *task, w *Why) {
	if a := t.success(); a != nil {
		w.Outcome, w.Class, w.Attempt = release.Success, a.class, a.n
		w.Reason = fmt.Sprintf("attempt %d succeeded", a.n)
		if before := t.stumbles(); len(before) > 0 {
			w.Retried = true
			w.Reason += " on a retry: " + strings.Join(before, "; ")
		}
		return
	}
	v := t.verdict()
	w.Outcome, w.Class, w.Attempt, w.Reason = v.outcome, v.class, v.attempts, v.reason
	if t.status == excused {
		w.Reason += "; its failure fails nothing else"
	}
}

// holders lists what runs in a pool.
func (s *State) holders(p *pool) []Holder {
	var out []Holder
	for _, x := range s.members() {
		if x.pool != p {
			continue
		}
		for _, h := range x.inHand() {
			if len(out) < maxHolders {
				out = append(out, s.holder(h.task))
			}
		}
	}
	return out
}

func (s *State) holder(t *task) Holder {
	j := s.judge(t)
	h := Holder{Run: t.run.id, Task: t.id, State: string(j.phase), Attempt: j.attempt, Since: j.since.time()}
	if a := t.last(); a != nil && a.executor != nil {
		h.Executor, h.Ends = a.executor.name, s.tenureOf(t, 0).end.time()
	}
	return h
}

func by(n note) string {
	if n.by == "" {
		return because(n.reason)
	}
	return " by " + n.by + because(n.reason)
}

// saying is an intent in words.
func saying(p event.Payload) string {
	switch p := p.(type) {
	case event.TaskDelayed:
		return p.Reason
	case event.TaskConcluded:
		return p.Reason
	case event.TaskFinished:
		return p.Reason
	case event.TaskCancelRequested:
		return p.Reason
	}
	return string(p.EventType())
}
