package e2e

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// pipelines are GitLab's, read and run by gitlab-ci-local: it checks them by GitLab's own JSON schema, and runs each job in
// a fresh checkout with the artifacts of the jobs that it needs.
type pipelines struct{ program string }

func newPipelines(t *testing.T) pipelines {
	t.Helper()
	return pipelines{program: tool(t, "SLUICE_GITLAB_CI_LOCAL", "scripts/install-gitlab-ci-local")}
}

// checkout makes a repository of a directory's files, since gitlab-ci-local reads from git where it is.
func checkout(t *testing.T, from string, more map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	if from != "" {
		run(t, dir, "cp", "-R", from+"/.", dir)
	}
	for name, text := range more {
		write(t, filepath.Join(dir, name), text)
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "master"},
		{"add", "-A"},
		{"-c", "user.name=dev", "-c", "user.email=dev@example.org", "commit", "-qm", "first"},
		{"remote", "add", "origin", "http://git.example.org/acme/widget.git"},
	} {
		run(t, dir, "git", args...)
	}
	return dir
}

// export writes a plan of the checkout as a pipeline.
func export(t *testing.T, dir string, args ...string) {
	t.Helper()
	text := run(t, dir, sluice(t), append([]string{"plan", "--format", "gitlab"}, args...)...)
	write(t, filepath.Join(dir, ".gitlab-ci.yml"), text)
}

// jobs lists the pipeline's jobs by name: their stage, whether they may fail, and their needs.
func (p pipelines) jobs(t *testing.T, dir string) map[string][]string {
	t.Helper()
	text := run(t, dir, p.program, "--list-csv", "--force-shell-executor")
	_, text, found := strings.Cut(text, "name;description;stage;")
	if !found {
		t.Fatalf("gitlab-ci-local lists no jobs:\n%s", text)
	}
	lines := csv.NewReader(strings.NewReader(text))
	lines.Comma, lines.LazyQuotes, lines.FieldsPerRecord = ';', true, -1
	records, err := lines.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	jobs := map[string][]string{}
	for _, r := range records[1:] {
		jobs[r[0]] = r
	}
	return jobs
}

// play runs the whole pipeline and returns what it printed, and whether it ended well.
func (p pipelines) play(t *testing.T, dir string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), p.program, "--force-shell-executor", "--shell-isolation", "--concurrency", "2")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// planned are the tasks of the checkout's plan.
func planned(t *testing.T, dir string, args ...string) []string {
	t.Helper()
	var plan struct{ Tasks []struct{ Name string } }
	text := run(t, dir, sluice(t), append([]string{"plan", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(text), &plan); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, task := range plan.Tasks {
		names = append(names, task.Name)
	}
	return names
}

func TestGitLabRunsThePolyglotPlan(t *testing.T) {
	p := newPipelines(t)
	dir := checkout(t, filepath.Join(top(t), "examples/polyglot"), nil)
	run(t, dir, "sh", "scripts/fit")
	run(t, dir, "git", "-c", "user.name=dev", "-c", "user.email=dev@example.org", "commit", "--allow-empty", "-qam", "fit")
	export(t, dir)
	if jobs, tasks := p.jobs(t, dir), planned(t, dir); len(jobs) != len(tasks) {
		t.Errorf("the pipeline has %d jobs, the plan %d tasks", len(jobs), len(tasks))
	}
	if out, err := p.play(t, dir); err != nil {
		t.Errorf("the pipeline failed: %v\n%s", err, tail(out))
	}
}

// awkward is a definition whose jobs mean something else in one long shell: they leave early, close pipes, change the
// directory; their outputs have the same names as their inputs, and words that a shell would read.
const awkward = `
project: awkward
definitions: {sizes: [1, "2 3", "$HOME"]}
builds:
  part:
    matrix: {size: $sizes}
    directory: "it's here"
    prepare: echo "$SLUICE_MATRIX_SIZE" >size; exit 0
    run: |
      yes | head -1 >/dev/null
      mkdir -p "out/a b" && cp size "out/a b/part-$SLUICE_TASK.txt"
      exit 0
    outputs:
      part: "it's here/**/{part,piece}-*.txt"
      log: {path: "it's here/*.log", optional: true}
  whole:
    needs: [{artifacts: part.part, optional: true}]
    run: |
      test "$(cat "$SLUICE_INPUTS"/part/part-*.txt | sort | tr '\n' ,)" = '$HOME,1,2 3,'
      test "$SLUICE_BRANCH" = master && test ${#SLUICE_COMMIT} = 40
      mkdir out && cat "$SLUICE_INPUTS"/part/*.txt >out/part-whole.txt
    outputs: {tree: out}
tests:
  look:
    needs: [whole]
    run: test "$(ls "$SLUICE_INPUTS/whole/out")" = part-whole.txt && ! ls out 2>/dev/null
    cleanup: test -n "$SLUICE_TASK"
  may-fail: {needs: [whole], run: "false", soft_fail: true}
`

func TestGitLabRunsWhatIsAwkward(t *testing.T) {
	p := newPipelines(t)
	dir := checkout(t, "", map[string]string{"sluice.yaml": awkward, "it's here/kept": ""})
	export(t, dir)
	if out, err := p.play(t, dir); err != nil {
		t.Errorf("the pipeline failed: %v\n%s", err, tail(out))
	}
	// An output that nobody made fails the job, and what comes after it does not run.
	dir = checkout(t, "", map[string]string{"sluice.yaml": strings.Replace(awkward, "cp size", "test -e size || cp size", 1), "it's here/kept": ""})
	export(t, dir)
	if out, err := p.play(t, dir); err == nil || strings.Contains(out, "look   starting") {
		t.Errorf("the pipeline ended well without its outputs:\n%s", tail(out))
	}
}

// TestGitLabListsARelease is a release of Ray's size.
func TestGitLabListsARelease(t *testing.T) {
	p := newPipelines(t)
	dir := checkout(t, filepath.Join(top(t), "test/data/ray/2024-11"), nil)
	run(t, dir, "cp", "-R", filepath.Join(top(t), "examples/ray")+"/.", dir)
	run(t, dir, "git", "add", "-A")
	export(t, dir, "--branch", "releases/2.0.0")
	jobs, tasks := p.jobs(t, dir), planned(t, dir, "--branch", "releases/2.0.0")
	if len(jobs) != len(tasks) || len(tasks) < 300 {
		t.Errorf("the pipeline has %d jobs, the plan %d tasks", len(jobs), len(tasks))
	}
	for _, name := range tasks {
		if jobs[name] == nil {
			t.Errorf("the pipeline has no job %q", name)
		}
	}
}

// TestGitLabListsEveryPlan takes each definition of pkg/definition that gives a plan.
func TestGitLabListsEveryPlan(t *testing.T) {
	p := newPipelines(t)
	files, err := filepath.Glob(filepath.Join(top(t), "pkg/definition/testdata/*.yaml"))
	if err != nil || len(files) < 60 {
		t.Fatalf("found %d definitions (%v)", len(files), err)
	}
	dir, listed := checkout(t, "", map[string]string{"README": ""}), 0
	for _, file := range files {
		text, err := exec.Command(sluice(t), "plan", file, "--format", "gitlab").Output()
		if err != nil {
			continue // one that is wrong on purpose
		}
		write(t, filepath.Join(dir, ".gitlab-ci.yml"), string(text))
		if len(p.jobs(t, dir)) == 0 {
			t.Errorf("the pipeline of %s has no jobs", filepath.Base(file))
		}
		listed++
	}
	if listed < 20 {
		t.Errorf("%d definitions gave a plan, expected at least 20", listed)
	}
}

// tail is the end of a long text.
func tail(text string) string {
	lines := strings.Split(text, "\n")
	return strings.Join(slices.Clip(lines[max(0, len(lines)-60):]), "\n")
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
