package faults

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// judgeTasks compares how each task ended with how it must.
func (s *storm) judgeTasks() {
	s.t.Helper()
	ended, succeeded := map[event.AttemptRef]release.Class{}, map[event.AttemptRef]int{}
	for _, e := range s.seen {
		switch f := e.Data.(type) {
		case event.TaskFinished:
			task := event.AttemptRef{Run: e.Run, Task: f.Task}
			if f.Class == release.ClassOK {
				ended[task] = f.Class
				succeeded[task]++
			}
		case event.TaskConcluded:
			ended[event.AttemptRef{Run: e.Run, Task: f.Task}] = f.Class
		}
	}
	want := map[event.AttemptRef]release.Class{{Run: s.fresh, Task: "quick"}: release.ClassOK}
	for id, k := range s.kinds {
		want[event.AttemptRef{Run: s.mixed, Task: id}] = k.class
	}
	for _, e := range s.seen {
		if f, ok := e.Data.(event.TaskRequested); ok && (e.Run == s.wiped || e.Run == s.stale) {
			want[event.AttemptRef{Run: e.Run, Task: f.Task}] = release.ClassCancelled
		}
	}
	if len(want) != 201 {
		s.t.Errorf("%d tasks were requested, want 201", len(want))
	}
	for task, class := range want {
		if ended[task] != class || succeeded[task] > 1 {
			s.t.Errorf("%s %s ended as %q after %d successes, want %s; its facts:\n%s", task.Run, task.Task, ended[task], succeeded[task], class, s.story(task))
		}
	}
}

// story is what happened to a task.
func (s *storm) story(task event.AttemptRef) string {
	return story(slices.DeleteFunc(slices.Clone(s.seen), func(e event.Event) bool {
		return e.Run != task.Run || !strings.Contains(e.Key+".", string(task.Task)+".")
	}))
}

// entry is a line of the ledger.
type entry struct {
	what string
	who  event.AttemptRef
	held map[string]int64 // places, with tokens
}

func readLedger(t testing.TB, file string) []entry {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []entry
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) < 4 {
			t.Errorf("the ledger has the line %q", line)
			continue
		}
		n, _ := strconv.Atoi(words[3])
		e := entry{words[0], event.AttemptRef{Run: release.RunID(words[1]), Task: release.TaskID(words[2]), Attempt: int32(n)}, map[string]int64{}}
		for _, held := range words[4:] {
			place, token, _ := strings.Cut(held, "=")
			e.held[place], _ = strconv.ParseInt(token, 10, 64)
		}
		out = append(out, e)
	}
	return out
}

// judgeLedger looks at what tasks wrote themselves.
func (s *storm) judgeLedger() {
	s.t.Helper()
	ledger := readLedger(s.t, filepath.Join(s.ground, "ledger"))
	times := map[string]map[event.AttemptRef]int{"begin": {}, "end": {}, "dirty": {}}
	for _, e := range ledger {
		if times[e.what] != nil {
			times[e.what][e.who]++
		}
	}
	for who := range times["dirty"] {
		s.t.Errorf("%v found its place as another left it", who)
	}
	for _, what := range []string{"begin", "end"} {
		for who, n := range times[what] {
			if n > 1 {
				s.t.Errorf("%v wrote %q %d times", who, what, n)
			}
		}
	}
	for _, e := range s.seen {
		f, ok := e.Data.(event.TaskFinished)
		who := event.AttemptRef{Run: e.Run, Task: f.Task, Attempt: f.Attempt}
		if ok && e.Run == s.mixed && f.Class == release.ClassOK && times["begin"][who]+times["end"][who] != 2 {
			s.t.Errorf("%v succeeded; it began %d times and ended %d times", who, times["begin"][who], times["end"][who])
		}
	}
	s.judgeHolders(ledger)
}

// tenure is from the first to the last line that a holder of a place wrote.
type tenure struct {
	token       int64
	who         event.AttemptRef
	first, last int
}

// judgeHolders looks that nobody wrote under a lease of a place for one after the next holder did. Whoever was declared
// lost because nobody heard of it may have lived a little longer: only it may.
func (s *storm) judgeHolders(ledger []entry) {
	s.t.Helper()
	silent := map[event.AttemptRef]bool{}
	for _, e := range s.seen {
		f, ok := e.Data.(event.TaskFinished)
		if ok && strings.HasPrefix(e.Source, "/test-scheduler/") && !strings.Contains(f.Reason, "draining") {
			silent[event.AttemptRef{Run: e.Run, Task: f.Task, Attempt: f.Attempt}] = true
		}
	}
	for _, place := range []string{"p1", "p2", "s1"} {
		list := tenures(ledger, place)
		room := 1
		if place == "s1" {
			room = 3
		}
		for i, next := range list {
			beside := 0
			for _, before := range list[:i] {
				if before.last > next.first && !silent[before.who] {
					beside++
				}
			}
			if beside >= room {
				s.t.Errorf("%s had %d holders when %v wrote under token %d; all tenures: %v", place, beside+1, next.who, next.token, list)
			}
		}
		if len(list) < 5 {
			s.t.Errorf("%s was used %d times: this shows nothing", place, len(list))
		}
	}
}

func tenures(ledger []entry, place string) []tenure {
	by := map[int64]tenure{}
	for i, e := range ledger {
		token, held := e.held[place]
		if !held {
			continue
		}
		one, known := by[token]
		if !known {
			one = tenure{token: token, who: e.who, first: i}
		}
		one.last = i
		by[token] = one
	}
	return slices.SortedFunc(maps.Values(by), func(a, b tenure) int { return cmp.Compare(a.token, b.token) })
}
