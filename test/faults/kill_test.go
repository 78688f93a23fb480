// Package faults kills services with kill -9 while they work, and looks that nobody could tell from what came of it.
package faults

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

var (
	schedules = flag.Int("schedules", 50, "kill schedules to run")
	seed      = flag.Uint64("seed", 1, "of the first schedule; each next one has the next")
)

// lanes is how many runs go on at once: each feels the kills of the others too.
const lanes = 4

// schedule is one seeded run: which services die, each after how many of the run's facts.
type schedule struct {
	seed   uint64
	broken bool // its release test fails, so nothing may be published
	kills  []kill
}

type kill struct {
	service string
	after   int // facts of the run
}

func newSchedule(seed uint64) schedule {
	r := rand.New(rand.NewPCG(seed, 0))
	s := schedule{seed: seed, broken: r.IntN(4) == 0}
	for range 1 + r.IntN(3) {
		s.kills = append(s.kills, kill{services()[r.IntN(len(services()))], 1 + r.IntN(45)})
	}
	return s
}

// TestKillSchedules is the promise: whatever dies, whenever, a run ends as it would have; no target receives anything
// twice; nothing is published that the gate has not passed.
func TestKillSchedules(t *testing.T) {
	if testing.Short() {
		t.Skip("kills take a minute")
	}
	t.Parallel()
	c := newCluster(t)
	var group errgroup.Group
	group.SetLimit(lanes)
	for i := range uint64(*schedules) {
		s := newSchedule(*seed + i)
		group.Go(func() error {
			t.Run(fmt.Sprintf("seed=%d", s.seed), func(t *testing.T) { c.play(t, s) })
			return nil
		})
	}
	_ = group.Wait()
	if t.Failed() {
		t.Log(c.logs())
	}
	t.Logf("killed %v", c.kills)
}

// play pushes a commit, kills by the schedule while its run goes on, and looks at what came of it.
func (c *cluster) play(t *testing.T, s schedule) {
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	// A branch for each: when the webhook is lost with the gateway, the reconciler finds the commit as long as it is a head.
	ref := fmt.Sprint("refs/heads/releases/", s.seed)
	commit := c.world.pushTo(ref, int(s.seed), s.broken)
	run := release.Change{Repo: repo, Ref: ref, Commit: commit}.RunID()
	facts, err := c.bus.Follow(ctx, bus.Following{Name: "faults", Run: string(run)})
	if err != nil {
		t.Fatal(err)
	}
	defer facts.Close()
	var seen []event.Event
	for !ended(seen) {
		batch, err := facts.Next(ctx, time.Second)
		if err != nil {
			t.Fatalf("run %s did not end: %v; its webhook was answered %d; schedule %+v; facts:\n%s",
				run, err, c.world.forge.Answer(string(commit)), s, story(seen))
		}
		for _, e := range batch.Events {
			seen = append(seen, e)
			for _, k := range s.kills {
				if k.after == len(seen) {
					c.kill(k.service)
				}
			}
			if ended(seen) {
				break // what was exported of it may be told in the same breath
			}
		}
	}
	c.judge(t, s, commit, seen)
}

func ended(facts []event.Event) bool {
	return len(facts) > 0 && facts[len(facts)-1].Type == event.TypeRunFinished
}

// judge compares what came of a run with what must.
func (c *cluster) judge(t *testing.T, s schedule, commit release.Commit, facts []event.Event) {
	want := release.Success
	if s.broken {
		want = release.Failure
	}
	finished := facts[len(facts)-1].Data.(event.RunFinished)
	if finished.Outcome != want {
		t.Errorf("ended with %s (%s), want %s; schedule %+v; facts:\n%s", finished.Outcome, finished.Reason, want, s, story(facts))
	}
	times := 1
	if s.broken {
		times = 0
	}
	for target, got := range c.world.received(commit) {
		if got != times {
			t.Errorf("%s received %d of commit %s, want %d", target, got, commit.Short(), times)
		}
	}
	if opened := count(facts, event.TypeGateOpened); opened != times {
		t.Errorf("the gate opened %d times, want %d", opened, times)
	}
}

// received counts what each target was given of a commit.
func (s *surroundings) received(commit release.Commit) map[string]int {
	version := fmt.Sprintf("1.0.dev%d", number(string(commit[:9])))
	return map[string]int{
		"registry":     s.registry.times(commit.Short()),
		"pypi salt":    s.pypi.Uploads()["tiny_salt-"+version+"-py3-none-any.whl"],
		"pypi pepper":  s.pypi.Uploads()["tiny_pepper-"+version+"-py3-none-any.whl"],
		"index salt":   files(s.dir, "index", "tiny_salt-"+version+"-py3-none-any.whl"),
		"index pepper": files(s.dir, "index", "tiny_pepper-"+version+"-py3-none-any.whl"),
		"maven":        files(s.dir, "maven", "tiny-1.0-"+commit.Short()+".jar"),
	}
}

func number(hex string) uint64 {
	var n uint64
	_, _ = fmt.Sscanf(hex, "%x", &n)
	return n
}

// files counts the files of a name below a folder.
func files(dir, below, name string) (n int) {
	_ = filepath.WalkDir(filepath.Join(dir, below), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() == name {
			n++
		}
		return nil
	})
	return n
}

func count(facts []event.Event, t event.Type) (n int) {
	for _, e := range facts {
		if e.Type == t {
			n++
		}
	}
	return n
}

// story is what happened, a line for each fact.
func story(facts []event.Event) string {
	var b strings.Builder
	for i, e := range facts {
		fmt.Fprintf(&b, "%3d %s %s %s%s\n", i+1, e.Time.Format("05.000"), e.Describe(), e.Source, reason(e))
	}
	return b.String()
}

// reason is why, where a fact says so.
func reason(e event.Event) string {
	switch d := e.Data.(type) {
	case event.TaskFinished:
		return fmt.Sprintf(" %s %s", d.Class, d.Reason)
	case event.TaskConcluded:
		return " " + d.Reason
	case event.CandidateRejected:
		return fmt.Sprint(" ", d.Reasons)
	case event.PublicationFailed:
		return " " + d.Reason
	case event.RunRejected:
		return fmt.Sprint(" ", d.Problems)
	case event.RunFinished:
		return " " + d.Reason
	}
	return ""
}
