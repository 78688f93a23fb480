package ray

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func data(name string) fs.FS { return os.DirFS("../../../test/data/ray/" + name) }

// delivered is the suite of November 2024, read once.
var delivered = sync.OnceValues(func() (*Suite, error) {
	return Import(data("2024-11"), []string{"release/release_tests.yaml"}, Options{})
})

func suite2024(t *testing.T) *Suite {
	t.Helper()
	s, err := delivered()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func counts(tests []*Test, of func(*Test) string) map[string]int {
	out := map[string]int{}
	for _, t := range tests {
		out[of(t)]++
	}
	return out
}

// TestP17 is vector P17: the delivered file.
func TestP17(t *testing.T) {
	t.Parallel()
	s := suite2024(t)
	if s.Definitions != 173 || len(s.Tests) != 313 {
		t.Errorf("got %d definitions and %d tests, want 173 and 313", s.Definitions, len(s.Tests))
	}
	names := counts(s.Tests, func(t *Test) string { return t.Name })
	if len(names) != 313 {
		t.Errorf("got %d different names, want 313", len(names))
	}
}

// TestSuiteInNumbers is section 3 of the description of Ray's behaviour: counts after expansion.
func TestSuiteInNumbers(t *testing.T) {
	t.Parallel()
	s := suite2024(t)
	written := func(path string) func(*Test) string {
		return func(t *Test) string {
			if !t.Written(path) {
				return "-"
			}
			return t.Value(path).Text
		}
	}
	for name, c := range map[string]struct {
		of   func(*Test) string
		want map[string]int
	}{
		"frequency": {func(t *Test) string { return string(t.Frequency) }, map[string]int{"nightly": 123, "nightly-3x": 21, "weekly": 29, "manual": 140}},
		"team":      {func(t *Test) string { return t.Team }, map[string]int{"core": 85, "ml": 88, "data": 86, "serve": 28, "clusters": 12, "rllib": 14}},
		"env":       {func(t *Test) string { return t.Env }, map[string]int{"aws": 159, "gce": 142, "aws_perf": 12}},
		"stable":    {func(t *Test) string { return fmt.Sprint(t.Stable) }, map[string]int{"true": 255, "false": 58}},
		"alert":     {written("alert"), map[string]int{"-": 177, "default": 93, "long_running_tests": 28, "tune_tests": 15}},
		"python":    {written("python"), map[string]int{"-": 310, "3.12": 3}},
		"byod type": {func(t *Test) string { return t.Cluster.Byod.Type }, map[string]int{"gpu": 173, "cpu": 134, "cu123": 6}},
		"run type":  {written("run/type"), map[string]int{"-": 313}},
		"suffix":    {func(t *Test) string { return t.Suffix }, map[string]int{"aws": 140, "gce": 136, "aws.py312": 3, "smoke-test": 1, "": 33}},
		"smoke test": {func(t *Test) string {
			if t.Smoke == nil {
				return "-"
			}
			return string(t.Smoke.Frequency)
		}, map[string]int{"-": 260, "manual": 33, "nightly": 19, "nightly-3x": 1}},
		"timeout": {func(t *Test) string {
			switch n := t.Run.Timeout; {
			case n <= 600:
				return "<=10m"
			case n <= 3600:
				return "<=1h"
			case n <= 4*3600:
				return "<=4h"
			}
			return ">4h"
		}, map[string]int{"<=10m": 40, "<=1h": 132, "<=4h": 82, ">4h": 59}},
		"concurrency group": {func(t *Test) string { return t.Budget().Group }, map[string]int{
			"tiny-gce": 46, "tiny": 39, "small-gpu": 37, "gpu-gce": 30, "medium": 25, "medium-gce": 24, "minuscule": 22,
			"minuscule-gce": 22, "small": 18, "large-gpu": 17, "small-gce": 12, "enormous": 9, "enormous-gce": 7, "large": 4, "large-gce": 1,
		}},
		"group": {func(t *Test) string { return t.Group }, map[string]int{
			"data-tests": 79, "RLlib tests": 10, "core-daily-test": 37, "Serve tests": 9, "AIR tests": 32, "core-multi-test": 8,
			"Long running tests": 26, "core-nightly-test": 6, "core-scalability-test": 16, "AIR examples": 5, "Tune scalability tests": 15,
			"Runtime env tests": 4, "Train tests": 13, "cluster-launcher-test": 12, "Cluster tests": 2, "Tune cloud tests": 2,
			"Golden Notebook tests": 2, "core-observability-test": 2, "Tune fault tolerance tests": 1, "k8s-test": 1, "autoscaler-test": 1,
			"Workspace templates": 10, "ML user tests": 10, "Jobs tests": 10,
		}},
		"team and frequency": {func(t *Test) string { return t.Team + " " + string(t.Frequency) }, map[string]int{
			"core nightly": 37, "core nightly-3x": 5, "core weekly": 7, "core manual": 36,
			"data nightly": 40, "data nightly-3x": 1, "data weekly": 2, "data manual": 43,
			"ml nightly": 21, "ml nightly-3x": 14, "ml weekly": 13, "ml manual": 40,
			"serve nightly": 12, "serve nightly-3x": 1, "serve weekly": 3, "serve manual": 12,
			"rllib nightly": 4, "rllib weekly": 3, "rllib manual": 7, "clusters nightly": 9, "clusters weekly": 1, "clusters manual": 2,
		}},
	} {
		if diff := cmp.Diff(c.want, counts(s.Tests, c.of)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestSuiteHas is the rest of section 3: how many tests have something.
func TestSuiteHas(t *testing.T) {
	t.Parallel()
	s := suite2024(t)
	for path, want := range map[string]int{
		"cluster/byod/runtime_env": 101, "cluster/byod/post_build_script": 67, "cluster/byod/pip": 33, "run/wait_for_nodes": 158,
		"run/prepare": 27, "run/long_running": 43, "run/artifact_path": 2,
	} {
		if got := counts(s.Tests, func(t *Test) string { return fmt.Sprint(t.Written(path)) })["true"]; got != want {
			t.Errorf("%d tests have %s, want %d", got, path, want)
		}
	}
	if got := counts(s.Tests, func(t *Test) string { return fmt.Sprint(t.Run.LongRunning) })["true"]; got != 34 {
		t.Errorf("%d tests are long running, want 34", got)
	}
	var timeouts []int64
	nodes := int64(0)
	for _, one := range s.Tests {
		timeouts = append(timeouts, one.Run.Timeout)
		if one.Run.Wait != nil {
			nodes = max(nodes, one.Run.Wait.Nodes)
		}
	}
	slices.Sort(timeouts)
	if got := []int64{timeouts[0], timeouts[156], timeouts[312], nodes}; !slices.Equal(got, []int64{100, 3600, 86400, 500}) {
		t.Errorf("shortest, median and longest timeout and most nodes are %v, want [100 3600 86400 500]", got)
	}
}

// TestDefinitionsInNumbers is section 3 before expansion.
func TestDefinitionsInNumbers(t *testing.T) {
	t.Parallel()
	sizes := map[int]int{}
	for _, n := range counts(suite2024(t).Tests, func(t *Test) string { return t.Definition }) {
		sizes[n]++
	}
	// Of those that become one test, four have one variation and 33 none.
	if want := map[int]int{1: 37, 2: 132, 3: 4}; !maps.Equal(sizes, want) {
		t.Errorf("definitions by how many tests they become: %v, want %v", sizes, want)
	}
}

// TestSelectionInNumbers is the end of section 2.3: counts on the delivered file, stable tests and all.
func TestSelectionInNumbers(t *testing.T) {
	t.Parallel()
	s := suite2024(t)
	for _, c := range []struct {
		frequency Frequency
		filters   string
		stable    int
		all       int
	}{
		{Nightly, "", 109, 138},
		{Weekly, "", 22, 29},
		{Nightly3x, "", 21, 22},
		{Manual, "", 122, 147},
		{Multi, "", 0, 0},
		{Any, "", 255, 313},
		{Any, "team:core", 68, 85},
		{Any, "group:core-.*\nteam:core", 52, 68},
		{Any, "name:microbenchmark.*", 3, 6},
		{Any, "name:microbenchmark", 0, 0},
		{Any, "run/type:job", 0, 0},
		{Any, "cluster/byod/type:gpu", 143, 173},
		{Any, "env:gce", 119, 142},
		{Any, "python:3.12", 2, 3},
		{Any, `name:.*\.aws`, 117, 140},
		{Any, "name:(?!.*gce).*", 142, 177},
	} {
		filters, err := ParseFilters(c.filters)
		if err != nil {
			t.Fatal(err)
		}
		r := Request{Frequency: c.frequency, Filters: filters}
		stable, _ := s.Select(r)
		r.RunUnstable = true
		all, _ := s.Select(r)
		if len(stable.Picked) != c.stable || len(all.Picked) != c.all {
			t.Errorf("2.3 %s %q: got %d (%d), want %d (%d)", c.frequency, c.filters, len(stable.Picked), len(all.Picked), c.stable, c.all)
		}
		if len(all.Picked)+len(all.Skipped) != 313 {
			t.Errorf("%s %q: %d picked and %d skipped are not 313", c.frequency, c.filters, len(all.Picked), len(all.Skipped))
		}
	}
}

func TestStepsInNumbers(t *testing.T) {
	t.Parallel()
	s := suite2024(t)
	nightly, err := s.Select(Request{Frequency: Nightly, RunUnstable: true})
	if err != nil {
		t.Fatal(err)
	}
	smoke := counts(nightly.Picked, func(t *Test) string { return fmt.Sprint(t.IsSmoke) })["true"]
	groups := nightly.Groups()
	if len(groups) != 18 || len(nightly.Steps) != 142 || smoke != 15 {
		t.Errorf("nightly: got %d groups, %d steps, %d smoke tests, want 18, 142, 15", len(groups), len(nightly.Steps), smoke)
	}
	if !slices.IsSorted(groups) {
		t.Errorf("the groups are not in order: %v", groups)
	}
	weekly, err := s.Select(Request{Frequency: Weekly, RunUnstable: true, RunPerTest: 2})
	if err != nil {
		t.Fatal(err)
	}
	if len(weekly.Steps) != 58 {
		t.Errorf("weekly, each at least twice: got %d steps, want 58", len(weekly.Steps))
	}
	every, err := s.Select(Request{Frequency: Any, RunUnstable: true})
	if err != nil || len(every.Steps) != 317 {
		t.Errorf("any: got %d steps and %v, want 317", len(every.Steps), err)
	}
}

// TestSuite2025 reads the file with DEFAULTS and matrices.
func TestSuite2025(t *testing.T) {
	t.Parallel()
	s, err := Import(data("2025-08"), []string{"release/release_data_tests.yaml"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Generation != Generation2025 {
		t.Errorf("the generation is %s, want 2025", s.Generation)
	}
	byDefinition := counts(s.Tests, func(t *Test) string { return t.Definition })
	for name, want := range map[string]int{
		"read_parquet_{{scaling}}": 2, "joins_{{dataset}}_{{join_type}}": 4, "batch_inference_hetero_{{case}}": 3, "streaming_split": 2,
		"map_batches_{{scaling}}_{{compute}}_{{format}}_{{repeat_map_batches}}": 9, "write_parquet": 1,
		"aggregate_groups_{{scaling}}_{{shuffle_strategy}}_{{columns}}": 4,
	} {
		if byDefinition[name] != want {
			t.Errorf("%s has become %d tests, want %d", name, byDefinition[name], want)
		}
	}
	for _, one := range s.Tests {
		if one.Group != "data-tests" || one.Team != "data" || strings.Contains(one.Name+one.Run.Script+one.Cluster.Compute, "{{") {
			t.Errorf("%s: group %q, team %q, script %q", one.Name, one.Group, one.Team, one.Run.Script)
		}
		if one.Cluster.Byod.RuntimeEnv["RAY_DATA_DEBUG_RESOURCE_MANAGER"] == "" && one.Cluster.Byod.RuntimeEnv["RAY_worker_killing_policy"] == "" {
			t.Errorf("%s: its runtime_env is %v", one.Name, one.Cluster.Byod.RuntimeEnv)
		}
	}
	// Seen by replaying the expansion in Python.
	frequencies := counts(s.Tests, func(t *Test) string { return string(t.Frequency) })
	if s.Definitions != 29 || !maps.Equal(frequencies, map[string]int{"nightly": 51, "manual": 8}) {
		t.Errorf("got %d definitions and %v, want 29, 51 nightly and 8 manual", s.Definitions, frequencies)
	}
}

func BenchmarkImport(b *testing.B) {
	files := data("2024-11")
	for b.Loop() {
		s, err := Import(files, []string{"release/release_tests.yaml"}, Options{})
		if err != nil || len(s.Tests) != 313 {
			b.Fatal(err)
		}
	}
}
