package schedule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/environment"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// review is an approval of a protected environment.
type review struct {
	environment, reviewer string
	candidate             release.Digest
}

// applyReview keeps the first of equal approvals. Whether it counts is decided when it is asked: by the reviewers of the
// installation's file.
func (s *State) applyReview(r *run, p event.EnvironmentApproved, m mark) {
	key := review{p.Environment, p.Reviewer, p.Candidate}
	if old, known := r.reviews[key]; known && old.seq <= m.seq {
		return
	}
	set(&r.reviews, key, m)
	s.touchAll(r)
}

// protect finds the environments that the run's targets belong to. Its tasks may have been requested before its plan was
// heard, by which they are judged.
func (s *State) protect(r *run) {
	if len(s.cfg.Environments) == 0 {
		return
	}
	names := make([]string, 0, len(r.planned.Targets))
	for _, t := range r.planned.Targets {
		names = append(names, t.Name)
	}
	r.protected = s.cfg.Environments.OfTargets(r.planned.Change.Project, names)
	s.touchAll(r)
}

// reviewers lists who approved an environment: for whatever candidate, or for one.
func (r *run) reviewers(name string, of *event.CandidateAssembled) []string {
	var out []string
	for v := range r.reviews {
		if v.environment == name && (of == nil || v.candidate == of.Candidate) {
			out = append(out, v.reviewer)
		}
	}
	return out
}

// guarded returns the protected environment of a task, if it is in one.
func (s *State) guarded(t *task) (environment.Protected, bool) {
	if len(s.cfg.Environments) == 0 || !t.known() || t.spec.environment == "" || t.run.planned == nil {
		return environment.Protected{}, false
	}
	return s.cfg.Environments.Find(t.run.planned.Change.Project, t.spec.environment)
}

// barred says why a task can never be let into its environment, or "". What was given to its pool before is left alone.
func (s *State) barred(t *task) string {
	p, protected := s.guarded(t)
	if a := t.last(); !protected || a != nil && a.idle() {
		return ""
	}
	if admitted, why := p.Admits(t.run.planned.Change, t.run.planned.Trust); !admitted {
		return "not started: " + why
	}
	return ""
}

// unentered says what a task waits for before it is let into its environment, or "".
func (s *State) unentered(t *task) string {
	if len(s.cfg.Environments) > 0 && t.spec.environment != "" && t.run.planned == nil {
		return "it is in environment " + t.spec.environment + ", and the run's plan is not heard yet"
	}
	p, protected := s.guarded(t)
	if !protected {
		return ""
	}
	enough, reason := p.Approved(t.run.reviewers(p.Name, nil))
	if enough {
		return ""
	}
	return waitsFor(t.run, p, reason)
}

func waitsFor(r *run, p environment.Protected, reason string) string {
	return fmt.Sprintf("it waits for environment %s: %s; a reviewer lets it in with %s", p.Name, reason, p.Command(r.id))
}

// entered is the protected environment that a task is let into, or "".
func (s *State) entered(t *task) string {
	if p, protected := s.guarded(t); protected {
		return p.Name
	}
	return ""
}

// enteredAt is when the last approval came that a task's environment asks for: nobody's queue time passes before.
func (s *State) enteredAt(t *task) stamp {
	p, protected := s.guarded(t)
	if !protected || p.Needs() == 0 {
		return 0
	}
	first := map[string]stamp{}
	for v, m := range t.run.reviews {
		if at, known := first[v.reviewer]; v.environment == p.Name && p.ReviewedBy(v.reviewer) && (!known || m.at < at) {
			first[v.reviewer] = m.at
		}
	}
	var all []stamp
	for _, at := range first {
		all = append(all, at)
	}
	if len(all) < p.Needs() {
		return 0
	}
	slices.Sort(all)
	return all[p.Needs()-1]
}

// EntryPrefix is what the name of a condition begins with that waits for the reviewers of an environment.
const EntryPrefix = "environment "

// entries are the conditions of the environments that the run's targets belong to: its ref may use each, and reviewers have
// approved this round's candidate.
func (r *run) entries() []release.Condition {
	var out []release.Condition
	for _, p := range r.protected {
		c := release.Condition{Name: EntryPrefix + p.Name}
		admitted, why := p.Admits(r.planned.Change, r.planned.Trust)
		switch of := r.candidate(); {
		case !admitted:
			c.Final, c.Reason = true, why
		case p.Needs() > 0 && of == nil:
			c.Reason = "there is no candidate that reviewers could approve"
		default:
			c.Met, c.Reason = p.Approved(r.reviewers(p.Name, of))
			if !c.Met {
				c.Reason += " of this candidate; a reviewer approves it with " + p.Command(r.id)
			}
		}
		c.Final = c.Final || c.Met
		out = append(out, c)
	}
	return out
}

// ofPeople reports whether a condition waits for people only.
func ofPeople(c release.Condition) bool {
	return c.Name == "approvals" || c.Name == "hold" || strings.HasPrefix(c.Name, EntryPrefix)
}

// awaitsReview names the first environment that tasks of a run wait for, or "".
func (s *State) awaitsReview(r *run) string {
	if len(s.cfg.Environments) == 0 {
		return ""
	}
	held, first := 0, (*task)(nil)
	for _, t := range r.list {
		if t.known() && t.spec.environment != "" && s.judge(t).phase == unapproved {
			if held++; first == nil {
				first = t
			}
		}
	}
	if first == nil {
		return ""
	}
	return fmt.Sprintf("%d of its tasks wait for approval; %s: %s", held, first.id, s.unentered(first))
}
