package ray

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// TestTask has a test with everything, and the task that it becomes: nothing that it says is lost.
func TestTask(t *testing.T) {
	t.Parallel()
	s := mustRead(t, `- name: big.aws
  group: Big tests
  working_dir: dir
  frequency: weekly
  team: core
  python: "3.11"
  stable: false
  alert: tune_tests
  repeated_run: 2
  cluster:
    byod: {type: gpu, post_build_script: foo.sh, pip: [a, b], runtime_env: [X=1]}
    cluster_compute: compute.yaml
    cloud_id: cld_1
    autosuspend_mins: 7
  run:
    timeout: 600
    script: python x.py
    prepare: python prepare.py
    prepare_timeout: 30
    long_running: true
    artifact_path: out/a.bin
    wait_for_nodes: {num_nodes: 1}
`)
	selection, err := s.Select(Request{Frequency: Weekly, RunUnstable: true})
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := s.Tasks(selection.Steps, TaskOptions{Pool: "ray", Provider: "anyscale", Priority: PriorityHigh})
	if err != nil || len(tasks) != 2 {
		t.Fatalf("got %d tasks and %v", len(tasks), err)
	}
	got := tasks[1]
	want := plan.Task{
		ID: "big_aws_1", Name: "big.aws (1)", Job: "big.aws", Kind: release.Test, Pool: "ray",
		Variables: map[string]string{
			"X": "1", "RAY_BACKEND_LOG_JSON": "1", "RAY_DATA_LOG_INTERNAL_STACK_TRACE_TO_STDOUT": "1", "RAY_DATA_AUTOLOAD_PYEXTENSIONTYPE": "1",
			"ANYSCALE_CLOUD_ID": "cld_1", "RAY_TEST_NAME": "big.aws", "RAY_TEST_PYTHON": "3.11", "RAY_TEST_ALERT": "tune_tests",
			"RAY_TEST_COMPUTE": "release/dir/compute.yaml", "RAY_TEST_ARTIFACT_PATH": "out/a.bin", "RAY_TEST_AUTOSUSPEND_MINS": "7",
			"RAY_TEST_IMAGE_TYPE": "gpu", "RAY_TEST_IMAGE_SCRIPT": "foo.sh", "RAY_TEST_IMAGE_PIP": "a\nb", "RAY_TEST_WAIT_NODES": "1",
			"RAY_TEST_WAIT_TIMEOUT": "3000", "RAY_TEST_PREPARE_TIMEOUT": "30",
		},
		Tags:      []string{"env:aws", "python:3.11", "byod:gpu", "type:anyscale_job", "queue:release_queue_small"},
		Resources: map[string]float64{"cpu": 4, "nodes": 1}, TimeoutS: 600,
		Timeouts: release.Timeouts{Command: release.Duration(10 * time.Minute), Nodes: release.Duration(50 * time.Minute), Prepare: release.Duration(30 * time.Second)},
		Retry:    TaskOptions{}.retries(), Stage: "test-1", Group: "Big tests", Team: "core", Owner: "core", Frequency: "weekly", Concurrency: "minuscule",
		GroupLimit: 128, Priority: 50, SoftFail: true, Prepare: "python prepare.py", Run: "python x.py", LongRunning: true,
		Lease: release.LeaseRequest{Provider: "anyscale", Nodes: 1}, Directory: "release/dir",
		Outputs: []plan.Output{{Type: "artifact", Path: "release/dir/out/a.bin", Optional: true}},
		Why:     "its frequency is weekly; concurrency group minuscule: 4 vCPUs, 0 GPUs",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTaskIDs(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for _, name := range []string{"a.b", "a_b", "a.b", "é", "...", strings.Repeat("x", 300), strings.Repeat("x", 301)} {
		text.WriteString(strings.Replace(valid, "name: sample", `name: "`+name+`"`, 1))
	}
	s := mustRead(t, text.String())
	selection, err := s.Select(Request{RunPerTest: 2})
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := s.Tasks(selection.Steps, TaskOptions{})
	if err != nil || len(tasks) != 14 {
		t.Fatalf("got %d tasks and %v", len(tasks), err)
	}
	seen := map[release.TaskID]bool{}
	for _, task := range tasks {
		if seen[task.ID] || !release.Token(string(task.ID)) {
			t.Errorf("the id %q of %.40q is used before, or is no id", task.ID, task.Name)
		}
		seen[task.ID] = true
	}
}

// TestInclude shows that an include is the same as an import.
func TestInclude(t *testing.T) {
	t.Parallel()
	s := suite2024(t)
	filters, _ := ParseFilters("team:serve\nname:.*aws")
	selection, err := s.Select(Request{Frequency: Nightly, Filters: filters, RunUnstable: true, RunPerTest: 2})
	if err != nil {
		t.Fatal(err)
	}
	want, err := s.Tasks(selection.Steps, TaskOptions{Environment: "gce", Pool: "p", Priority: PriorityManual})
	if err != nil {
		t.Fatal(err)
	}
	got, skipped, warnings, err := Include(data("2024-11"), "release/release_tests.yaml", map[string]string{
		"frequency": "nightly", "filter": "team:serve\nname:.*aws", "unstable": "true", "run_per_test": "2", "env": "gce", "pool": "p", "priority": "manual",
	})
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if len(skipped) != len(selection.Skipped) || len(warnings) != len(s.Warnings)+len(selection.WithoutEffect()) {
		t.Errorf("got %d left out and %d warnings, want %d and %d", len(skipped), len(warnings), len(selection.Skipped), len(s.Warnings)+len(selection.WithoutEffect()))
	}
	for option, value := range map[string]string{
		"frequency": "x", "filter": "x", "unstable": "x", "run_per_test": "-1", "priority": "x", "colour": "x", "smoke": "maybe", "env": "x",
	} {
		if _, _, _, err := Include(data("2024-11"), "release/release_tests.yaml", map[string]string{option: value}); err == nil {
			t.Errorf("%s: %s is no error", option, value)
		}
	}
	var found Problems
	if _, _, _, err := Include(tree("a: 3\n"), "release/tests.yaml", nil); !errors.As(err, &found) || found[0].Line != 1 {
		t.Errorf("got %v, want a problem with its place", err)
	}
}

// TestDialect shows that a definition's include is the same as an import, also where directories cannot be listed.
func TestDialect(t *testing.T) {
	t.Parallel()
	files := data("2024-11")
	in := plan.Included{
		Files: []string{"release/release_tests.yaml"}, Options: map[string]string{"unstable": "true"},
		Open: func(name string) ([]byte, error) { return fs.ReadFile(files, name) },
	}
	var dialect plan.Dialect = Dialect{}
	suite, err := dialect.Read(in)
	if err != nil {
		t.Fatal(err)
	}
	got, err := suite.Tasks(plan.Asked{Change: release.Change{Parameters: map[string]string{"frequency": "nightly"}}, Environment: "gce"})
	if err != nil || len(got.Tasks) != 142 || len(got.Skipped) != 313-138 {
		t.Fatalf("got %d tasks, %d left out, %v", len(got.Tasks), len(got.Skipped), err)
	}
	for _, task := range got.Tasks {
		if task.Pool != "" || task.Variables["GOOGLE_CLOUD_PROJECT"] == "" || task.Tags[0] != "env:gce" {
			t.Fatalf("%s: pool %q, %v, %v", task.Name, task.Pool, task.Variables, task.Tags)
		}
	}
	if got, err = suite.Tasks(plan.Asked{Environment: "ours"}); err != nil || len(got.Tasks) != 177 || got.Tasks[0].Tags[0] == "env:ours" {
		t.Errorf("an environment that only the definition has: got %d tasks and %v", len(got.Tasks), err)
	}
	for frequency, want := range map[string]int{"any": 317, "manual": 147, "multi": 0, "monthly": 0} {
		got, err = suite.Tasks(plan.Asked{Change: release.Change{Parameters: map[string]string{"frequency": frequency}}})
		if err != nil || len(got.Tasks) != want || want == 0 && !strings.Contains(strings.Join(got.Warnings, "\n"), "Empty test collection") {
			t.Errorf("%s: got %d tasks and %v, want %d", frequency, len(got.Tasks), err, want)
		}
	}
	if _, err = suite.Tasks(plan.Asked{Change: release.Change{Parameters: map[string]string{"frequency": "often"}}}); err == nil {
		t.Error("often is no frequency")
	}
	nobody := in
	nobody.Options = map[string]string{"filter": "team:nobody"}
	if suite, err := dialect.Read(nobody); err != nil {
		t.Error(err)
	} else if _, err = suite.Tasks(plan.Asked{}); err == nil {
		t.Error("an include that selects no test whatever is asked for is no error")
	}
	bad := tree(strings.Replace(valid, "timeout: 100", "timeout: x", 1) + strings.Replace(valid, "team: core", "team: 3", 1))
	in.Files, in.Open = []string{"release/tests.yaml"}, func(name string) ([]byte, error) { return fs.ReadFile(bad, name) }
	in.Options = map[string]string{"strict": "true"}
	_, err = dialect.Read(in)
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || len(joined.Unwrap()) != 2 {
		t.Fatalf("got %v, want two errors in one", err)
	}
	placed, ok := joined.Unwrap()[1].(interface{ Position() (string, int, int) })
	if file, line, column := placed.Position(); !ok || file != "release/tests.yaml" || line != 20 || column != 9 {
		t.Errorf("got %v at %s:%d:%d", placed, file, line, column)
	}
	in.Files, in.Open = []string{"release/release_tests.yaml"}, func(name string) ([]byte, error) { return fs.ReadFile(files, name) }
	in.Options = map[string]string{"env": "nowhere"}
	if _, err = dialect.Read(in); err == nil {
		t.Error("an environment that is not there is an error")
	}
}

func TestBackoffOfWhatThePlatformDid(t *testing.T) {
	t.Parallel()
	b, err := ParseBackoff("2s..5s")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range (TaskOptions{Backoff: b}).retries() {
		if r.Max > 0 && (r.Backoff != release.Random || r.Wait.Std() != 2*time.Second || r.Max.Std() != 5*time.Second) {
			t.Errorf("%+v", r)
		}
	}
	for _, bad := range []string{"", "5s", "5s..2s", "-1s..2s", "0s..0s", "x..y", "1s..10000h"} {
		if _, err := ParseBackoff(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// TestWhereATestRuns shows what of a test's cluster reaches its task: how many nodes, whose cloud and project, how often it is
// tried again, and an artifact that lies outside of the working directory.
func TestWhereATestRuns(t *testing.T) {
	t.Parallel()
	task := func(from, to string, o TaskOptions) plan.Task {
		t.Helper()
		files := tree(change(t, from, to))
		files["release/ray_release/environments/aws.env"] = &fstest.MapFile{Data: []byte("RELEASE_DEFAULT_CLOUD_ID=cld_1\nRELEASE_DEFAULT_PROJECT=prj_1\n")}
		s, err := Import(files, []string{"release/tests.yaml"}, Options{})
		if err != nil || len(s.Problems) > 0 {
			t.Fatal(err, s.Problems)
		}
		selection, err := s.Select(Request{})
		if err != nil {
			t.Fatal(err)
		}
		tasks, err := s.Tasks(selection.Steps, o)
		if err != nil {
			t.Fatal(err)
		}
		return tasks[0]
	}
	if got := task("num_nodes: 1", "num_nodes: 500", TaskOptions{Provider: "clouds"}); got.Lease.Nodes != 500 || got.Resources["nodes"] != 500 {
		t.Errorf("a test that waits for 500 nodes leases %+v", got.Lease)
	}
	got := task("group: g", "group: g", TaskOptions{})
	if got.Variables["ANYSCALE_CLOUD_ID"] != "cld_1" || got.Variables["ANYSCALE_PROJECT"] != "prj_1" || got.Lease.Wanted() {
		t.Errorf("the defaults of the environment are %v", got.Variables)
	}
	got = task("byod: {}", "byod: {}\n    cloud_id: cld_2\n    project_id: prj_2", TaskOptions{})
	if got.Variables["ANYSCALE_CLOUD_ID"] != "cld_2" || got.Variables["ANYSCALE_PROJECT"] != "prj_2" {
		t.Errorf("what the test says is %v", got.Variables)
	}
	got = task("timeout: 100", "timeout: 100\n    num_retries: 3", TaskOptions{})
	if last := got.Retry[len(got.Retry)-1]; got.Retry[0].Limit != 3 || last.Class != release.ClassCommand || last.Limit != 3 {
		t.Errorf("three retries are %+v", got.Retry)
	}
	got = task("timeout: 100", "timeout: 100\n    artifact_path: /tmp/it's/out.json", TaskOptions{})
	dir := t.TempDir()
	out := filepath.Join(dir, "it's", "out.json")
	script := strings.ReplaceAll(got.Run, `/tmp/it`, dir+`/it`)
	script = strings.Replace(script, "python x.py", `mkdir -p "`+filepath.Dir(out)+`"; echo 7 > "`+out+`"; exit 3`, 1)
	for name, want := range map[string]int{"with": 3, "without": 3} {
		if name == "without" {
			script = strings.Replace(script, "echo 7 >", "rm -f", 1)
		}
		kept := t.TempDir()
		c := exec.CommandContext(t.Context(), "sh", "-euc", script)
		c.Env = append(os.Environ(), "SLUICE_ARTIFACTS="+kept)
		said, err := c.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != want {
			t.Errorf("%s an artifact it ends with %v, want %d\n%s", name, err, want, said)
		}
		if _, err := os.Stat(filepath.Join(kept, "out.json")); (err == nil) != (name == "with") {
			t.Errorf("%s an artifact: %v", name, err)
		}
	}
	got = task("timeout: 100", "timeout: 100\n    artifact_path: out.json", TaskOptions{})
	if strings.Contains(got.Run, "trap") || len(got.Outputs) != 1 {
		t.Errorf("an artifact in the working directory is %+v, %q", got.Outputs, got.Run)
	}
}

// TestWhatHasNoEffectSaysSo in the warnings of a plan, once for each value.
func TestWhatHasNoEffectSaysSo(t *testing.T) {
	t.Parallel()
	text := strings.Replace(change(t, "timeout: 100", "timeout: 100\n    type: job"), "byod: {}", "byod: {type: gpu}", 1)
	_, _, warnings, err := Include(tree(text+strings.Replace(text, "sample", "other", 1)), "release/tests.yaml", nil)
	if err != nil || len(warnings) != 2 || !strings.HasPrefix(warnings[0], "run.type: job, of 2 tests, chooses nothing here") {
		t.Errorf("got %q, %v", warnings, err)
	}
}
