package sim

import (
	"strings"
	"sync"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// law watches the facts and the machines.
type law struct {
	w       *world
	mu      sync.Mutex
	began   map[string]int  // commands, by run/task/attempt
	running map[string]bool // of these
	facts   []event.Event
	log     strings.Builder
	broken  []string
}

// Write takes the log of the services: it is the story of a world that failed.
func (l *law) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.Write(p)
}

// begins holds law 8: an attempt runs once.
func (l *law) begins(attempt string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.began[attempt]++
	l.running[attempt] = true
	if l.began[attempt] > 1 {
		l.broken = append(l.broken, attempt+" was run twice")
	}
}

func (l *law) ends(attempt string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.running, attempt)
}

// see takes what was stored.
func (l *law) see(batch bus.Batch) {
	for _, e := range batch.Events {
		l.facts = append(l.facts, e)
		if f, is := e.Data.(event.TaskFinished); is && f.Class == release.ClassLost {
			l.lost(e, f)
		}
	}
}

// lost holds law 17: who was connected all the while, and lives, is not declared lost.
func (l *law) lost(e event.Event, f event.TaskFinished) {
	for _, p := range l.w.parts {
		if p.instance == f.Executor && p.cutAt.IsZero() && e.Time.Sub(p.mended) > time.Minute && e.Time.Sub(p.since) > time.Minute {
			l.broken = append(l.broken, string(e.Run)+"/"+string(f.Task)+" was declared lost, and its executor "+p.instance+" is well: "+f.Reason)
		}
	}
}

// open lists the runs that have not ended.
func (l *law) open() (out []release.RunID) {
	ended := map[release.RunID]bool{}
	for _, e := range l.facts {
		if e.Type == event.TypeRunFinished {
			ended[e.Run] = true
		}
	}
	for _, e := range l.facts {
		if e.Type == event.TypeRunPlanned && !ended[e.Run] {
			out = append(out, e.Run)
		}
	}
	return out
}

// assemble answers for the builder: a run whose builds have all succeeded has a candidate.
func (l *law) assemble() {
	for _, run := range l.open() {
		want, done, assembled, plan := int32(0), map[release.TaskID]bool{}, false, release.Digest("")
		for _, e := range l.facts {
			if e.Run != run {
				continue
			}
			switch p := e.Data.(type) {
			case event.RunPlanned:
				want, plan = p.Builds, p.Plan
			case event.TaskFinished:
				done[p.Task] = done[p.Task] || p.Class == release.ClassOK
			case event.CandidateAssembled:
				assembled = true
			}
		}
		n := int32(0)
		for _, ok := range done {
			if ok {
				n++
			}
		}
		if n == want && !assembled {
			l.w.say(run, event.CandidateAssembled{Candidate: release.DigestOf([]byte(run)), Plan: plan, Blob: plan, Artifacts: n})
		}
	}
}

func (l *law) broke() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.broken
}
