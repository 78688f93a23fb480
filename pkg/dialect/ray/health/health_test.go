package health

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluiceci/sluice/pkg/dialect/ray/outcome"
	"github.com/sluiceci/sluice/test/property"
)

func now() time.Time { return time.Date(2024, 11, 5, 3, 0, 0, 0, time.UTC) }

// results reads a history, newest first: S passes, E fails, I fails by the infrastructure. The oldest commit is c0.
func results(s string) []Result {
	words := strings.Split(s, ",")
	if s == "" {
		words = nil
	}
	var out []Result
	for i, w := range words {
		status := map[string]outcome.Status{"S": outcome.StatusSuccess, "E": outcome.StatusError, "I": outcome.StatusInfraError}[w]
		out = append(out, Result{Status: status, Commit: fmt.Sprint("c", len(words)-1-i)})
	}
	return out
}

func times(s string, n int) string { return strings.TrimSuffix(strings.Repeat(s+",", n), ",") }

// TestStateMachine is the table of 2.9.
func TestStateMachine(t *testing.T) {
	t.Parallel()
	const p, f, c, k, j = Passing, Failing, ConsistentlyFailing, Flaky, Jailed
	histories := []string{"S", "E", "E,S", "E,E", "E,E,E", "S,E,E", times("S", 10), times("S,E", 10)}
	for _, row := range []struct {
		state   State
		variant Variant
		want    [8]State
	}{
		{p, ReleaseTest, [8]State{p, f, f, c, c, p, p, p}},
		{f, ReleaseTest, [8]State{p, f, f, c, c, p, p, p}},
		{c, ReleaseTest, [8]State{p, c, c, c, j, p, p, p}},
		{j, ReleaseTest, [8]State{p, j, j, j, j, p, p, p}},
		{k, ReleaseTest, [8]State{k, k, k, k, k, k, k, k}},
		{p, CITest, [8]State{p, f, f, c, c, p, p, k}},
		{c, CITest, [8]State{p, c, c, c, k, p, p, p}},
		{k, CITest, [8]State{k, k, k, k, k, k, p, k}},
		{j, CITest, [8]State{p, j, j, j, j, p, p, p}},
	} {
		for i, history := range histories {
			test := Test{Name: "t", State: row.state, Variant: row.variant}
			if got := next(test, results(history)); got != row.want[i] {
				t.Errorf("2.9 %s (%s) after %.20s: %s, want %s", row.state, row.variant, history, got, row.want[i])
			}
		}
	}
}

// TestStateMachineFacts is the rest of 2.9.
func TestStateMachineFacts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		test Test
		h    string
		want State
	}{
		"infra_error fails":                  {Test{}, "I", Failing},
		"nine passes do not unflake":         {Test{State: Flaky, Variant: CITest}, times("S", 9), Flaky},
		"a blamed commit is consistent":      {Test{State: Failing, Blamed: "c"}, "E,S", ConsistentlyFailing},
		"a label jails":                      {Test{State: Flaky, Variant: CITest, Issue: Issue{1, true, []string{"jailed-test"}}}, "S,E", Jailed},
		"no results move nothing":            {Test{State: Failing}, "", Failing},
		"a test begins passing":              {Test{}, "", Passing},
		"never jailed":                       {Test{State: ConsistentlyFailing, Policy: Policy{NeverJail: true}}, "E,E,E", ConsistentlyFailing},
		"never jailed by a label":            {Test{State: Flaky, Variant: CITest, Policy: Policy{NeverJail: true}, Issue: Issue{1, true, []string{"jailed-test"}}}, "S,E", Flaky},
		"ten passes undo an old flake":       {Test{Variant: CITest}, times("S", 10) + "," + times("E,S", 5), Passing},
		"one flake in thirty is below 7 %":   {Test{Variant: CITest}, "S,E," + times("S", 28), Passing},
		"three flakes in thirty are above":   {Test{Variant: CITest}, "S,E,S,E,S,E," + times("S", 24), Flaky},
		"what is older than 30 is forgotten": {Test{Variant: CITest}, times("S", 9) + ",E," + times("S", 20) + "," + times("E,S", 20), Passing},
		"a CI test that fails once":          {Test{State: Failing, Variant: CITest}, "S,E", Passing},
	} {
		c.test.Name = "t"
		if got := next(c.test, results(c.h)); got != c.want {
			t.Errorf("2.9 %s: %s, want %s", name, got, c.want)
		}
	}
}

// did names what a turn asks for.
func did(turn Turn) string {
	var out []string
	for _, i := range turn.Intents {
		out = append(out, string(i.Do))
	}
	return strings.Join(out, ", ")
}

func TestWhatFollows(t *testing.T) {
	t.Parallel()
	open, closed := Issue{Number: 7, Open: true}, Issue{Number: 7}
	for name, c := range map[string]struct {
		test Test
		h    string
		want string
	}{
		"a first failure is bisected":         {Test{}, "E,S", "bisect"},
		"a first failure of all is not":       {Test{}, "E", ""},
		"known to be broken by":               {Test{Blamed: "c"}, "E,S", "open issue"},
		"a second failure has an issue":       {Test{State: Failing}, "E,E,S", "open issue"},
		"two at once have both":               {Test{}, "E,E,S", "bisect, open issue"},
		"a third one jails":                   {Test{State: ConsistentlyFailing, Issue: open}, "E,E,E", "jail, comment on issue, label issue"},
		"a jail without an issue":             {Test{State: ConsistentlyFailing}, "E,E,E", "jail"},
		"a jail opens its issue":              {Test{State: ConsistentlyFailing, Issue: closed}, "E,E,E", "jail, comment on issue, label issue, reopen issue"},
		"passing closes":                      {Test{State: ConsistentlyFailing, Issue: open}, "S,E,E", "close issue"},
		"passing releases":                    {Test{State: Jailed, Issue: open}, "S,E,E", "release from jail, close issue"},
		"passing a closed issue":              {Test{State: ConsistentlyFailing, Issue: closed}, "S", ""},
		"jailed, issue closed, fails":         {Test{State: Jailed, Issue: closed}, "E,E", "reopen issue"},
		"jailed, issue open, fails":           {Test{State: Jailed, Issue: open}, "E,E", ""},
		"jailed without an issue":             {Test{State: Jailed}, "E,E", ""},
		"CI: failing once":                    {Test{Variant: CITest}, "E,S", ""},
		"CI: consistently":                    {Test{Variant: CITest, State: Failing}, "E,E,S", "bisect, open issue"},
		"CI: a relapse uses its issue":        {Test{Variant: CITest, State: Failing, Issue: closed}, "E,E,S", "bisect, reopen issue"},
		"CI: an open issue is brought to now": {Test{Variant: CITest, State: ConsistentlyFailing, Issue: open}, "E,E,E,S", "update issue"},
		"CI: unflaked":                        {Test{Variant: CITest, State: Flaky, Issue: open}, times("S", 10), "close issue"},
		"nothing changes":                     {Test{}, "S", ""},
	} {
		c.test.Name, c.test.Team = "t", "core"
		turn := Look(c.test, results(c.h), now())
		if got := did(turn); got != c.want {
			t.Errorf("%s: %s to %s, %q; want %q", name, turn.From, turn.To, got, c.want)
		}
	}
}

func TestIntents(t *testing.T) {
	t.Parallel()
	test := Test{Name: "t", Team: "core", Stable: true}
	turn := Look(test, results("E,E,S,S"), now())
	b, i := turn.Intents[0], turn.Intents[1]
	if b.Passing != "c1" || b.Failing != "c2" {
		t.Errorf("bisects from %s to %s, want c1 to c2", b.Passing, b.Failing)
	}
	if !slices.Contains(i.Labels, "weekly-release-blocker") || !slices.Contains(i.Labels, "core") || i.Title != "Release test t is consistently_failing" {
		t.Errorf("%+v", i)
	}
	test.Stable = false
	if l := Look(test, results("E,E"), now()).Intents[0].Labels; !slices.Contains(l, "unstable-release-test") || slices.Contains(l, LabelBlocker) {
		t.Errorf("an unstable test has labels %q", l)
	}
	jail := Look(Test{Name: "t", Team: "core", State: ConsistentlyFailing, Issue: Issue{Number: 7, Open: true}}, results("E,E,E"), now()).Intents[0].Jail
	if jail.Owner != "core" || jail.Due(now().Add(13*24*time.Hour)) || !jail.Due(now().Add(14*24*time.Hour)) || jail.Reason == "" {
		t.Errorf("%+v", jail)
	}
	relapse := Look(Test{Name: "t", Variant: CITest, State: Failing, Issue: Issue{Number: 7}}, results("E,E"), now()).Intents[0]
	if relapse.Do != ReopenIssue || relapse.Issue != 7 || relapse.Title != "CI test t is consistently_failing" {
		t.Errorf("%+v", relapse)
	}
	if n := Blockers([]Issue{{1, true, []string{LabelBlocker}}, {2, false, []string{LabelBlocker}}, {3, true, nil}}, func(Issue) string { return "core" }); n["core"] != 1 || len(n) != 1 {
		t.Errorf("blockers %v", n)
	}
	for kind, want := range map[string]int{"release": 10, "linux": 3, "macos": 3, "windows": 3, "x": 0} {
		if got := BisectsPerDay(kind); got != want {
			t.Errorf("%s: %d a day", kind, got)
		}
	}
}

// TestEveryTurn: of any history the same look twice says the same, ids differ within a turn, nothing is done about a test
// that did not move but for a jailed one, and only its own variant's states are reached.
func TestEveryTurn(t *testing.T) {
	t.Parallel()
	property.Check(t, func(t *rapid.T) {
		test := Test{
			Name: "t", Variant: rapid.SampledFrom([]Variant{ReleaseTest, CITest}).Draw(t, "variant"),
			State: rapid.SampledFrom([]State{"", Passing, Failing, ConsistentlyFailing, Jailed}).Draw(t, "state"),
			Issue: Issue{Number: rapid.IntRange(0, 1).Draw(t, "issue"), Open: rapid.Bool().Draw(t, "open")},
		}
		history := rapid.SliceOfN(rapid.SampledFrom([]string{"S", "E", "I"}), 0, 40).Draw(t, "history")
		h := results(strings.Join(history, ","))
		a, b := Look(test, h, now()), Look(test, h, now())
		if fmt.Sprint(a) != fmt.Sprint(b) {
			t.Fatalf("%v and %v", a, b)
		}
		seen := map[string]bool{}
		for _, i := range a.Intents {
			if seen[i.ID] || i.ID == "" {
				t.Fatalf("id %q is not its own", i.ID)
			}
			seen[i.ID] = true
		}
		if a.From == a.To && len(a.Intents) > 0 && a.To != Jailed {
			t.Fatalf("%v", a)
		}
		if test.Variant == ReleaseTest && a.To == Flaky && a.From != Flaky {
			t.Fatalf("a release test is flaky: %v", a)
		}
		if len(h) > 0 && h[0].passed() && (a.To == Failing || a.To == Jailed) {
			t.Fatalf("the newest passed and the test is %s", a.To)
		}
	})
}
