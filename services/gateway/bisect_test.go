package gateway

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/access"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/git"
	"github.com/sluiceci/sluice/pkg/release"
)

// lab is a gateway that bisects a real repository, and a hand that ends the runs as their commits say.
type lab struct {
	*world
	commits []release.Commit
	stop    func()
	cache   *git.Cache
}

func newLab(t *testing.T, commits int) *lab {
	t.Helper()
	r, l := newRepo(t), &lab{}
	for range commits {
		l.commits = append(l.commits, r.commit("master"))
	}
	var err error
	l.cache, err = git.New(t.TempDir(), git.Options{})
	must(t, err)
	p := widget()
	p.CloneURL = "file://" + r.dir
	l.world = newWorld(t, Config{Projects: []Project{p}, Tokens: []access.Static{{Owner: "ada", Secret: "token"}}}, l.cache, bus.Options{})
	l.begin()
	return l
}

// begin drives bisections until stop.
func (l *lab) begin() {
	ctx, cancel := context.WithCancel(l.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = l.gateway.hunt(ctx)
	}()
	l.stop = func() { cancel(); <-done }
	l.t.Cleanup(l.stop)
}

// say stores a fact as another service would.
func (l *lab) say(run release.RunID, payloads ...event.Payload) {
	l.t.Helper()
	for _, p := range payloads {
		must(l.t, l.bus.Publish(l.t.Context(), event.Root(run, "/test/1", time.Now(), p)))
	}
}

// play ends each run that is started as the commit's verdict says, until the bisection has ended.
func (l *lab) play(verdict func(commit, number int) release.Class, each func(started int)) event.BisectEnded {
	l.t.Helper()
	f, err := l.bus.Follow(l.t.Context(), bus.Following{Name: "test", Types: []event.Type{event.TypeChangeReceived, event.TypeBisectEnded}})
	must(l.t, err)
	defer f.Close()
	started := 0
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); {
		batch, err := f.Next(l.t.Context(), time.Second)
		must(l.t, err)
		for _, e := range batch.Events {
			switch d := e.Data.(type) {
			case event.BisectEnded:
				return d
			case event.ChangeReceived:
				started++
				l.end(e.Run, d.Change, verdict)
				each(started)
			}
		}
	}
	l.t.Fatal("the bisection has not ended after 60s")
	return event.BisectEnded{}
}

func (l *lab) end(run release.RunID, c release.Change, verdict func(commit, number int) release.Class) {
	l.t.Helper()
	if c.Branch != "" || c.Parameters["only"] != "soak" || c.Kind != release.Manual {
		l.t.Errorf("a run is started of %+v", c)
	}
	at := 0
	for l.commits[at] != c.Commit {
		at++
	}
	number, err := strconv.Atoi(c.Nonce[strings.LastIndex(c.Nonce, ":")+1:])
	must(l.t, err)
	l.say(run, event.RunPlanned{Change: c}, event.TaskRequested{Task: "wheel", Kind: release.Build}, event.TaskRequested{Task: "soak", Pool: "linux", Kind: release.Test})
	switch class := verdict(at, number); class {
	case release.ClassOK:
		l.say(run, event.TaskFinished{Task: "soak", Attempt: 1, Pool: "linux", Outcome: release.Success, Class: class})
	case release.ClassPrepare: // stands for a commit that cannot be built
		l.say(run, event.TaskConcluded{Task: "wheel", Attempts: 1, Outcome: release.Failure, Class: release.ClassCommand},
			event.TaskConcluded{Task: "soak", Outcome: release.Failure, Class: release.ClassCommand})
	default:
		l.say(run, event.TaskConcluded{Task: "soak", Attempts: 1, Outcome: class.Outcome(), Class: class})
	}
	l.say(run, event.RunFinished{})
}

func (l *lab) ask(change func(*event.BisectRequested)) {
	b := event.BisectRequested{
		Bisect: "b1", Project: "widget", Test: "soak", Task: "soak", Good: l.commits[0], Bad: l.commits[len(l.commits)-1],
		Ways: 2, Runs: 1, Confirm: 1, Budget: 20, Deadline: time.Now().Add(time.Hour).UTC(),
	}
	if change != nil {
		change(&b)
	}
	l.say(event.Fleet, b)
}

// TestBisectBlamesACommit finds the commit that broke a test, over restarts, a flake, and a machine that failed.
func TestBisectBlamesACommit(t *testing.T) {
	t.Parallel()
	l := newLab(t, 9)
	l.ask(nil)
	flaked := map[string]bool{}
	got := l.play(func(commit, number int) release.Class {
		switch {
		case commit == 2 && !flaked["infra"]:
			flaked["infra"] = true
			return release.ClassInfra
		case commit == 4 && number == 0:
			return release.ClassCommand // a flake
		case commit >= 6:
			return release.ClassTimeout
		}
		return release.ClassOK
	}, func(started int) {
		if started%2 == 1 {
			l.stop()
			l.begin()
		}
	})
	if got.Blamed != l.commits[6] || got.Passing != l.commits[5] || got.Test != "soak" || got.Runs == 0 || got.Runs > 20 {
		t.Errorf("blamed is %+v of %v", got, l.commits)
	}
}

// TestBisectGivesUp ends with a reason: a test that passes where it is to fail, a spent budget, a time that is over, a commit
// that cannot be built, commits that are in no line.
func TestBisectGivesUp(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		change  func(l *lab, b *event.BisectRequested)
		verdict func(commit int) release.Class
		says    string
	}{
		"insane":      {nil, func(int) release.Class { return release.ClassOK }, "is to fail and passes"},
		"budget":      {func(_ *lab, b *event.BisectRequested) { b.Budget = 3 }, func(c int) release.Class { return classOf(c >= 3) }, "budget of 3 runs is spent"},
		"deadline":    {func(_ *lab, b *event.BisectRequested) { b.Deadline = time.Now().Add(-time.Second).UTC() }, func(int) release.Class { return release.ClassOK }, "deadline has come"},
		"unbuilt end": {nil, func(int) release.Class { return release.ClassPrepare }, "gives no run of the test"},
		"backwards":   {func(l *lab, b *event.BisectRequested) { b.Good, b.Bad = b.Bad, b.Good }, nil, "no ancestor"},
		"project":     {func(_ *lab, b *event.BisectRequested) { b.Project = "another" }, nil, `cannot find project "another"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, 6)
			l.ask(func(b *event.BisectRequested) {
				if one.change != nil {
					one.change(l, b)
				}
			})
			got := l.play(func(commit, _ int) release.Class { return one.verdict(commit) }, func(int) {})
			if got.Blamed != "" || !strings.Contains(got.Reason, one.says) {
				t.Errorf("it ended with %+v, expected %q", got, one.says)
			}
		})
	}
}

// TestBisectLeavesOutWhatCannotBeBuilt goes around commits that cannot be built, and says that it may be one of them.
func TestBisectLeavesOutWhatCannotBeBuilt(t *testing.T) {
	t.Parallel()
	l := newLab(t, 6)
	l.ask(nil)
	got := l.play(func(commit, _ int) release.Class {
		if commit == 2 || commit == 3 {
			return release.ClassPrepare
		}
		return classOf(commit >= 3)
	}, func(int) {})
	if got.Blamed != l.commits[4] || len(got.Unbuilt) != 2 || !strings.Contains(got.Reason, "2 commits between the two") {
		t.Errorf("it ended with %+v", got)
	}
}

func classOf(fails bool) release.Class {
	if fails {
		return release.ClassCommand
	}
	return release.ClassOK
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
