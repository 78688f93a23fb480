package schedule

import (
	"fmt"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// line is a branch or a pull request, and the newest run of it that has a plan.
type line struct {
	newest release.RunID
	age    uint64
	commit release.Commit
}

// lineOf names the line that a run is of; empty for one that no run makes stale: a tag is one commit for ever, and what a
// person or a clock asked for is done as asked. So is a rerun, which also makes none stale: its commit is an old one.
func (r *run) lineOf() string {
	if r.planned == nil || r.planned.Change.RerunOf != "" {
		return ""
	}
	switch c := r.planned.Change; c.Kind {
	case release.Push, release.PullRequest:
		if c.Kind == release.Push && r.planned.Trust == release.TrustUntrusted {
			return "" // the repository did not confirm that the commit is on the branch
		}
		return c.Project + " " + c.Repo + " " + c.Line()
	default:
		return ""
	}
}

// lines names the lines that a run is the newest of, or may be: that of its branch or pull request among the runs that have
// a plan, and among these together with the runs that wait for permission. So one that waits ends no run that goes on.
func (r *run) lines() []string {
	if name := r.lineOf(); name != "" {
		return []string{name, waits + name}
	}
	if name := r.waitsOn(); name != "" {
		return []string{name}
	}
	return nil
}

// waits stands before the line of runs that wait for permission. No project's name has a space.
const waits = "waits for permission: "

// waitsOn names the line in which a run waits for permission. A push that waits is none that the repository confirmed.
func (r *run) waitsOn() string {
	c := r.asked
	if r.planned != nil || r.unpermitted == "" || c.Kind != release.PullRequest || c.RerunOf != "" {
		return ""
	}
	return waits + c.Project + " " + c.Repo + " " + c.Line()
}

// change is what a run is of, once that is known.
func (r *run) change() release.Change {
	if r.planned != nil {
		return r.planned.Change
	}
	return r.asked
}

// applyChange notes how new a run is: plans are made in any order. A change that nobody wants is forgotten.
func (s *State) applyChange(e event.Event, m mark) {
	switch e.Data.(type) {
	case event.ChangeReceived:
		if known, is := s.received[e.Run]; is && known.seq <= m.seq {
			return
		}
		s.received[e.Run] = m
		if r := s.runs[e.Run]; r != nil {
			s.align(r)
		}
	case event.ChangeIgnored:
		delete(s.received, e.Run)
	}
}

// age is the place of the change that a run is of, or while that is not known of its plan.
func (s *State) age(r *run) uint64 {
	if m, is := s.received[r.id]; is {
		return m.seq
	}
	return r.plannedAt.seq
}

// align lets a run's lines know of it.
func (s *State) align(r *run) {
	for _, name := range r.lines() {
		s.alignOn(r, name)
	}
}

func (s *State) alignOn(r *run, name string) {
	l := s.lines[name]
	if l == nil {
		l = &line{}
		s.lines[name] = l
	}
	if old := s.runs[l.newest]; old != nil {
		s.touchRun(old)
	}
	if age := s.age(r); l.newest == r.id || age > l.age {
		l.newest, l.age, l.commit = r.id, age, r.change().Commit
	}
	s.touchRun(r)
}

// unalign lets go of lines whose newest run is forgotten.
func (s *State) unalign(r *run) {
	delete(s.received, r.id)
	for _, name := range r.lines() {
		if s.lines[name] != nil && s.lines[name].newest == r.id {
			delete(s.lines, name)
		}
	}
}

// superseded cancels a run that a newer one of its branch or pull request makes stale: where the definition asks for that,
// and always when it waits for permission, which nobody can give to an old head. Who asks for the old run again after the newer one came has it.
func (s *State) superseded(r *run) event.Payload {
	name := r.waitsOn()
	if r.planned != nil && r.planned.Supersede {
		name = r.lineOf()
	}
	if r.opened != nil || r.cancelled() {
		return nil
	}
	l := s.lines[name]
	if l == nil || l.newest == r.id || s.age(r) > l.age || r.reopened() > l.age {
		return nil
	}
	return event.RunCancelRequested{
		Request: "superseded-" + string(l.newest), By: "test-scheduler",
		Reason: fmt.Sprintf("superseded by run %s: commit %s is newer on %s", l.newest, l.commit.Short(), r.change().Line()),
	}
}
