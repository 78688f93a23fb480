package ray

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceci/sluice/pkg/dialect/ray/pyyaml"
)

// TestVariations has the vectors P1 to P7.
func TestVariations(t *testing.T) {
	t.Parallel()
	with := func(variations string) string {
		return change(t, "byod: {}", "byod: {type: gpu}") + "  variations: " + variations + "\n"
	}
	t.Run("P1", func(t *testing.T) {
		s := mustRead(t, with("[{__suffix__: aws}, {__suffix__: gce, cluster: {cluster_compute: compute_gce.yaml}}]"))
		if got := names(s.Tests); !slices.Equal(got, []string{"sample.aws", "sample.gce"}) {
			t.Fatalf("got %v", got)
		}
		if c := s.Tests[1].Cluster; c.Compute != "compute_gce.yaml" || c.Byod.Type != "gpu" {
			t.Errorf("the variation has compute %s and type %s", c.Compute, c.Byod.Type)
		}
		if s.Tests[0].Cluster.Compute != "compute.yaml" {
			t.Error("one variation changed another")
		}
	})
	for name, c := range map[string]struct{ variations, want string }{
		"P2 empty":  {"[]", "sample has invalid definition: variations field cannot be empty in a test definition"},
		"P2 null":   {"null", "sample has invalid definition: variations field cannot be empty in a test definition"},
		"P3":        {"[{env: gce}]", "sample has invalid definition: missing __suffix__ field in a variation"},
		"P6":        {"[{__suffix__: b, run: null}]", "None is not of type 'object'"},
		"P8 scalar": {"[{__suffix__: b, team: {a: 1}}]", "cannot merge the map team over 'core'"},
		"no list":   {"{a: 1}", "{'a': 1} is not of type 'array'"},
		"no map":    {"[3]", "3 is not of type 'object'"},
	} {
		t.Run(name, func(t *testing.T) {
			_, found := read(with(c.variations), Options{})
			if len(found) != 1 || !strings.Contains(found[0].Message, c.want) || found[0].Line == 0 {
				t.Errorf("got %v, want one problem with a place: %s", found, c.want)
			}
		})
	}
	t.Run("P5", func(t *testing.T) {
		if got := names(mustRead(t, with("[{__suffix__: b, name: zzz}]")).Tests); !slices.Equal(got, []string{"zzz"}) {
			t.Errorf("got %v, want zzz", got)
		}
	})
	t.Run("P7", func(t *testing.T) {
		s := mustRead(t, with("[{__suffix__: aws.py312}, {__suffix__: aws.py312}]"))
		if got := names(s.Tests); !slices.Equal(got, []string{"sample.aws.py312", "sample.aws.py312"}) || len(s.Warnings) != 1 {
			t.Errorf("got %v with %v, want two tests and a warning", got, s.Warnings)
		}
	})
}

// TestMerge has the vectors P4 and P8, of maps alone.
func TestMerge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, under, over, want string }{
		{"P4", "{run: {x: 1, y: [1, 2]}}", "{run: {y: [3]}}", "{'run': {'x': 1, 'y': [3]}}"},
		{"P6", "{run: {x: 1}}", "{run: null}", "{'run': None}"},
		{"new map", "{}", "{a: {b: 1}}", "{'a': {'b': 1}}"},
		{"P8", "{a: 1}", "{a: {b: 2}}", "error"},
		{"P8 null", "{a: null}", "{a: {b: 2}}", "error"},
	} {
		under, _, _ := pyyaml.Read("u", c.under)
		over, _, _ := pyyaml.Read("o", c.over)
		got := "error"
		if out, err := merge(under, over); err == nil {
			got = pyyaml.Repr(out)
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
		if again, _, _ := pyyaml.Read("u", c.under); pyyaml.Repr(again) != pyyaml.Repr(under) {
			t.Errorf("%s: the map below was changed", c.name)
		}
	}
}

// TestSmoke has the vectors P9 to P11.
func TestSmoke(t *testing.T) {
	t.Parallel()
	s := mustRead(t, strings.Replace(valid, "    frequency: nightly\n", "    frequency: multi\n    run: {timeout: 5, app_config: x}\n", 1))
	test := s.Tests[0]
	smoke := test.Smoke
	if smoke.Frequency != Multi || smoke.Run.Timeout != 5 || smoke.Run.Script != "python x.py" {
		t.Errorf("P9: got %s, %d, %q", smoke.Frequency, smoke.Run.Timeout, smoke.Run.Script)
	}
	if test.Frequency != Nightly || test.Run.Timeout != 100 || test.Smoke == nil || smoke.Smoke != nil {
		t.Error("P9: the smoke test changed its test")
	}
	if len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0].Message, "'app_config' was unexpected") {
		t.Errorf("a key that means nothing in a smoke test is worth a warning, got %v", s.Warnings)
	}
	steps := []Step{{Test: smoke, Of: 2}, {Test: smoke, Run: 1, Of: 2}}
	for range 2 { // P11: as often as wanted
		tasks, err := s.Tasks(steps, TaskOptions{})
		if err != nil || len(tasks) != 2 || tasks[1].Run != "python x.py --smoke-test" || tasks[1].Variables["IS_SMOKE_TEST"] != "1" {
			t.Errorf("P11: got %v and %v", tasks, err)
		}
	}
	plain := mustRead(t, strings.Replace(valid, "  smoke_test:\n    frequency: nightly\n", "", 1)).Tests[0]
	if _, err := plain.AsSmoke(); err == nil || !strings.Contains(err.Error(), "sample") {
		t.Errorf("P10: got %v, want an error that names the test", err)
	}
}

// TestPythonVersions is vector P12.
func TestPythonVersions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]int{"39": {3, 9}, "3.9": {3, 9}, "311": {3, 11}, "3.11": {3, 11}} {
		major, minor, err := ParsePython(text)
		if err != nil || major != want[0] || minor != want[1] {
			t.Errorf("P12 %q: got %d.%d and %v", text, major, minor, err)
		}
	}
	for _, text := range []string{"3", "3.9.1", "x", "", "3.x", "-3.9"} {
		if _, _, err := ParsePython(text); err == nil || err.Error() != "Invalid Python version string: "+text {
			t.Errorf("P12 %q: got %v", text, err)
		}
	}
}

// TestDefaults is vector P13: DEFAULTS lies under what follows it, and a later one replaces it.
func TestDefaults(t *testing.T) {
	t.Parallel()
	s := mustRead(t, `- name: DEFAULTS
  team: x
  working_dir: dir
  frequency: nightly
  cluster: {byod: {}, cluster_compute: compute.yaml}
  run: {timeout: 5, script: s}
- name: a
- name: DEFAULTS
  team: y
- name: b
  working_dir: dir
  frequency: weekly
  cluster: {byod: {}, cluster_compute: compute.yaml}
  run: {timeout: 7, script: s}
`)
	a, b := s.Tests[0], s.Tests[1]
	if a.Team != "x" || a.Run.Timeout != 5 || b.Team != "y" || b.Run.Timeout != 7 || s.Definitions != 2 {
		t.Errorf("P13: got %s %d, %s %d", a.Team, a.Run.Timeout, b.Team, b.Run.Timeout)
	}
	_, found := read("- {name: DEFAULTS, run: {timeout: 5}}\n- {name: DEFAULTS, team: y}\n- name: b\n", Options{})
	if !slices.ContainsFunc(found, func(p Problem) bool { return p.Message == "'run' is a required property" }) {
		t.Errorf("P13: b must not have the first DEFAULTS' run: %v", found)
	}
}

// TestMatrix has the vectors P14 and P15.
func TestMatrix(t *testing.T) {
	t.Parallel()
	with := func(matrix string) string {
		return strings.Replace(valid, "- name: sample\n", "- name: t-{{a}}-{{ b }}\n  matrix: "+matrix+"\n", 1)
	}
	s := mustRead(t, with("{setup: {a: [1, 2], b: [u, v]}, adjustments: [{with: {a: 3, b: w}}]}"))
	want := []string{"t-1-u", "t-1-v", "t-2-u", "t-2-v", "t-3-w"}
	if diff := cmp.Diff(want, names(s.Tests)); diff != "" {
		t.Errorf("P14 (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"a": "3", "b": "w"}, s.Tests[4].Matrix); diff != "" {
		t.Errorf("P14: the combination (-want +got):\n%s", diff)
	}
	for name, c := range map[string]struct{ matrix, want string }{
		"P15":       {"{setup: {a: [1], b: [u]}, adjustments: [{with: {a: 3}}]}", "You need to specify all matrix variables in the adjustment."},
		"P15 other": {"{setup: {a: [1], b: [u]}, adjustments: [{with: {a: 3, c: 4}}]}", "You need to specify all matrix variables in the adjustment."},
		"no setup":  {"{}", "the matrix has no setup"},
		"no list":   {"{setup: {a: 3}}", "3 is not of type 'array'"},
		"both":      {"{setup: {a: [1]}}\n  variations: [{__suffix__: x}]", "You can't specify both 'matrix' and 'variations' in a test definition"},
		"explosion": {"{setup: {a: [" + strings.Repeat("1,", 100) + "], b: [" + strings.Repeat("1,", 100) + "]}}", "more than 2000 combinations"},
	} {
		_, found := read(with(c.matrix), Options{})
		if len(found) != 1 || !strings.Contains(found[0].Message, c.want) || found[0].Line == 0 {
			t.Errorf("%s: got %v, want %s", name, found, c.want)
		}
	}
}

// TestRuntimeEnv is vector P16.
func TestRuntimeEnv(t *testing.T) {
	t.Parallel()
	s, found := read(change(t, "byod: {}", `byod: {runtime_env: ["a=b", "c=d=e", "ENV", "NONE", "RAY_BACKEND_LOG_JSON=0"]}`), Options{Env: map[string]string{"ENV": "env"}})
	if len(found) > 0 {
		t.Fatal(found)
	}
	want := map[string]string{
		"a": "b", "c": "d=e", "ENV": "env", "NONE": "", "RAY_BACKEND_LOG_JSON": "0",
		"RAY_DATA_LOG_INTERNAL_STACK_TRACE_TO_STDOUT": "1", "RAY_DATA_AUTOLOAD_PYEXTENSIONTYPE": "1",
	}
	if diff := cmp.Diff(want, s.Tests[0].Cluster.Byod.RuntimeEnv); diff != "" {
		t.Errorf("P16 (-want +got):\n%s", diff)
	}
}

// TestCustomImage is vector I4, and that the content counts too (defect 14).
func TestCustomImage(t *testing.T) {
	t.Parallel()
	b := Byod{PostBuildScript: "foo.sh"}
	if got, want := b.NameDigest(), "ab7ed2b7a7e8d3f855a7925b0d296b0f9c75fac91882aba47854d92d27e13e53"; got != want {
		t.Errorf("I4: got %s, want %s", got, want)
	}
	if (Byod{}).NameDigest() != "" || (Byod{}).ContentDigest(nil) != "" {
		t.Error("an image without a script of its own has no digest of its own")
	}
	if b.ContentDigest([]byte("a")) == b.ContentDigest([]byte("b")) {
		t.Error("two contents of one script have one digest")
	}
}
