package faults

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/lease"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

var storms = flag.Int("storms", 2, "storms to run")

// storm is three runs of together 200 tasks on three pools, while executors, the scheduler and the NATS server are killed.
type storm struct {
	*yard
	seed  uint64
	mixed release.RunID // the one that goes on to its end
	wiped release.RunID // the one that a person cancels
	stale release.RunID // the one that a newer run of its pull request makes stale
	fresh release.RunID // that one
	kinds map[release.TaskID]kind
	blows []blow
}

// blow is a kill.
type blow struct {
	part   string
	after  int // facts
	signal syscall.Signal
	absent int // facts until it comes back, 0 for at once
}

func (b blow) String() string {
	return fmt.Sprintf("%d: %s %s, away for %d", b.after, b.part, b.signal, b.absent)
}

// kind is what a task does, and how it must end.
type kind struct {
	name  string
	class release.Class
	ends  bool // its script says so
	task  plan.Task
}

// kinds are drawn from by each task; those that are listed twice are drawn twice as often.
func kinds() []kind {
	again := []release.Retry{{Class: release.ClassCommand, Limit: 2, Wait: release.Duration(100 * time.Millisecond)}}
	limit := release.Timeouts{Command: release.Duration(time.Second)}
	lab := func(places string, nodes int32, shared bool) release.LeaseRequest {
		return release.LeaseRequest{Provider: "lab", Places: []string{places}, Nodes: nodes, Shared: shared}
	}
	one, both, shared := lab("p*", 1, false), lab("p*", 2, false), lab("s1", 1, true)
	quick := kind{"quick", release.ClassOK, true, plan.Task{Run: "begin; end"}}
	work := kind{"work", release.ClassOK, true, plan.Task{Run: "begin; turns $DRAWN; end"}}
	return []kind{
		quick, quick, quick, quick, quick, quick, quick, work, work, work,
		{"fails", release.ClassCommand, false, plan.Task{Run: "begin; turns 1; exit 3", SoftFail: true}},
		{"flaky", release.ClassOK, true, plan.Task{Run: `begin; ! mkdir "$STATE/$SLUICE_RUN.$SLUICE_TASK" 2>/dev/null || exit 4; end`, Retry: again}},
		{"deaf", release.ClassTimeout, false, plan.Task{Run: "begin; trap '' TERM; while :; do sleep 600; done", SoftFail: true, Timeouts: limit}},
		{"forks", release.ClassOK, true, plan.Task{Run: `begin; setsid sh -c 'trap "" TERM HUP; sleep 600' & end`}},
		{"holds", release.ClassOK, true, plan.Task{Run: "begin; turns 2; end", Lease: one, Cleanup: "tidy"}},
		{"holds", release.ClassOK, true, plan.Task{Run: "begin; turns 4; end", Lease: one}},
		{"gang", release.ClassOK, true, plan.Task{Run: "begin; turns 2; end", Lease: both}},
		{"shares", release.ClassOK, true, plan.Task{Run: "begin; turns 5; end", Lease: shared}},
	}
}

// stormScript comes before what a task does. Each line that it writes into the ledger is one write: who, what, and under
// which tokens. Who has a place to himself leaves something there until he ends, and looks first that nobody else did.
const stormScript = `
set -- ${SLUICE_PLACE_NAMES-}
held=
for token in ${SLUICE_LEASE_TOKEN-}; do held="$held $1=$token"; shift; done
say() { printf '%s %s %s %s%s\n' "$1" "$SLUICE_RUN" "$SLUICE_TASK" "$SLUICE_ATTEMPT" "$held" >>"$LEDGER"; }
mine() { for one in ${SLUICE_PLACE_NAMES-}; do case $one in p*) "$@" "$RACK/$one";; esac; done; }
look() { test -z "$(ls "$1")" || say dirty; : >"$1/$SLUICE_TASK.$SLUICE_ATTEMPT"; }
leave() { rm -f "$1/$SLUICE_TASK.$SLUICE_ATTEMPT"; }
begin() { say begin; mine look; }
turns() { i=0; while [ $i -lt $1 ]; do sleep 0.1; say alive; i=$((i+1)); done; }
end() { mine leave; say end; }
tidy() { say tidy; mine leave; }
`

const stormClean = `printf 'clean %s %s %s %s=%s\n' "$SLUICE_RUN" "$SLUICE_TASK" "$SLUICE_ATTEMPT" "$SLUICE_PLACE_NAMES" "$SLUICE_LEASE_TOKEN" >>@/ledger; rm -rf @/rack/$SLUICE_PLACE_NAMES/*`

// TestKillStorms: whatever dies, each task ends with the class that it would have had; no attempt is made twice; no two
// hold a place that is for one; nobody finds a place as another left it; nothing is left running or leased.
func TestKillStorms(t *testing.T) {
	if testing.Short() {
		t.Skip("storms take half a minute")
	}
	for i := range uint64(*storms) {
		t.Run(fmt.Sprintf("seed=%d", *seed+i), func(t *testing.T) {
			t.Parallel()
			s := newStorm(t, *seed+i)
			s.rage()
			s.judge()
		})
	}
}

func newStorm(t testing.TB, seed uint64) *storm {
	s := &storm{seed: seed, kinds: map[release.TaskID]kind{}}
	dir := t.TempDir()
	for _, place := range []string{"p1", "p2", "s1"} {
		if err := os.MkdirAll(filepath.Join(dir, "rack", place), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.yard = newYard(t, fmt.Sprintf(`test_scheduler: {lost_after: 6s}
providers: [{name: lab, pool: red, places: [{name: p1}, {name: p2}, {name: s1, capacity: 3}], clean: %q}]`,
		strings.ReplaceAll(stormClean, "@", dir)))
	s.ground = dir
	for _, name := range executorNames() {
		s.executors(name, fmt.Sprintf("{pool: %s, slots: 4, driver: {local: {isolation: none}}, grace: 300ms, drain: 1s, min_free: -1, environment: {LEDGER: %s, RACK: %s, STATE: %s}}",
			strings.TrimRight(name, "12"), filepath.Join(dir, "ledger"), filepath.Join(dir, "rack"), filepath.Join(s.dir, "state")))
	}
	for name, run := range map[string]*release.RunID{"mixed": &s.mixed, "wiped": &s.wiped, "stale": &s.stale, "fresh": &s.fresh} {
		*run = release.RunID(fmt.Sprintf("storm-%d-%d-%s", os.Getpid(), seed, name))
	}
	s.draw()
	return s
}

func executorNames() []string { return []string{"red1", "red2", "green1", "blue1"} }

// draw draws tasks and blows.
func (s *storm) draw() {
	r := rand.New(rand.NewPCG(s.seed, 1))
	parts := append(executorNames(), executorNames()...)
	parts = append(parts, "test-scheduler", "test-scheduler", "nats")
	for range 10 {
		b := blow{part: parts[r.IntN(len(parts))], after: 230 + r.IntN(900), signal: syscall.SIGKILL}
		if b.part != "nats" && r.IntN(4) == 0 {
			b.signal = syscall.SIGTERM
		}
		if strings.HasPrefix(b.part, "red") && r.IntN(3) == 0 {
			b.absent = 1 + r.IntN(100)
		}
		s.blows = append(s.blows, b)
	}
	s.blows = append(s.blows, blow{part: "nats", after: 300 + r.IntN(500), signal: syscall.SIGKILL})
	change := func(run release.RunID) release.Change {
		return release.Change{
			Kind: release.PullRequest, Repo: "yard/yard", Ref: "refs/pull/7/head", Branch: "master", Number: 7,
			Commit: release.Commit(release.DigestOf([]byte(run)).Hex()[:40]),
		}
	}
	wiped := change(s.wiped)
	wiped.Number, wiped.Ref = 8, "refs/pull/8/head"
	mixed := wiped
	mixed.Number, mixed.Ref = 9, "refs/pull/9/head"
	s.begin(s.stale, change(s.stale), s.endless(15))
	s.begin(s.wiped, wiped, s.endless(25))
	s.begin(s.mixed, mixed, s.tasks(r, 160))
}

// endless are tasks that end only when somebody wants that.
func (s *storm) endless(n int) []plan.Task {
	var out []plan.Task
	for i := range n {
		out = append(out, s.task(plan.Task{ID: release.TaskID(fmt.Sprint("endless-", i)), Run: "begin; turns 6000; end"}, i))
	}
	return out
}

func (s *storm) tasks(r *rand.Rand, n int) []plan.Task {
	var out []plan.Task
	all := kinds()
	for i := range n {
		k := all[i%len(all)]
		k.task.ID = release.TaskID(fmt.Sprint(k.name, "-", i))
		k.task.Variables = map[string]string{"DRAWN": fmt.Sprint(1 + r.IntN(12))}
		s.kinds[k.task.ID] = k
		out = append(out, s.task(k.task, i))
	}
	return out
}

// task completes one. What the faults of the platform cost it is tried again until they are over.
func (s *storm) task(t plan.Task, i int) plan.Task {
	t.Kind, t.Checkout, t.Pool = release.Test, "none", []string{"red", "green", "blue"}[i%3]
	t.Run = stormScript + t.Run
	if t.Cleanup != "" {
		t.Cleanup = stormScript + t.Cleanup
	}
	for _, class := range []release.Class{release.ClassLost, release.ClassInfra, release.ClassInfraTimeout, release.ClassSetup} {
		t.Retry = append(t.Retry, release.Retry{Class: class, Limit: 100, Wait: release.Duration(100 * time.Millisecond), Backoff: release.Fixed})
	}
	return t
}

// rage deals the blows as facts come in, ends two of the runs once they have begun, and waits for the end of all.
func (s *storm) rage() {
	heard, open := 0, map[release.RunID]bool{s.mixed: true, s.wiped: true, s.stale: true, s.fresh: true}
	started := map[release.RunID]int{}
	back := map[int][]func(){}
	s.until(func(e event.Event) bool {
		heard++
		for _, b := range s.blows {
			if b.after == heard {
				s.strike(b, heard, back)
			}
		}
		for _, home := range back[heard] {
			home()
		}
		switch e.Type {
		case event.TypeTaskStarted:
			started[e.Run]++
			s.end(e.Run, started[e.Run])
		case event.TypeRunFinished:
			delete(open, e.Run)
		}
		return len(open) == 0
	})
	for _, list := range back {
		for _, home := range list {
			home()
		}
	}
}

// end ends a run of which so many tasks were started: before they have taken every slot.
func (s *storm) end(run release.RunID, started int) {
	switch {
	case run == s.wiped && started == 7:
		s.say(s.wiped, event.RunCancelRequested{Request: "1", By: "ada", Reason: "the storm"})
	case run == s.stale && started == 6:
		s.supersede()
	}
}

func (s *storm) strike(b blow, heard int, back map[int][]func()) {
	if b.absent > 0 {
		back[heard+b.absent] = append(back[heard+b.absent], s.away(b.part))
	}
	s.signal(b.part, b.signal)
}

// supersede makes one run stale.
func (s *storm) supersede() {
	change := release.Change{
		Kind: release.PullRequest, Repo: "yard/yard", Ref: "refs/pull/7/head", Branch: "master", Number: 7,
		Commit: release.Commit(release.DigestOf([]byte(s.fresh)).Hex()[:40]),
	}
	k := kinds()[0]
	k.task.ID = "quick"
	s.begin(s.fresh, change, []plan.Task{s.task(k.task, 1)})
}

// judge looks at what came of it.
func (s *storm) judge() {
	s.judgeTasks()
	s.eventually("processes", func() string {
		return strings.Join(processes(s.mixed, s.wiped, s.stale, s.fresh), "\n")
	})
	s.eventually("places", func() string { return s.leased() })
	s.eventually("workspaces", func() string {
		left, _ := filepath.Glob(filepath.Join(s.dir, "*", "executors", "*", "attempts", "*"))
		return strings.Join(left, "\n")
	})
	s.judgeLedger()
	if s.t.Failed() {
		s.t.Logf("blows %v", s.blows)
	}
}

// leased lists the places that are not free.
func (s *storm) leased() string {
	places, err := s.places()
	if err != nil {
		return err.Error()
	}
	var out []string
	for _, p := range places {
		if p.State != lease.Free || len(p.Holders) > 0 {
			out = append(out, fmt.Sprintf("%+v", p))
		}
	}
	if len(places) != 3 {
		out = append(out, fmt.Sprintf("there are %d places, want 3", len(places)))
	}
	return strings.Join(out, "\n")
}
