package ray

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// TestEvidence shows which words tell of which generation, and that one that was forgotten tells nothing.
func TestEvidence(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, from, to string
		want           Generation
	}{
		{"nothing", "group: g", "group: g", Generation2024},
		{"a lock", "byod: {}", "byod: {python_depset: a.lock}", Generation2025},
		{"a released image", "byod: {}", "byod: {}\n    ray_version: 2.50.0", Generation2025},
		{"a directory of the root", "working_dir: dir", "working_dir: //release/dir", Generation2025},
		{"monthly", "  frequency: nightly\n  team", "  frequency: monthly\n  team", Generation2025},
		{"retries", "timeout: 100", "timeout: 100\n    num_retries: 3", Generation2026},
		{"today's schema", "byod: {}", "byod: {}\n    anyscale_sdk_2026: true", Generation2026},
		{"no byod", "    byod: {}\n", "", Generation2026},
		{"Python 3.8", "group: g", "python: '3.8'", Generation2023},
		{"a cluster environment", "byod: {}", "cluster_env: app.yaml", Generation2023},
		{"DEFAULTS", "- name: sample", "- {name: DEFAULTS, stable: true}\n- name: sample", Generation2025},
	} {
		s, found := read(change(t, c.from, c.to), Options{})
		if s.Generation != c.want || s.GenerationWhy == "" || len(found) > 0 || len(s.Tests) != 1 {
			t.Errorf("%s: got %s (%s) and %v, want %s", c.name, s.Generation, s.GenerationWhy, found, c.want)
		}
	}
	s, _ := read(strings.Repeat(valid, 20)+change(t, "    byod: {}\n", ""), Options{})
	if s.Generation != Generation2024 || len(s.Tests) != 21 {
		t.Errorf("one of 21 tests has no byod: got %s and %d tests", s.Generation, len(s.Tests))
	}
}

// TestTheSuitesOwnCode shows that what the code beside a suite does counts before its words, and what is asked for before both.
func TestTheSuitesOwnCode(t *testing.T) {
	t.Parallel()
	files := tree(strings.Replace(valid, "sample", "test_1", 1) + strings.Replace(change(t, "group: g", "stable: false"), "sample", "test_2", 1))
	select1 := func(o Options) (*Suite, int) {
		s, err := Import(files, []string{"release/tests.yaml"}, o)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := asked(s, "", []string{"name:test"}, Request{RunUnstable: true})
		return s, len(got.Picked)
	}
	if s, n := select1(Options{}); n != 0 || s.Tests[0].Python != "3.9" || len(s.Tests[0].Cluster.Byod.RuntimeEnv) != 3 {
		t.Errorf("without code: %d tests match, Python %s", n, s.Tests[0].Python)
	}
	for name, text := range map[string]string{
		"buildkite/filter.py":      "if re.match(value, text): pass\nfor value in values: \"prefix\"\n",
		"buildkite/step.py":        "num_retries = 1\n",
		"buildkite/concurrency.py": "minuscule\n",
		"test.py":                  "os.environ.get(\"RELEASE_PY\", \"3.13\")\n",
	} {
		files["release/ray_release/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	s, n := select1(Options{})
	if n != 2 || s.Tests[0].Python != "3.13" || len(s.Tests[0].Cluster.Byod.RuntimeEnv) != 0 || s.Rules.SoftUnstable {
		t.Errorf("with code: %d tests match, Python %s, %+v", n, s.Tests[0].Python, s.Rules)
	}
	if !strings.Contains(s.GenerationWhy, "filters match the start of a value") {
		t.Errorf("the reason is %q", s.GenerationWhy)
	}
	if _, n := select1(Options{Generation: Generation2024}); n != 0 {
		t.Errorf("asked for the generation of 2024, %d tests match", n)
	}
	got, err := s.Select(Request{RunUnstable: true})
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := s.Tasks(got.Steps, TaskOptions{})
	if err != nil || slices.ContainsFunc(tasks, func(one plan.Task) bool { return one.SoftFail }) {
		t.Errorf("an unstable test fails softly, %v", err)
	}
}

func TestGenerationsHaveNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]Generation{"": "", "2024": Generation2024, "2025-11": Generation2025, "2026-02": Generation2026} {
		if got, err := ParseGeneration(name); err != nil || got != want {
			t.Errorf("%q: got %s, %v", name, got, err)
		}
	}
	if _, err := ParseGeneration("2019"); err == nil {
		t.Error("there is no generation of 2019")
	}
}

// TestTakenAsItIs shows what a suite has that is not known: each is taken, told with its place where it means nothing, and
// refused for who is strict.
func TestTakenAsItIs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, from, to, warning string }{
		{"an unknown field", "group: g", "colour: red", "'colour' was unexpected); it has no effect"},
		{"an unknown field of the cluster", "byod: {}", "byod: {x: 1}", "'x' was unexpected); it has no effect"},
		{"two unknown fields", "group: g", "foo: x\n  bar: y", "('bar', 'foo' were unexpected); they have no effect"},
		{"an unknown frequency", "  frequency: nightly\n  team", "  frequency: hourly\n  team", "'hourly' is not one of"},
		{"an unknown Python", "group: g", "python: '3.99'", "'3.99' is not one of"},
		{"an unknown type of run", "timeout: 100", "timeout: 100\n    type: balloon", "'balloon' is not one of"},
		{"a frequency of a later generation", "  frequency: nightly\n  team", "  frequency: monthly\n  team", ""},
		{"a Python of an earlier generation", "group: g", "python: '3.7'", ""},
		{"a field of a later generation", "byod: {}", "byod: {}\n    cloud: x", ""},
		{"no byod", "    byod: {}\n", "", ""},
	} {
		text := change(t, c.from, c.to)
		s, found := read(text, Options{Generation: Generation2024})
		if len(found) > 0 || len(s.Tests) != 1 {
			t.Errorf("%s: got %v", c.name, found)
		}
		told := slices.ContainsFunc(s.Warnings, func(p Problem) bool { return c.warning != "" && strings.Contains(p.Message, c.warning) && p.Line > 0 })
		if told != (c.warning != "") || c.warning == "" && len(s.Warnings) > 0 {
			t.Errorf("%s: the warnings are %v, want %q", c.name, s.Warnings, c.warning)
		}
		if _, found := read(text, Options{Generation: Generation2024, Strict: true}); len(found) == 0 {
			t.Errorf("%s: who is strict is told nothing", c.name)
		}
	}
	s, _ := read(change(t, "byod: {}", "byod: {type: tpu}"), Options{Generation: Generation2025})
	if len(s.Tests) != 1 || len(s.Warnings) != 1 || s.Tests[0].Cluster.Byod.Type != "tpu" || s.Warnings[0].Message != "Invalid BYOD type: tpu; it is taken as text" {
		t.Errorf("an unknown type of image: got %v", s.Warnings)
	}
	s, _ = read(change(t, "  frequency: nightly\n  team", "  frequency: hourly\n  team"), Options{})
	if got, err := asked(s, "hourly", nil, Request{}); err != nil || len(got.Picked) != 1 {
		t.Errorf("a frequency of the suite's own selects %v", err)
	}
	if _, err := asked(s, "daily", nil, Request{}); err == nil || !strings.Contains(err.Error(), "Frequency not found: daily") {
		t.Errorf("a frequency of nobody's gives %v", err)
	}
}

// TestABrokenDefinitionCostsItself shows that the rest of a suite runs, and that in a run the broken test fails: what is missing
// is no success.
func TestABrokenDefinitionCostsItself(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		change(t, "timeout: 100", "timeout: x"), change(t, "compute.yaml", "gone.yaml"), change(t, "  team: core\n", ""),
		change(t, "group: g", "variations: []"), change(t, "group: g", "variations: [{__suffix__: a}]\n  matrix: {setup: {a: [1]}}"),
		change(t, "cluster:\n    byod: {}\n    cluster_compute: compute.yaml\n  run", "run"), "- 3\n",
	} {
		text := strings.Replace(valid, "sample", "good", 1) + bad
		s, err := Import(tree(text), []string{"release/tests.yaml"}, Options{})
		if err != nil || !slices.Equal(names(s.Tests), []string{"good"}) || len(s.Broken) == 0 || len(s.Problems) == 0 {
			t.Fatalf("%s\ngot %v, %d broken, %v, %v", bad, names(s.Tests), len(s.Broken), s.Problems, err)
		}
		for _, broken := range s.Broken {
			if broken.Problem == "" {
				t.Errorf("%s is broken without a reason", broken.Name)
			}
		}
	}
	tasks, skipped, warnings, err := Include(tree(valid+strings.Replace(change(t, "timeout: 100", "timeout: it's"), "sample", "bad", 1)+
		strings.Replace(change(t, "  frequency: nightly\n  team: core", "  frequency: weekly\n  team: 3"), "sample", "later", 1)),
		"release/tests.yaml", map[string]string{"frequency": "nightly"})
	if err != nil || len(tasks) != 2 || len(skipped) != 1 || len(warnings) < 2 {
		t.Fatalf("got %d tasks, %v left out, %v, %v", len(tasks), skipped, warnings, err)
	}
	bad := tasks[1]
	if bad.Name != "bad (broken)" || !strings.Contains(bad.Run, `it'\''s`) || !strings.HasSuffix(bad.Run, "exit 78") || bad.SoftFail || !bad.Stable ||
		release.ClassOfExit(bad.Exits, 78, release.ClassCommand) != release.ClassConfig || bad.Lease.Provider != "" {
		t.Errorf("the task of a broken test is %+v", bad)
	}
	var refused Problems
	if _, err := Import(tree(valid+"- 3\n"), []string{"release/tests.yaml"}, Options{Strict: true}); !errors.As(err, &refused) {
		t.Errorf("who is strict gets %v", err)
	}
}
