package executor

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/git"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

func TestSuccess(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("one", nil)
	f := w.run(plan.Task{
		Variables: map[string]string{"GREETING": "hello world", "SLUICE_RUN": "not yours"},
		Matrix:    map[string]string{"python-version": "3.12"},
		Run: `echo "$GREETING" > out.txt; mkdir -p d/e; echo x > d/e/f; chmod +x d/e/f
echo "$SLUICE_RUN $SLUICE_TASK $SLUICE_ATTEMPT $SLUICE_BRANCH $SLUICE_MATRIX_PYTHON_VERSION ${SLUICE_COMMIT%${SLUICE_COMMIT#????}}"
test -z "$(cat)"`,
		Outputs: []plan.Output{{Type: "text", Path: "*.txt", MediaType: "text/plain", Stamped: true}, {Type: "tree", Path: "d"}, {Type: "none", Path: "*.no", Optional: true}},
	}, nil)
	if f.Class != release.ClassOK || f.Outcome != release.Success || f.Reason != "" || f.Executor != "one" || len(f.Artifacts) != 2 {
		t.Fatalf("got %+v", f)
	}
	if a := f.Artifacts[0]; a.Name != "out.txt" || a.Type != "text" || a.Size != 12 || !a.Stamped || a.Job != "job" || w.blob(a.Digest) != "hello world\n" {
		t.Errorf("artifact %+v", a)
	}
	if a := f.Artifacts[1]; a.Name != "d" || !a.Directory || a.MediaType != "application/x-tar" || a.Digest == "" {
		t.Errorf("artifact %+v", a)
	}
	if got := w.log(f); got != "4f2a9c1d-test job 1 master 3.12 4f4f\n" || f.LogLines != 1 || len(f.LastLines) != 1 {
		t.Errorf("log %q of %d lines", got, f.LogLines)
	}
	if started := await(w, event.TaskStarted{Pool: "linux", Task: "job", Attempt: 1}); started.Executor != "one" || started.Pool != "linux" {
		t.Errorf("started %+v", started)
	}
	var names []string
	for _, phase := range f.Phases {
		names = append(names, phase.Name)
	}
	if fmt.Sprint(names) != "[prepare command collect cleanup]" {
		t.Errorf("phases %v", names)
	}
}

func TestEnds(t *testing.T) {
	t.Parallel()
	junit := func(inner string) string { return `echo '<testsuite>` + inner + `</testsuite>' > r.xml` }
	for _, one := range []struct {
		name   string
		task   plan.Task
		class  release.Class
		reason string
	}{
		{"exit status", plan.Task{Run: "echo oops; exit 3"}, release.ClassCommand, "the command ended with exit status 3"},
		{"a status that means the platform", plan.Task{Run: "exit 75", Exits: []release.Exit{{From: 75, To: 75, Class: release.ClassInfra}}}, release.ClassInfra, "the command ended with exit status 75"},
		{"a status of the preparation", plan.Task{Prepare: "exit 104", Run: ":", Exits: []release.Exit{{From: 100, To: 109, Class: release.ClassSetup}}}, release.ClassSetup, "the preparation ended with exit status 104"},
		{"a status that nothing is said of", plan.Task{Run: "exit 99", Exits: []release.Exit{{From: 100, To: 109, Class: release.ClassSetup}}}, release.ClassCommand, "the command ended with exit status 99"},
		{"-e and -u hold", plan.Task{Run: "false; exit 0"}, release.ClassCommand, "the command ended with exit status 1"},
		{"signal", plan.Task{Run: "kill -SEGV $$"}, release.ClassCommand, "the command ended with signal: segmentation fault"},
		{"no output", plan.Task{Run: ":", Outputs: []plan.Output{{Type: "wheel", Path: "dist/*.whl"}}}, release.ClassCommand, `no file matches "dist/*.whl"`},
		{"output path escapes", plan.Task{Run: ":", Outputs: []plan.Output{{Type: "x", Path: "../*"}}}, release.ClassConfig, `cannot collect "../*": expected a glob of paths within the workspace`},
		{"output link leaves", plan.Task{Run: "ln -s /etc/passwd x", Outputs: []plan.Output{{Type: "x", Path: "x*"}}}, release.ClassCommand, `cannot keep "x": it is a link that leaves the workspace`},
		{"named link leaves", plan.Task{Run: "ln -s ../.. x", Outputs: []plan.Output{{Type: "x", Path: "x"}}}, release.ClassCommand, "x"},
		{"output below a link", plan.Task{Run: "ln -s /etc x", Outputs: []plan.Output{{Type: "x", Path: "x/pass*"}}}, release.ClassCommand, "x"},
		{"named pipe", plan.Task{Run: "mkfifo x", Outputs: []plan.Output{{Type: "x", Path: "*"}}}, release.ClassCommand, `cannot keep "x": it is a named pipe`},
		{"link in a directory leaves", plan.Task{Run: "mkdir d; ln -s /etc d/x", Outputs: []plan.Output{{Type: "x", Path: "d"}}}, release.ClassCommand, "x"},
		{"workspace replaced", plan.Task{Run: "cd ..; rm -rf work; ln -s /etc work", Outputs: []plan.Output{{Type: "x", Path: "passwd"}}}, release.ClassCommand, "removed its workspace"},
		{"same name, other bytes", plan.Task{Run: "mkdir a b; echo 1 > a/x; echo 2 > b/x", Outputs: []plan.Output{{Type: "x", Path: "*/x"}}}, release.ClassConfig, `another file of output "x" is named "x" too`},
		{"no report", plan.Task{Run: ":", Reports: plan.Reports{JUnit: "*.xml"}}, release.ClassUnknown, `no file matches "*.xml"`},
		{"empty report", plan.Task{Run: junit(""), Reports: plan.Reports{JUnit: "*.xml"}}, release.ClassUnknown, "has no test"},
		{"failed test", plan.Task{Run: junit(`<testcase name="a"><failure message="m"/></testcase>`), Reports: plan.Reports{JUnit: "*.xml"}}, release.ClassCommand, "1 test of 1 failed, the first is a"},
		{"all skipped", plan.Task{Run: junit(`<testcase name="a"><skipped/></testcase>`), Reports: plan.Reports{JUnit: "*.xml"}}, release.ClassCommand, "all 1 test were skipped"},
		{"passed test", plan.Task{Run: junit(`<testcase name="a"/>`), Reports: plan.Reports{JUnit: "*.xml"}}, release.ClassOK, ""},
		{"no results", plan.Task{Run: ":", Reports: plan.Reports{Results: "results.json"}}, release.ClassUnknown, "there is no such file"},
		{"results say no", plan.Task{Run: `echo '{"success": false}' > results.json`, Reports: plan.Reports{Results: "results.json"}}, release.ClassCommand, "it was no success"},
		{"results link leaves", plan.Task{Run: "ln -s /etc/passwd results.json", Reports: plan.Reports{Results: "results.json"}}, release.ClassUnknown, "there is no such file"},
		{"preparation fails", plan.Task{Prepare: "exit 4", Run: "exit 5"}, release.ClassPrepare, "the preparation ended with exit status 4"},
		{"timeout", plan.Task{Run: "sleep 60", TimeoutS: 0.1}, release.ClassTimeout, "the command ran longer than 100ms"},
		{"preparation times out", plan.Task{Prepare: "sleep 60", Run: ":", Timeouts: release.Timeouts{Prepare: release.Duration(100 * time.Millisecond)}}, release.ClassPrepare, "preparing took longer than 100ms"},
		{"directory missing", plan.Task{Run: ":", Directory: "sub"}, release.ClassConfig, `cannot run in directory "sub"`},
		{"directory escapes", plan.Task{Run: ":", Directory: ".."}, release.ClassConfig, `cannot run in directory ".."`},
		{"no such secret", plan.Task{Run: ":", Secrets: []string{"NOPE"}}, release.ClassConfig, "cannot find secret NOPE"},
		{"short secret", plan.Task{Run: ":", Secrets: []string{"SHORT"}}, release.ClassConfig, "cannot give secret SHORT"},
		{"no command", plan.Task{Run: " \n"}, release.ClassConfig, "it has no command"},
		{"secret in an output", plan.Task{Run: "echo \"token: $TOKEN\" > x", Secrets: []string{"TOKEN"}, Outputs: []plan.Output{{Type: "x", Path: "x"}}}, release.ClassConfig, `cannot keep "x": it holds a secret`},
		{"secret in a directory", plan.Task{Run: "mkdir d; printf %s \"$TOKEN\" | base64 > d/x", Secrets: []string{"TOKEN"}, Outputs: []plan.Output{{Type: "x", Path: "d"}}}, release.ClassConfig, `cannot keep "d": it holds a secret`},
		{"long script", plan.Task{Run: strings.Repeat("# "+strings.Repeat("x", 98)+"\n", 2000) + "exit 7"}, release.ClassCommand, "exit status 7"},
		{"no git", plan.Task{Run: ":", Checkout: "commit"}, release.ClassConfig, "this executor has no git"},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.start("one", nil)
			f := w.run(one.task, nil)
			if f.Class != one.class || f.Outcome != one.class.Outcome() || !strings.Contains(f.Reason, one.reason) {
				t.Errorf("class %s, outcome %s, reason %q; expected class %s, reason %q", f.Class, f.Outcome, f.Reason, one.class, one.reason)
			}
			if f.Class != release.ClassOK && len(f.Artifacts) > 0 {
				t.Errorf("a failed attempt left artifacts %+v", f.Artifacts)
			}
		})
	}
}

func TestFailureTellsItsReports(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("one", nil)
	f := w.run(plan.Task{
		Secrets: []string{"TOKEN"},
		Run: `echo "<testsuite><testcase name='a'><failure message='got $TOKEN'/></testcase><testcase name='b'/></testsuite>" > r.xml
echo '{"success": false, "rps": 12.5}' > results.json; exit 1`,
		Reports: plan.Reports{JUnit: "r.xml", Results: "results.json"},
	}, nil)
	want := release.TestCount{Total: 2, Failed: 1}
	if f.Class != release.ClassCommand || f.Reason != "the command ended with exit status 1" || f.Tests != want || f.Metrics["rps"] != 12.5 {
		t.Errorf("got %+v", f)
	}
	if len(f.Failures) != 1 || f.Failures[0] != (event.CaseFailure{Name: "a", Message: "got ***"}) {
		t.Errorf("failures %+v", f.Failures)
	}
}

func TestSecretsAreMaskedEverywhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("one", nil)
	f := w.run(plan.Task{
		Secrets: []string{"TOKEN"},
		Run:     `echo "plain $TOKEN"; printf %s "$TOKEN" | base64; printf 'no end %s' "$TOKEN"; exit 1`,
		Outputs: []plan.Output{{Type: "x", Path: "x"}},
	}, nil)
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	live := w.live("job")
	for _, said := range []string{string(text), w.log(f), live} {
		if strings.Contains(said, "horse") || strings.Contains(said, "Y29ycmVjdC") {
			t.Errorf("the secret is in %q", said)
		}
		if !strings.Contains(said, "plain ***") || !strings.Contains(said, "no end ***") {
			t.Errorf("%q is not what was printed", said)
		}
	}
}

func TestPullRequestsGetNoSecrets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("one", nil)
	f := w.run(plan.Task{Secrets: []string{"TOKEN"}, Run: `echo "${TOKEN-unset}"`}, func(p *plan.Plan, _ *event.TaskDispatched) {
		p.Change.Kind = release.PullRequest
	})
	if got := w.log(f); f.Class != release.ClassOK || got != "sluice: secret TOKEN is withheld: a run of a pull request gets no secrets\nunset\n" {
		t.Errorf("class %s, log %q", f.Class, got)
	}
}

func TestSecretsAreGranted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("one", nil)
	for _, one := range []struct {
		name   string
		change func(*plan.Plan)
	}{
		{"another project", func(p *plan.Plan) { p.Change.Project = "other" }},
		{"the definition's word for its project", func(p *plan.Plan) { p.Change.Project, p.Project = "other", "demo" }},
		{"a branch", func(p *plan.Plan) { p.Trust = release.TrustTrusted }},
	} {
		id := release.TaskID(release.Slug(one.name))
		w.dispatch(plan.Task{ID: id, Secrets: []string{"TOKEN"}, Run: `echo "$TOKEN"`}, func(p *plan.Plan, _ *event.TaskDispatched) { one.change(p) })
		f := await(w, event.TaskFinished{Pool: "linux", Task: id, Attempt: 1})
		if f.Class != release.ClassConfig || !strings.Contains(f.Reason, "cannot give secret TOKEN to task "+string(id)+": no grant of the installation names it for project ") {
			t.Errorf("%s: class %s, reason %s", one.name, f.Class, f.Reason)
		}
	}
}

// TestTheDispatchSaysTheEnvironment: a definition that calls its task's environment prod gets nothing of what prod is granted.
func TestTheDispatchSaysTheEnvironment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("one", nil)
	in := func(id release.TaskID, environment string) event.TaskFinished {
		w.dispatch(plan.Task{ID: id, Environment: "prod", Secrets: []string{"GUARDED"}, Run: `test -n "$GUARDED"`},
			func(_ *plan.Plan, d *event.TaskDispatched) { d.Environment = environment })
		return await(w, event.TaskFinished{Pool: "linux", Task: id, Attempt: 1})
	}
	if f := in("called", ""); f.Class != release.ClassConfig || !strings.Contains(f.Reason, "let into environment prod, and this was let into none") {
		t.Errorf("by its name alone: class %s, reason %s", f.Class, f.Reason)
	}
	if f := in("let-in", "prod"); f.Class != release.ClassOK {
		t.Errorf("let in: class %s, reason %s", f.Class, f.Reason)
	}
}

func TestUntrustedChangesGetNoSecrets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("one", w.anyChange)
	f := w.run(plan.Task{Secrets: []string{"TOKEN"}, Run: `echo "${TOKEN-unset}"`}, func(p *plan.Plan, _ *event.TaskDispatched) {
		p.Trust = release.TrustUntrusted
	})
	if got := w.log(f); f.Class != release.ClassOK || got != "sluice: secret TOKEN is withheld: a run of an untrusted change gets no secrets\nunset\n" {
		t.Errorf("class %s, log %q", f.Class, got)
	}
}

func TestInputs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("one", nil)
	produced := w.run(plan.Task{ID: "job", Run: "mkdir d; echo tree > d/f; echo file > x", Outputs: []plan.Output{{Type: "file", Path: "x"}, {Type: "tree", Path: "d"}}}, nil)
	w.dispatch(plan.Task{
		ID: "next", Run: `cat "$SLUICE_INPUTS/job/x" "$SLUICE_INPUTS/job/d/f"; test ! -e "$SLUICE_INPUTS/other/d"; test -d "$SLUICE_INPUTS/other"`,
		Inputs: []plan.Input{{Job: "job", From: []release.TaskID{"job"}}, {Job: "other", Type: "nothing", From: []release.TaskID{"job"}}},
	}, func(_ *plan.Plan, d *event.TaskDispatched) {
		d.Inputs = []event.Produced{{Task: "job", Artifacts: produced.Artifacts}}
	})
	f := await(w, event.TaskFinished{Pool: "linux", Task: "next", Attempt: 1})
	if got := w.log(f); f.Class != release.ClassOK || got != "file\ntree\n" {
		t.Errorf("class %s (%s), log %q", f.Class, f.Reason, got)
	}
}

// TestInputsInABlob: a list that is too long for a message is read from a blob, and only the list that was meant.
func TestInputsInABlob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("one", nil)
	file, _ := blob.PutBytes(t.Context(), w.blobs, []byte("file\n"))
	meant := []event.Produced{{Task: "a", Artifacts: []release.Artifact{{Name: "x", Type: "lib", Task: "a", Digest: file}}}}
	other := []event.Produced{{Task: "a", Artifacts: []release.Artifact{{Name: "y", Type: "lib", Task: "a", Digest: file}}}}
	for id, c := range map[release.TaskID]struct {
		list  []event.Produced
		class release.Class
	}{"meant": {meant, release.ClassOK}, "other": {other, release.ClassInfra}} {
		text, _ := json.Marshal(c.list)
		digest, _ := blob.PutBytes(t.Context(), w.blobs, text)
		w.dispatch(plan.Task{ID: id, Run: `cat "$SLUICE_INPUTS/libs/x"`, Inputs: []plan.Input{{Job: "libs", Type: "lib", From: []release.TaskID{"a"}}}},
			func(_ *plan.Plan, d *event.TaskDispatched) {
				d.Inputs = meant
				*d = d.Outside(digest)
			})
		f := await(w, event.TaskFinished{Pool: "linux", Task: id, Attempt: 1})
		if f.Class != c.class || (c.class == release.ClassOK) != (w.log(f) == "file\n") {
			t.Errorf("%s: class %s (%s), log %q", id, f.Class, f.Reason, w.log(f))
		}
	}
}

func TestInputProblems(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("one", nil)
	one, _ := blob.PutBytes(t.Context(), w.blobs, []byte("one"))
	two, _ := blob.PutBytes(t.Context(), w.blobs, []byte("two"))
	artifact := func(task release.TaskID, name string, d release.Digest) event.Produced {
		return event.Produced{Task: task, Artifacts: []release.Artifact{{Name: name, Type: "lib", Task: task, Digest: d}}}
	}
	for i, c := range []struct {
		name   string
		inputs []event.Produced
		class  release.Class
		reason string
	}{
		{"same name and bytes", []event.Produced{artifact("a", "x", one), artifact("b", "x", one)}, release.ClassOK, ""},
		{"same name, other bytes", []event.Produced{artifact("a", "x", one), artifact("b", "x", two)}, release.ClassConfig, "task a made it with digest " + string(one) + " and task b with " + string(two)},
		{"name that escapes", []event.Produced{artifact("a", "../x", one)}, release.ClassConfig, `cannot lay artifact "../x" of task a`},
		{"blob that is not there", []event.Produced{artifact("a", "x", release.DigestOf([]byte("three")))}, release.ClassSetup, "it is not in"},
		{"promised and missing", nil, release.ClassSetup, `task a left no artifact "lib"`},
	} {
		id := release.TaskID(fmt.Sprintf("t%d", i))
		w.dispatch(plan.Task{ID: id, Run: ":", Inputs: []plan.Input{{Job: "libs", Type: "lib", From: []release.TaskID{"a", "b"}}}},
			func(p *plan.Plan, d *event.TaskDispatched) {
				p.Tasks = append(p.Tasks, plan.Task{ID: "a", Outputs: []plan.Output{{Type: "lib", Path: "x"}}})
				d.Inputs = c.inputs
			})
		f := await(w, event.TaskFinished{Pool: "linux", Task: id, Attempt: 1})
		if f.Class != c.class || !strings.Contains(f.Reason, c.reason) {
			t.Errorf("%s: class %s, reason %q; expected %s, %q", c.name, f.Class, f.Reason, c.class, c.reason)
		}
	}
}

func TestCheckout(t *testing.T) {
	t.Parallel()
	repo := t.TempDir()
	script := `git init -q -b master . && git config user.email a@b && git config user.name a && mkdir sub &&
echo one > sub/file && git add . && git commit -q -m one && git rev-parse HEAD`
	command := exec.Command("sh", "-c", script)
	command.Dir = repo
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	if w.cache, err = git.New(t.TempDir(), git.Options{}); err != nil {
		t.Fatal(err)
	}
	w.start("one", nil)
	for i, c := range []struct {
		commit release.Commit
		class  release.Class
	}{
		{release.Commit(strings.TrimSpace(string(out))), release.ClassOK},
		{release.Commit(strings.Repeat("ab", 20)), release.ClassInfra},
	} {
		id := release.TaskID(fmt.Sprintf("t%d", i))
		w.dispatch(plan.Task{
			ID: id, Run: `cat file; git status --short; echo made > made`, Directory: "sub", Checkout: "commit",
			Outputs: []plan.Output{{Type: "made", Path: "sub/made"}},
		},
			func(p *plan.Plan, _ *event.TaskDispatched) {
				p.Change.CloneURL, p.Change.Commit = "file://"+repo, c.commit
			})
		f := await(w, event.TaskFinished{Pool: "linux", Task: id, Attempt: 1})
		if f.Class != c.class {
			t.Errorf("class %s (%s), log %q; expected %s", f.Class, f.Reason, w.log(f), c.class)
		}
		if c.class == release.ClassOK && w.log(f) != "one\n" {
			t.Errorf("log %q", w.log(f))
		}
	}
}
