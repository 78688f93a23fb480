package ray

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestValidation has the vectors V1 to V11: one change of a valid test, and every message there is about it for who is strict.
func TestValidation(t *testing.T) {
	t.Parallel()
	required := func(key string) []string { return []string{"'" + key + "' is a required property"} }
	additional := func(key string) []string {
		return []string{"Additional properties are not allowed ('" + key + "' was unexpected)"}
	}
	frequencies := "['manual', 'multi', 'nightly', 'nightly-3x', 'weekly']"
	for _, c := range []struct {
		name, from, to string
		want           []string
	}{
		{"V1", "group: g", "group: g", nil},
		{"V1 python", "group: g", "python: '3.9'", nil},
		{"V1 float", "timeout: 100", "timeout: 100.0", nil},
		{"V1 negative", "timeout: 100", "timeout: -5", nil},
		{"V1 autosuspend", "byod: {}", "byod: {}\n    autosuspend_mins: -1", nil},
		{"V1 repeated_run", "group: g", "repeated_run: 0", nil},
		{"V1 alert", "group: g", "alert: bogus", nil},
		{"V1 env", "group: g", "env: bogus", nil},
		{"V1 type", "byod: {}", "byod: {type: whatever}", nil},
		{"V1 smoke", "    frequency: nightly\n", "    frequency: nightly\n    run: {bogus: 1}\n", nil},
		{"V2 invalid", "  frequency: nightly\n  team", "  frequency: invalid\n  team", []string{"'invalid' is not one of " + frequencies}},
		{"V2 any", "  frequency: nightly\n  team", "  frequency: any\n  team", []string{"'any' is not one of " + frequencies}},
		{"V3 name", "name: sample\n  group", "group", required("name")},
		{"V3 team", "  team: core\n", "", required("team")},
		{"V3 working_dir", "  working_dir: dir\n", "", required("working_dir")},
		{"V3 frequency", "  frequency: nightly\n  team", "  team", required("frequency")},
		{"V3 run", "run:\n    timeout: 100\n    script: python x.py\n    wait_for_nodes:\n      num_nodes: 1\n  smoke", "smoke", required("run")},
		{"V3 cluster", "cluster:\n    byod: {}\n    cluster_compute: compute.yaml\n  run", "run", required("cluster")},
		{"V4", "  group: g\n", "", nil},
		{"V5 script", "    script: python x.py\n", "", required("script")},
		{"V5 timeout", "    timeout: 100\n", "", required("timeout")},
		{"V5 byod", "    byod: {}\n", "", required("byod")},
		{"V5 compute", "    cluster_compute: compute.yaml\n", "", required("cluster_compute")},
		{"V5 nodes", "      num_nodes: 1\n", "      timeout: 1\n", required("num_nodes")},
		{"V5 smoke", "    frequency: nightly\n", "    env: aws\n", required("frequency")},
		{"V6 text", "timeout: 100", `timeout: "100"`, []string{"'100' is not of type 'integer'"}},
		{"V6 part", "timeout: 100", "timeout: 1.5", []string{"1.5 is not of type 'integer'"}},
		{"V6 truth", "timeout: 100", "timeout: true", []string{"True is not of type 'integer'"}},
		{"V7 num_retries", "timeout: 100", "timeout: 100\n    num_retries: 3", additional("num_retries")},
		{"V7 file_manager", "timeout: 100", "timeout: 100\n    file_manager: job", additional("file_manager")},
		{"V7 jailed", "group: g", "jailed: true", additional("jailed")},
		{"V7 state", "group: g", "state: x", additional("state")},
		{"V7 foo", "group: g", "foo: x", additional("foo")},
		{"V7 cluster_env", "byod: {}", "byod: {}\n    cluster_env: x", additional("cluster_env")},
		{"V7 byod.x", "byod: {}", "byod: {x: 1}", additional("x")},
		{"V7 smoke python", "    frequency: nightly\n", "    frequency: nightly\n    python: '3.9'\n", additional("python")},
		{"V7 two", "group: g", "foo: x\n  bar: y", []string{"Additional properties are not allowed ('bar', 'foo' were unexpected)"}},
		{"V8", "timeout: 100", "timeout: 100\n    type: invalid", []string{"'invalid' is not one of ['command', 'sdk_command', 'job', 'client', 'anyscale_job']"}},
		{"V9", "group: g", "python: '3.10'", []string{"'3.10' is not one of ['3.9', '3.11', '3.12']"}},
		{"V9 float", "group: g", "python: 3.9", []string{"3.9 is not of type 'string'"}},
		{"V10", "byod: {}", "byod: {}\n    autosuspend_mins: -2", []string{"-2 is less than the minimum of -1"}},
		{"V11", "group: g", `stable: "no"`, []string{"'no' is not of type 'boolean'"}},
		{"V11 YAML 1.1", "group: g", "stable: no", nil},
		{"all of them", "team: core", "team: 3\n  foo: 1\n  stable: 5", []string{
			"3 is not of type 'string'", "Additional properties are not allowed ('foo' was unexpected)", "5 is not of type 'boolean'",
		}},
		{"clouds", "byod: {}", "byod: {}\n    cloud_id: a\n    cloud_name: b", []string{"cloud_id and cloud_name are both given, expected one of them"}},
		{"pip", "byod: {}", "byod: {pip: [1]}", []string{"1 is not of type 'string'"}},
		{"outside", "working_dir: dir", "working_dir: ../../x", []string{
			"the working directory ../x leaves the repository", "Cannot load yaml template from ../x/compute.yaml: Path not found.",
		}},
		{"smoke type", "    frequency: nightly\n", "    frequency: nightly\n    run: {timeout: x}\n", []string{"'x' is not of type 'integer'"}},
	} {
		text := change(t, c.from, c.to)
		_, found := read(text, Options{Generation: Generation2024, Strict: true})
		var got []string
		for _, p := range found {
			got = append(got, p.Message)
			if p.File != "release/tests.yaml" || p.Line == 0 || p.Column == 0 {
				t.Errorf("%s: the problem has no place: %v", c.name, p)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// TestV7Variations is that of V7 which only a test that was expanded already can show.
func TestV7Variations(t *testing.T) {
	t.Parallel()
	s, found := read(change(t, "group: g", "variations: [{__suffix__: a, variations: [1]}]"), Options{Strict: true})
	if len(s.Tests) != 0 || len(found) != 1 || found[0].Message != "Additional properties are not allowed ('variations' was unexpected)" {
		t.Errorf("got %v", found)
	}
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	_, found := read(valid+change(t, "timeout: 100", "timeout: x")+change(t, "team: core", "team: []"), Options{})
	want := `release/tests.yaml:25:14: test sample: 'x' is not of type 'integer'
release/tests.yaml:35:9: test sample: [] is not of type 'string'
Release test configuration error: Found 1 test validation errors.`
	if found.Error() != want {
		t.Errorf("got\n%s\nwant\n%s", found.Error(), want)
	}
}

// TestVolumes is vector V12, with the rest of what a compute file can have wrong.
func TestVolumes(t *testing.T) {
	t.Parallel()
	ebs := "Ebs volume does not have `DeleteOnTermination: true` set"
	devices := func(indent, ebs string) string {
		return indent + "BlockDeviceMappings:\n" + indent + "- DeviceName: /dev/sda1\n" + indent + "  Ebs: " + ebs + "\n" + indent + "- DeviceName: x\n"
	}
	for _, c := range []struct{ name, compute, want string }{
		{"V12 root", anyCompute + "aws:\n" + devices("  ", "{VolumeSize: 1}"), ebs},
		{"V12 head", "head_node_type:\n  instance_type: m5.xlarge\n  aws_advanced_configurations:\n" + devices("    ", "{DeleteOnTermination: false}"), ebs},
		{"V12 worker", anyCompute + "worker_node_types:\n- instance_type: m5.xlarge\n  aws_advanced_configurations:\n" + devices("    ", "{VolumeSize: 1}"), ebs},
		{"V12 true", anyCompute + "aws:\n" + devices("  ", "{DeleteOnTermination: true}"), ""},
		{"V12 yes", anyCompute + "aws:\n" + devices("  ", "{DeleteOnTermination: yes}"), ""},
		{"today's root", "head_node: {}\nadvanced_instance_config:\n" + devices("  ", "{VolumeSize: 1}"), ebs},
		{"today's head", "head_node:\n  advanced_instance_config:\n" + devices("    ", "{VolumeSize: 1}"), ebs},
		{"today's worker", "worker_nodes:\n- advanced_instance_config:\n" + devices("    ", "{VolumeSize: 1}"), ebs},
		{"YAML", "a: [1", "Error rendering/loading yaml template: cannot read YAML"},
		{"template", "a: 1\nb: {{ x", "Error rendering/loading yaml template: "},
		{"loop", "{% for i in range(10000000) %}{% endfor %}", "Error rendering/loading yaml template: "},
		{"include", "{% include '../../etc/passwd' %}", "Error rendering/loading yaml template: ControlStructure 'include' not found"},
		{"list", "[1, 2]", "expected a map with head_node_type"},
		{"bomb", strings.Repeat("[", 1000), "levels of nesting"},
	} {
		files := tree(valid + strings.Replace(valid, "sample", "other", 1))
		files["release/dir/compute.yaml"].Data = []byte(c.compute)
		s, err := Import(files, []string{"release/tests.yaml"}, Options{})
		if c.want == "" {
			if err != nil || len(s.Tests) != 2 {
				t.Errorf("%s: got %v", c.name, err)
			}
			continue
		}
		found := s.Problems
		if err != nil || len(s.Tests) != 0 || len(s.Broken) != 2 || len(found) != 1 || !strings.Contains(found[0].Message, c.want) || found[0].File != "release/dir/compute.yaml" || found[0].Line == 0 {
			t.Errorf("%s: got %v, want one problem of both tests: %s", c.name, err, c.want)
		}
	}
}

// TestMissingCompute shows that the rest is reported beside a compute file that is not there.
func TestMissingCompute(t *testing.T) {
	t.Parallel()
	s, found := read(change(t, "compute.yaml", "gone.yaml")+change(t, "compute.yaml", "../../../gone.yaml")+change(t, "timeout: 100", "timeout: x")+valid, Options{})
	want := []string{
		"release/tests.yaml:8:22: test sample: Cannot load yaml template from release/dir/gone.yaml: Path not found.",
		"release/tests.yaml:23:22: test sample: Cannot load yaml template from ../gone.yaml: Path not found.",
		"release/tests.yaml:40:14: test sample: 'x' is not of type 'integer'",
	}
	var got []string
	for _, p := range found {
		got = append(got, p.String())
	}
	if !slices.Equal(got, want) || len(s.Tests) != 1 {
		t.Errorf("got %d tests and\n%s\nwant\n%s", len(s.Tests), strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestByodTypes has what the generation of 2025 checks beside the schema.
func TestByodTypes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ kind, python, want string }{
		{"whatever", "3.9", "Invalid BYOD type: whatever"},
		{"gpu", "3.11", "GPU BYOD tests must use Python 3.9 or 3.10"},
		{"gpu", "3.10", ""},
		{"cpu", "3.12", ""},
		{"cu123", "3.9", ""},
		{"llm-cu128", "3.11", ""},
	} {
		text := strings.Replace(change(t, "byod: {}", "byod: {type: "+c.kind+"}"), "group: g", "python: '"+c.python+"'", 1)
		_, found := read(text, Options{Generation: Generation2025, Strict: true})
		if c.want == "" && len(found) > 0 || c.want != "" && (len(found) != 1 || found[0].Message != c.want) {
			t.Errorf("%s %s: got %v, want %q", c.kind, c.python, found, c.want)
		}
	}
}

// TestOtherFiles has files of other projects, and files that try to do harm.
func TestOtherFiles(t *testing.T) {
	t.Parallel()
	many := "- &a\n  name: x\n"
	for i := range 3000 {
		many += fmt.Sprintf("- {<<: *a, name: t%d, team: 3}\n", i)
	}
	for name, c := range map[string]struct{ text, want string }{
		"a map":     {"stages: [build]\n", "expected a list of test definitions"},
		"empty":     {"", "the file is empty"},
		"scalars":   {"- a\n- 3\n", "'a' is not of type 'object'"},
		"YAML":      {"- [", "cannot read YAML"},
		"not UTF-8": {"- name: \xff", "not UTF-8"},
		"many":      {many, "required property"},
		"wide":      {wide(), "expands to more than"},
	} {
		s, found := read(c.text, Options{})
		if len(found) == 0 || len(found) > 2*maxProblems || !strings.Contains(found.Error(), c.want) || s == nil {
			t.Errorf("%s: got %.200q, want %q", name, found.Error(), c.want)
		}
	}
	if _, err := Import(tree(valid), []string{"release/none.yaml", "../x"}, Options{}); err == nil || !strings.Contains(err.Error(), "there is no such file") {
		t.Errorf("got %v", err)
	}
	if _, err := Import(tree(valid), nil, Options{}); err == nil {
		t.Error("an import of nothing is an error")
	}
}

// wide lays a DEFAULTS of many keys under many small definitions.
func wide() string {
	var b strings.Builder
	b.WriteString("- name: DEFAULTS\n")
	for i := range 1000 {
		fmt.Fprintf(&b, "  key%d: 1\n", i)
	}
	for i := range 5000 {
		fmt.Fprintf(&b, "- name: t%d\n", i)
	}
	return b.String()
}

// TestSeveralFiles shows that DEFAULTS end with their file, and that files keep their order.
func TestSeveralFiles(t *testing.T) {
	t.Parallel()
	files := tree("- {name: DEFAULTS, group: first, stable: false}\n" + valid)
	files["release/more.yaml"] = &fstest.MapFile{Data: []byte(strings.Replace(change(t, "name: sample", "name: other"), "  group: g\n", "", 1))}
	s, err := Import(files, []string{"release/tests.yaml", "release/more.yaml"}, Options{})
	if err != nil || !slices.Equal(names(s.Tests), []string{"sample", "other"}) {
		t.Fatalf("got %v and %v", names(s.Tests), err)
	}
	if first, second := s.Tests[0], s.Tests[1]; first.Stable || first.Group != "g" || !second.Stable || second.Group != DefaultGroup {
		t.Errorf("got %v %s and %v %s", first.Stable, first.Group, second.Stable, second.Group)
	}
	both, err := Import(data(""), []string{"2024-11/release/release_tests.yaml", "2025-08/release/release_data_tests.yaml"}, Options{})
	if err != nil || len(both.Tests) <= 313 {
		t.Errorf("got %d tests and %v", len(both.Tests), err)
	}
}

func TestRemarks(t *testing.T) {
	t.Parallel()
	files := tree(strings.Replace(change(t, "group: g", "env: bogus\n  alert: bogus"), "num_nodes: 1", "num_nodes: 9", 1))
	files["release/ray_release/environments/aws.env"] = &fstest.MapFile{Data: []byte("A=1\n")}
	s, err := Import(files, []string{"release/tests.yaml"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"Unknown environment with name: bogus", "Alert suite bogus not found.", "it waits for 9 nodes, and the compute file makes at most 1"} {
		if i >= len(s.Warnings) || !strings.Contains(s.Warnings[i].Message, want) {
			t.Errorf("got %v, want %q", s.Warnings, want)
		}
	}
}

func FuzzImport(f *testing.F) {
	f.Add(valid, anyCompute)
	f.Add("- name: DEFAULTS\n  team: x\n- name: t-{{a}}\n  matrix: {setup: {a: [1]}, adjustments: [{with: {a: 2}}]}\n", "{{ env['X'] }}")
	f.Add("- name: x\n  variations: [{__suffix__: a, run: {b: 1}}]\n", "worker_node_types: [{instance_type: a-3, max_workers: 9}]")
	f.Fuzz(func(t *testing.T, text, compute string) {
		files := tree(text)
		files["release/dir/compute.yaml"].Data = []byte(compute)
		s, err := Import(files, []string{"release/tests.yaml"}, Options{})
		if found, ok := err.(Problems); err != nil && (!ok || len(found) == 0) {
			t.Fatalf("got %v, want problems", err)
		}
		if selection, err := s.Select(Request{RunUnstable: true}); err == nil {
			if _, err := s.Tasks(selection.Steps[:min(len(selection.Steps), 1000)], TaskOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	})
}
