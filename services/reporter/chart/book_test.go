package chart

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/test/property"
)

func began() time.Time { return time.Date(2026, 1, 5, 3, 0, 0, 0, time.UTC) }

// told makes a history out of payloads, one a minute.
func told(payloads ...event.Payload) []event.Event {
	var out []event.Event
	for i, p := range payloads {
		run := event.Fleet
		if _, is := p.(event.TestsJudged); is {
			run = release.RunID(fmt.Sprint("run", i))
		}
		e := event.Root(run, "/t", began().Add(time.Duration(i)*time.Minute), p)
		e.Seq = uint64(i + 1)
		out = append(out, e)
	}
	return out
}

func judged(day int, test string, class release.Class) event.TestsJudged {
	return event.TestsJudged{
		Project: "p", Commit: release.Commit(fmt.Sprintf("%040x", day)), At: began().AddDate(0, 0, day),
		Tests: []event.JudgedTest{{Test: test, Task: "t", Outcome: class.Outcome(), Class: class, Reason: "because", Owner: "core", Frequency: "nightly", Stable: true}},
	}
}

// TestAChart takes a test through its life.
func TestAChart(t *testing.T) {
	t.Parallel()
	b := New()
	until := began().AddDate(0, 0, 14)
	history := told(
		judged(0, "soak", release.ClassOK),
		judged(2, "soak", release.ClassAlert),
		judged(1, "soak", release.ClassInfra), // ended later, is of an earlier change
		event.TestMoved{Project: "p", Test: "soak", Number: 1, From: "passing", To: "failing", Reason: "it ended as alert"},
		event.BisectRequested{Bisect: "b1", Project: "p", Test: "soak", Good: "aaaa", Bad: "bbbb", By: "ada"},
		event.BisectAdvanced{Bisect: "b1", Commits: []release.Commit{"1", "2", "3"}, Started: []event.BisectRun{{Commit: "2", Run: "r1"}}},
		event.BisectAdvanced{Bisect: "b1", Number: 1, Started: []event.BisectRun{{Commit: "3", Run: "r2"}, {Commit: "3", Number: 1, Run: "r3"}}, Passing: "2"},
		event.TestMoved{Project: "p", Test: "soak", Number: 2, From: "failing", To: "jailed", By: "bob", Owner: "rack", Until: until, Reason: "waits"},
		event.IssueSynced{Project: "p", Test: "soak", Issue: 7, URL: "https://forge.example/7", Open: true, Action: "opened"},
		event.BisectEnded{Bisect: "b1", Project: "p", Test: "soak", Blamed: "3", Reason: "it fails"},
	)
	b.Apply(history[:5], false)
	if p := b.List(Query{Limit: 10}, everywhere); p.Whole || len(p.Tests) != 1 || p.Tests[0].Bisects[0].State() != "running" {
		t.Errorf("after the beginning: %+v", p)
	}
	b.Apply(history[5:], true)
	got, known := b.Test(event.TestKey("p", "soak"))
	if !known || got.State != "jailed" || got.By != "bob" || got.Owner != "rack" || !got.Jailed(began()) || got.Jailed(until) || got.Issue.Number != 7 {
		t.Errorf("%+v", got)
	}
	var classes []release.Class
	for _, r := range got.Results {
		classes = append(classes, r.Class)
	}
	if !slices.Equal(classes, []release.Class{release.ClassAlert, release.ClassInfra, release.ClassOK}) || len(got.Alerts()) != 1 {
		t.Errorf("results %v", classes)
	}
	if one := got.Bisects[0]; one.State() != "blamed" || one.Blamed != "3" || one.Commits != 3 || one.Started != 3 || len(one.Rounds) != 2 || one.By != "ada" {
		t.Errorf("%+v", one)
	}
	if len(got.Moves) != 2 || got.Moves[0].To != "jailed" || got.Since != history[7].Time {
		t.Errorf("%+v", got.Moves)
	}
	got.Results[0].Class, got.Bisects[0].Rounds[0].Number = "changed", 99
	if again, _ := b.Test(got.Key); again.Results[0].Class != release.ClassAlert || again.Bisects[0].Rounds[0].Number != 0 {
		t.Error("a reader changed the book")
	}
	if _, known := b.Test("p.none"); known {
		t.Error("a test that nobody judged has a chart")
	}
}

// TestListsPage: whoever turns pages sees every test once, the worst first.
func TestListsPage(t *testing.T) {
	t.Parallel()
	b := New()
	var facts []event.Payload
	states := []string{"passing", "failing", "consistently_failing", "flaky", "jailed"}
	for i := range 53 {
		name := fmt.Sprintf("t%02d", i)
		facts = append(facts, judged(0, name, release.ClassOK))
		if to := states[i%5]; to != "passing" {
			facts = append(facts, event.TestMoved{Project: "p", Test: name, Number: 1, From: "passing", To: to})
		}
	}
	b.Apply(told(facts...), true)
	seen, order := map[string]bool{}, []int{}
	for q := (Query{Limit: 10}); ; {
		page := b.List(q, everywhere)
		for _, one := range page.Tests {
			if seen[one.Key] {
				t.Errorf("%s is there twice", one.Name)
			}
			seen[one.Key] = true
			order = append(order, rank(one.State))
		}
		if page.Next == 0 {
			break
		}
		q.From = page.Next
	}
	if len(seen) != 53 || !slices.IsSorted(order) {
		t.Errorf("%d tests in the order %v", len(seen), order)
	}
	for q, want := range map[Query]int{
		{Limit: 100, State: "flaky"}: 10, {Limit: 100, State: "failed"}: 42, {Limit: 100, Text: "T0"}: 10, {Limit: 100, Project: "other"}: 0, {Limit: 1, From: 1000}: 53,
	} {
		if page := b.List(q, everywhere); page.Total != want || len(page.Tests) > q.Limit {
			t.Errorf("%+v: %d tests", q, page.Total)
		}
	}
}

// TestResultsOfAnyOrderAreTheSame: late runs and repeated rounds make the same chart, whatever came first.
func TestResultsOfAnyOrderAreTheSame(t *testing.T) {
	t.Parallel()
	property.Check(t, func(t *rapid.T) {
		var facts []event.Payload
		for day := range rapid.IntRange(1, 120).Draw(t, "days") {
			facts = append(facts, judged(day, "soak", rapid.SampledFrom([]release.Class{release.ClassOK, release.ClassCommand, release.ClassInfra}).Draw(t, "class")))
		}
		events := told(facts...)
		one, other := New(), New()
		one.Apply(events, true)
		other.Apply(rapid.Permutation(events).Draw(t, "order"), true)
		a, _ := one.Test("p.soak")
		b, _ := other.Test("p.soak")
		if diff := cmp.Diff(a, b, cmpopts.IgnoreUnexported(Result{}, Issue{})); diff != "" || len(a.Results) > maxResults {
			t.Fatalf("(-in order +shuffled):\n%s", diff)
		}
	})
}

func everywhere(string) bool { return true }
