package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// lab is a yard with one place, in a pool of executors that have not begun.
type lab struct {
	*yard
	run release.RunID
}

func newLab(t testing.TB, name string) *lab {
	l := &lab{run: release.RunID(fmt.Sprintf("lab-%d-%s", os.Getpid(), name))}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "rack", "p1"), 0o755); err != nil {
		t.Fatal(err)
	}
	l.yard = newYard(t, fmt.Sprintf("providers: [{name: lab, pool: red, places: [{name: p1}], clean: %q}]", strings.ReplaceAll(stormClean, "@", dir)))
	l.ground = dir
	return l
}

// executor starts one.
func (l *lab) executor(name, more string) {
	l.executors(name, fmt.Sprintf("{pool: red, slots: 4, driver: {local: {isolation: none}}, grace: 300ms, min_free: -1, environment: {LEDGER: %[1]s/ledger, RACK: %[1]s/rack, STATE: %[2]s/state}%[3]s}",
		l.ground, l.dir, more))
}

func (l *lab) start(tasks ...plan.Task) {
	for i := range tasks {
		t := &tasks[i]
		t.Kind, t.Checkout, t.Pool = release.Test, "none", "red"
		for _, script := range []*string{&t.Prepare, &t.Run, &t.Cleanup} {
			if *script != "" {
				*script = stormScript + *script
			}
		}
	}
	l.begin(l.run, release.Change{
		Kind: release.PullRequest, Repo: "yard/yard", Ref: "refs/pull/7/head", Branch: "master", Number: 7,
		Commit: release.Commit(release.DigestOf([]byte(l.run)).Hex()[:40]),
	}, tasks)
}

// touch tells scripts that wait for a file to go on.
func (l *lab) touch(name string) {
	l.t.Helper()
	if err := os.WriteFile(filepath.Join(l.dir, "state", name), nil, 0o600); err != nil {
		l.t.Fatal(err)
	}
}

// ledger is what was written.
func (l *lab) ledger() string {
	text, _ := os.ReadFile(filepath.Join(l.ground, "ledger")) // there is none before the first line
	named := strings.ReplaceAll(string(text), string(l.run), "RUN")
	return regexp.MustCompile(release.PlaceRuns+`\S+`).ReplaceAllString(named, "PLACE")
}

// awaits waits until the ledger has a line.
func (l *lab) awaits(line string) {
	l.t.Helper()
	l.eventually("the ledger", func() string {
		if strings.Contains(l.ledger(), line+"\n") {
			return ""
		}
		return "without " + line + ":\n" + l.ledger()
	})
}

// finished waits until a task has succeeded.
func (l *lab) finished(n int) {
	l.t.Helper()
	l.until(func(e event.Event) bool {
		if f, ok := e.Data.(event.TaskFinished); ok && e.Run == l.run && f.Class == release.ClassOK {
			n--
		}
		return n == 0
	})
}

// TestFrozenHolder: an executor stands still while it prepares, and its place is given to another. When it goes on, two
// believe that they hold the place. The first runs nothing further, not even its cleanup; its result is refused; and the
// place is clean for the second.
func TestFrozenHolder(t *testing.T) {
	t.Parallel()
	l := newLab(t, "frozen")
	l.executor("red1", "")
	l.start(plan.Task{
		ID: "soak", Lease: release.LeaseRequest{Provider: "lab"},
		Prepare: `mine look; say prepare; while ! test -e "$STATE/go"; do sleep 0.05; done`,
		Run:     `say test; while ! test -e "$STATE/done"; do sleep 0.05; done; say end`,
		Cleanup: `say tidy; mine leave`,
	})
	l.awaits("prepare RUN soak 1 p1=1")
	frozen := l.signal("red1", syscall.SIGSTOP)
	before := l.ledger()
	l.touch("go") // its preparation ends meanwhile
	l.executor("red2", "")
	l.awaits("test RUN soak 2 p1=3")
	if woken := l.signal("red1", syscall.SIGCONT); woken != frozen || frozen == 0 {
		t.Fatalf("executor %d ended while it stood still; now it is %d", frozen, woken)
	}
	l.eventually("the first executor", func() string {
		text, _ := os.ReadFile(filepath.Join(l.dir, "red1.log"))
		left, _ := filepath.Glob(filepath.Join(l.dir, "red1", "executors", "*", "attempts", "*"))
		if !strings.Contains(string(text), "the attempt was declared ended before its result came") || len(left) > 0 {
			return fmt.Sprintf("has not dropped its result and workspace %v", left)
		}
		return ""
	})
	l.touch("done")
	l.finished(1)
	want := before + `clean PLACE clean 2 p1=2
tidy RUN soak 2 p1=3
prepare RUN soak 2 p1=3
test RUN soak 2 p1=3
end RUN soak 2 p1=3
tidy RUN soak 2 p1=3
`
	if got := l.ledger(); !strings.HasPrefix(got, want) {
		t.Errorf("the ledger has\n%s\nwant\n%s", got, want)
	}
}

// TestExecutorsThatEndLetGo: an executor is told to end, or that its machine will be taken away. Its work starts elsewhere
// before its time is over, and no task is done twice.
func TestExecutorsThatEndLetGo(t *testing.T) {
	t.Parallel()
	for name, tell := range map[string]func(*lab){
		"order": func(l *lab) {
			l.away("red1")
			l.signal("red1", syscall.SIGTERM)
		},
		"notice": func(l *lab) {
			l.touch("notice")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, name)
			l.executor("red1", fmt.Sprintf(", drain: 10m, notice: {file: %s/state/notice}", l.dir))
			task := plan.Task{Run: `begin; while ! test -e "$STATE/done"; do sleep 0.05; done; end`}
			one, two := task, task
			one.ID, two.ID = "one", "two"
			l.start(one, two)
			l.awaits("begin RUN one 1")
			l.awaits("begin RUN two 1")
			l.executor("red2", "")
			tell(l)
			l.awaits("begin RUN one 2")
			l.awaits("begin RUN two 2")
			l.eventually("the first attempts", func() string { return strings.Join(attempts(1, l.run), "\n") })
			l.touch("done")
			l.finished(2)
			if got := l.ledger(); strings.Count(got, "end ") != 2 || strings.Count(got, "\n") != 6 {
				t.Errorf("the ledger has\n%s", got)
			}
			if n := count(l.seen, event.TypeExecutorDraining); n != 1 {
				t.Errorf("%d executors said that they drain, want 1", n)
			}
		})
	}
}

// TestADrainingHolderKeepsItsPlace: what holds a place is not given to others while its executor, which is to end, still
// works there.
func TestADrainingHolderKeepsItsPlace(t *testing.T) {
	t.Parallel()
	l := newLab(t, "drained")
	l.executor("red1", fmt.Sprintf(", drain: 10m, notice: {file: %s/state/notice}", l.dir))
	free := plan.Task{ID: "free", Run: `say test; while ! test -e "$STATE/done"; do sleep 0.05; done`}
	held := plan.Task{ID: "held", Lease: release.LeaseRequest{Provider: "lab"}, Run: `begin; while ! test -e "$STATE/done"; do sleep 0.05; done; end`}
	l.start(free, held)
	l.awaits("test RUN free 1")
	l.awaits("begin RUN held 1 p1=1")
	l.executor("red2", "")
	l.touch("notice")
	l.awaits("test RUN free 2")                        // what holds nothing has moved
	l.eventually("the first attempts", func() string { // and so long that it would have been told to the other too
		if left := attempts(1, l.run); slices.ContainsFunc(left, func(p string) bool { return strings.Contains(p, "say test") }) {
			return strings.Join(left, "\n")
		}
		return ""
	})
	l.touch("done")
	l.finished(2)
	l.awaits("clean PLACE clean 2 p1=2")
	if got := l.ledger(); strings.Index(got, "end RUN held 1 p1=1\n") > strings.Index(got, "clean ") || strings.Contains(got, "held 2") {
		t.Errorf("the ledger has\n%s", got)
	}
}
