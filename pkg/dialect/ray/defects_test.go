package ray

import (
	"fmt"
	"strings"
	"testing"
)

// TestDefect03SmokeTestsStayAsTheyAre: Ray's takes the smoke test out of its test when it is first asked for, so that its
// second run finds none. Here a smoke test of five runs has five tasks, every time.
func TestDefect03SmokeTestsStayAsTheyAre(t *testing.T) {
	t.Parallel()
	s := mustRead(t, change(t, "group: g", "repeated_run: 5"))
	first := ""
	for range 3 {
		selection, err := s.Select(Request{PreferSmoke: true, RunPerTest: 2})
		if err != nil || len(selection.Steps) != 5 {
			t.Fatalf("%d steps, %v", len(selection.Steps), err)
		}
		tasks, err := s.Tasks(selection.Steps, TaskOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range tasks {
			if !task.Smoke || !strings.HasSuffix(task.Run, " --smoke-test") {
				t.Errorf("%s runs %q", task.Name, task.Run)
			}
		}
		if got := fmt.Sprintf("%+v", tasks); first == "" {
			first = got
		} else if got != first {
			t.Errorf("asked again, the tasks are\n%s\nafter\n%s", got, first)
		}
	}
	if s.Tests[0].Smoke == nil || s.Tests[0].IsSmoke {
		t.Error("the test has lost its smoke test")
	}
}

// TestDefect17FiltersTakeAnyValue: Ray's filters crash on what is no text, and since 2025 match the start of a value only. Here
// a filter looks at any attribute of any delivered test, and as much of the value as the suite's generation has it.
func TestDefect17FiltersTakeAnyValue(t *testing.T) {
	t.Parallel()
	for _, g := range []Generation{Generation2024, Generation2025} {
		s := *suite2024(t)
		s.Rules = g.rules()
		count := func(filter string) int {
			t.Helper()
			filters, err := NewFilters([]string{filter})
			if err != nil {
				t.Fatal(err)
			}
			got, _ := s.Select(Request{Filters: filters, RunUnstable: true}) // that none is selected is an answer here
			return len(got.Picked)
		}
		for _, attr := range strings.Fields("run/timeout stable run cluster cluster/byod cluster/byod/type repeated_run smoke_test nothing/of/the/kind") {
			if got := count(attr + ":(?s).*"); got != 313 {
				t.Errorf("%s: %s:.* selects %d tests, want all", g, attr, got)
			}
		}
		start := map[bool]int{true: 3}[s.Rules.FilterStart]
		for filter, want := range map[string]int{"stable:(?i)false": 58, "name:many_actors": start, "name:many_actors.*": 3, "run/timeout:360$": 0} {
			if got := count(filter); got != want {
				t.Errorf("%s: %s selects %d tests, want %d", g, filter, got, want)
			}
		}
		if whole, start := count("run/timeout:3600"), count("run/timeout:36.*"); whole == 0 || start < whole {
			t.Errorf("%s: %d tests have 3600 s, %d begin with 36", g, whole, start)
		}
	}
}

// TestDefect19EnvironmentsMayBeReadByPeople: Ray's reader ends with an error at a blank line or a comment.
func TestDefect19EnvironmentsMayBeReadByPeople(t *testing.T) {
	t.Parallel()
	e, err := ParseEnvironment("aws.env", "# who owns this\n\nA=1\n   \n  # the second\nB=\"two # three\"\n")
	if err != nil || len(e.Variables) != 2 || e.Variables["A"] != "1" || e.Variables["B"] != "two # three" {
		t.Errorf("%v, %v", e.Variables, err)
	}
}
