// Package reportertest tells the story of some runs, as facts: one that is released, a pull request, one whose gate
// stays shut, a definition that gives no plan, one that still runs, a release that broke, and one whose every name is
// hostile. Tests fold it, publish it, and look at its pages.
package reportertest

import (
	"fmt"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// Story is the facts of all runs in the order in which they were said, and the blobs that they name.
type Story struct {
	Events []event.Event
	Blobs  map[release.Digest][]byte
	Runs   map[string]release.RunID // by their short names: "released", "pull request" …
}

// Tell makes the story; the newest facts are as old as now.
func Tell(now time.Time) *Story {
	s := &Story{Blobs: map[release.Digest][]byte{}, Runs: map[string]release.RunID{}}
	s.add("ignored", ignored(s, now.Add(-26*time.Hour)))
	s.add("released", released(s, now.Add(-3*time.Hour)))
	s.add("broken release", brokenRelease(s, now.Add(-100*time.Minute)))
	s.add("pull request", pullRequest(s, now.Add(-70*time.Minute)))
	s.add("rejected", rejected(s, now.Add(-35*time.Minute)))
	s.add("shut", shut(s, now.Add(-20*time.Minute)))
	s.add("hostile", hostile(s, now.Add(-15*time.Minute)))
	s.add("running", running(s, now.Add(-4*time.Minute)))
	for i := range s.Events {
		s.Events[i].Seq = uint64(i + 1)
	}
	return s
}

func (s *Story) add(name string, t *teller) {
	s.Runs[name] = t.run
	s.Events = append(s.Events, t.events...)
}

// Of returns the facts of one run by its short name.
func (s *Story) Of(name string) []event.Event {
	var out []event.Event
	for _, e := range s.Events {
		if e.Run == s.Runs[name] {
			out = append(out, e)
		}
	}
	return out
}

func (s *Story) blob(b []byte) release.Digest {
	d := release.DigestOf(b)
	s.Blobs[d] = b
	return d
}

// teller says the facts of one run.
type teller struct {
	story  *Story
	run    release.RunID
	change release.Change
	plan   *plan.Plan
	digest release.Digest
	now    time.Time
	last   event.Event
	events []event.Event
}

func begin(s *Story, at time.Time, c release.Change) *teller {
	c.Project, c.Repo, c.Forge, c.Verified = "rillkit", "rill/rillkit", "gitea", "signature"
	c.CloneURL, c.At = "http://127.0.0.1:3000/rill/rillkit.git", at
	t := &teller{story: s, run: c.RunID(), change: c, now: at}
	t.say("gateway", event.ChangeReceived{Change: c})
	return t
}

func (t *teller) say(service string, p event.Payload) {
	source := "/" + service + "/demo-1"
	e := event.Root(t.run, source, t.now, p)
	if t.last.ID != "" {
		e = event.New(t.last, source, t.now, p)
	}
	t.events, t.last = append(t.events, e), e
}

func (t *teller) wait(d time.Duration) *teller { t.now = t.now.Add(d); return t }

// planned freezes the plan and says so.
func (t *teller) planned(p *plan.Plan) {
	p.Change, p.Project = t.change, t.change.Project
	t.plan = p
	b, _, err := p.Encode()
	if err != nil {
		panic(err)
	}
	t.digest = t.story.blob(b)
	said := event.RunPlanned{
		Change: t.change, Plan: t.digest, Release: p.Release, Skipped: int32(len(p.Skipped)), GateTests: p.Gate.Tests,
		GateOn: []release.ChangeKind{release.Push}, Warnings: p.Warnings,
	}
	for _, one := range p.Tasks {
		if one.Kind == release.Test {
			said.Tests++
		} else {
			said.Builds++
		}
	}
	for _, target := range p.Targets {
		said.Targets = append(said.Targets, event.TargetName{Name: target.Name, Kind: target.Kind})
	}
	t.wait(220*time.Millisecond).say("builder", said)
}

// request asks for every task of a kind.
func (t *teller) request(kind release.TaskKind) {
	for _, one := range t.plan.Tasks {
		if one.Kind == kind {
			t.say("builder", event.TaskRequested{
				Task: one.ID, Name: one.Name, Job: one.Job, Kind: one.Kind, Pool: one.Pool, Plan: t.digest, Needs: one.Needs,
			})
		}
	}
}

func digestOf(parts ...any) release.Digest { return release.DigestOf([]byte(fmt.Sprintln(parts...))) }

func commit(n int) release.Commit {
	return release.Commit(digestOf("commit", n).Hex()[:40])
}
