package readmodel

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/services/reporter/reportertest"
)

var update = flag.Bool("update", false, "write the golden files")

func storyTime() time.Time { return time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC) }

// asked are the facts that people ask for, which the story does not tell.
func asked() []event.Event {
	var out []event.Event
	for i, p := range []event.Payload{
		event.RunCancelRequested{Request: "r1", By: "ada", Reason: "wrong branch"},
		event.RunRetryRequested{Request: "r2", By: "ada", Tasks: nil},
		event.TaskCancelRequested{Task: "wheel", Attempt: 1, Reason: "the run was cancelled"},
		event.TaskAwaited{Task: "wheel", Attempt: 1, Asked: 3, Answer: "404 Not Found"},
		event.GateApproved{By: "ada", Note: "looks right"},
		event.EnvironmentApproved{Environment: "prod", Reviewer: "token:ada", By: "ada", Note: "looked at it"},
		event.GateHeld{Request: "r3", By: "ines", Reason: "the index is being moved"},
		event.GateResumed{Request: "r4", By: "ines"},
		event.PublicationRetryRequested{Request: "r5", By: "ada"},
		event.PublicationUndoRequested{Request: "u1", By: "ann", Reason: "it installs the wrong things"},
		event.PublicationDelayed{Target: "pypi", Kind: "pypi", State: release.Verified, Tried: 6, Reason: "pypi does not list it yet", Next: storyTime(), Until: storyTime()},
		event.PublicationChecked{Target: "pypi", Kind: "pypi", Fault: "conflict", Reason: "the version is taken"},
		event.PoolDrainRequested{Request: "r6", Pool: "arm", By: "ines", Reason: "new kernel"},
		event.ExecutorHeartbeat{Pool: "arm", Executor: "arm-1"},
		event.SchedulerHeartbeat{Scheduler: "sched-1", Number: 5},
		event.ExecutorDraining{Pool: "arm", Executor: "arm-1", Reason: "spot notice", Deadline: storyTime(), Running: []event.AttemptRef{{Run: "r", Task: "t", Attempt: 1}}},
		event.LimitSet{Request: "r7", Of: event.LimitPool, Name: "arm", Resource: "cpu", Amount: 64, By: "ines", Reason: "night"},
		event.TokenCreated{Token: "t1", Kind: event.TokenOfAPI, Name: "nightly", Subject: "oidc:1", Owner: "ines", By: "ines"},
		event.TokenCreated{Token: "t2", Kind: event.TokenOfSession, Subject: "oidc:1", Owner: "ines", Method: "oidc"},
		event.TokenUsed{Token: "t1", Day: "2026-11-22"},
		event.TokenRevoked{Token: "t1", By: "ines", Reason: "it leaked"},
		event.DeadLetterReplayed{Request: "r8", Letter: 7, By: "ines"},
		event.PlaceRegistered{Provider: "lab", Place: "rack-1", Version: "v1", Pool: "arm"},
		event.PlaceChanged{Provider: "lab", Place: "rack-1", Change: 2, State: release.PlaceQuarantined, Until: storyTime(), Reason: "three health checks failed"},
		event.PlaceDrainRequested{Request: "r8", Provider: "lab", Place: "rack-1", By: "ines", Reason: "new disk"},
		event.LeaseGranted{Provider: "lab", Place: "rack-1", Token: 3, Holder: event.AttemptRef{Run: "r", Task: "t", Attempt: 1}, Until: storyTime()},
		event.LeaseRenewed{Provider: "lab", Place: "rack-1", Token: 3, Number: 1, Until: storyTime()},
		event.LeaseEnded{Provider: "lab", Place: "rack-1", Token: 3, Holder: event.AttemptRef{Run: "r", Task: "t", Attempt: 1}, State: release.PlaceCleanupPending, Reason: "its executor was lost"},
		event.PlacesCreated{Task: "t", Attempt: 1, Pool: "arm", Provider: "cloud", Owner: "perf", Expires: storyTime()},
		event.PlacesDestroyed{Task: "t", Attempt: 1, Pool: "arm", Provider: "cloud"},
		event.CommentReceived{Comment: "c1", Project: "rillkit", Number: 7, Author: "ada", Text: "/test wheel"},
		event.CommentResolved{Comment: "c1", Project: "rillkit", Number: 7, Author: "ada", Permission: "write", Pull: release.Change{Commit: "4f2a9c1d4f2a9c1d4f2a9c1d4f2a9c1d4f2a9c1d"}},
		event.CommentAnswered{Comment: "c1", Project: "rillkit", Number: 7, Text: "wheel is wanted"},
		event.TestsJudged{Project: "rillkit", Commit: "4f2a9c1d4f2a9c1d4f2a9c1d4f2a9c1d4f2a9c1d", Tests: []event.JudgedTest{{Test: "soak", Outcome: release.Failure}}},
		event.TestMoved{Project: "rillkit", Test: "soak", Number: 3, From: "consistently_failing", To: "jailed", Until: storyTime(), Reason: "it fails for too long"},
		event.IssueSynced{Project: "rillkit", Test: "soak", Intent: "3", Action: "updated", Issue: 12, Open: true},
		event.BisectRequested{Bisect: "b1", Project: "rillkit", Test: "soak", Good: "1111111111111111111111111111111111111111", Bad: "4f2a9c1d4f2a9c1d4f2a9c1d4f2a9c1d4f2a9c1d", By: "ada"},
		event.BisectAdvanced{Bisect: "b1", Number: 1, Started: []event.BisectRun{{Commit: "2222222222222222222222222222222222222222", Run: "r"}}, Reason: "3 commits are left"},
		event.BisectEnded{Bisect: "b1", Project: "rillkit", Test: "soak", Blamed: "2222222222222222222222222222222222222222", Reason: "it fails, the one before passes"},
	} {
		e := event.Root("4f2a9c1d-asked", "/gateway/demo-1", storyTime(), p)
		e.Seq = uint64(1000 + i)
		if ofTheFleet(p) {
			e.Run = event.Fleet
		}
		out = append(out, e)
	}
	return out
}

// ofTheFleet reports whether a fact belongs to no run.
func ofTheFleet(p event.Payload) bool {
	kind, _, _ := strings.Cut(string(p.EventType()), ".")
	return slices.Contains([]string{"pool", "executor", "limit", "place", "lease", "comment", "test", "issue", "bisect", "scheduler", "token", "deadletter"}, kind)
}

// TestFoldGolden shows what one fact of each type says about which rows.
func TestFoldGolden(t *testing.T) {
	t.Parallel()
	first := map[event.Type]event.Event{}
	for _, e := range append(reportertest.Tell(storyTime()).Events, asked()...) {
		if _, known := first[e.Type]; !known {
			first[e.Type] = e
		}
	}
	var b strings.Builder
	for _, entry := range event.Catalogue() {
		e, told := first[entry.Type]
		if !told {
			t.Errorf("the story does not tell %s", entry.Type)
			continue
		}
		one := newBatch(layouts())
		one.add(e)
		fmt.Fprintf(&b, "# %s\n%s\n", entry.Type, describe(one))
	}
	golden(t, "testdata/fold.golden", b.String())
}

func describe(b *batch) string {
	var out strings.Builder
	for _, t := range tables() {
		for _, r := range b.sets[t.name].rows {
			out.WriteString(t.name)
			for i, v := range r {
				if v != nil {
					fmt.Fprintf(&out, " %s=%q", t.table.Columns[i], fmt.Sprint(v))
				}
			}
			out.WriteByte('\n')
		}
	}
	return out.String()
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Fatalf("%s (-want +got); -update writes it:\n%s", path, diff)
	}
}

func TestEveryFactHasItsLine(t *testing.T) {
	t.Parallel()
	for _, entry := range event.Catalogue() {
		p, err := entry.Decode([]byte("{}"))
		if err != nil {
			t.Fatal(err)
		}
		line, tone := Line(event.Event{Type: entry.Type, Data: p})
		if line == "" || line == string(entry.Type) || tone == "" {
			t.Errorf("%s has the line %q of tone %q", entry.Type, line, tone)
		}
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, e := range append(reportertest.Tell(storyTime()).Of("shut"), asked()...) {
		line, tone := Line(e)
		fmt.Fprintf(&b, "%-5s %-28s %s\n", tone, e.Type, line)
	}
	golden(t, "testdata/lines.golden", b.String())
}

func FuzzLine(f *testing.F) {
	for _, entry := range event.Catalogue() {
		f.Add(string(entry.Type), []byte(`{"task":"a","reason":"b","conditions":[{"name":"c"}]}`))
	}
	f.Fuzz(func(t *testing.T, kind string, data []byte) {
		entry, ok := event.Find(event.Type(kind))
		if !ok {
			return
		}
		p, err := entry.Decode(data)
		if err != nil {
			return
		}
		e := event.Event{Type: event.Type(kind), Run: "4f2a9c1d-fuzz", Key: p.Key(), Data: p, Seq: 1}
		b := newBatch(layouts())
		b.add(e)
		for name, set := range b.sets {
			for _, r := range set.rows {
				for _, v := range r {
					if s, ok := v.(string); ok && strings.Contains(s, "\x00") {
						t.Fatalf("%s holds a NUL", name)
					}
				}
			}
		}
	})
}
