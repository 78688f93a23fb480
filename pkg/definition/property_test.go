package definition_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluiceci/sluice/pkg/definition"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/test/property"
)

// drawDefinition writes a definition of builds and tests with matrices, needs and conditions.
func drawDefinition(t *rapid.T) string {
	var b strings.Builder
	b.WriteString("project: drawn\ndefinitions: {p: [\"3.1\", \"3_1\", x], q: [a, b/c]}\nsettings: {on: true}\n")
	if rapid.Bool().Draw(t, "pools") {
		b.WriteString("pools: [{name: a, match: [\"q=a\"]}, {name: rest}]\n")
	}
	jobs := []string{}
	for _, section := range []string{"builds", "tests"} {
		b.WriteString(section + ":\n")
		for i := range rapid.IntRange(1, 5).Draw(t, section) {
			name := section[:1] + fmt.Sprint(i)
			fmt.Fprintf(&b, "  %s: {run: \"make {{ commit }}\", outputs: {o: \"*.o\"}", name)
			if axes := rapid.SampledFrom([]string{"", "p: $p", "q: $q", "p: $p, q: $q", "p: $p, exclude: [{p: x}]"}).Draw(t, "matrix"); axes != "" {
				fmt.Fprintf(&b, ", matrix: {%s}", axes)
			}
			if needs := rapid.SliceOfNDistinct(rapid.SampledFrom(append(jobs, name)), 0, 2, rapid.ID[string]).Draw(t, "needs"); len(needs) > 0 {
				fmt.Fprintf(&b, ", needs: [%s]", strings.Join(needs, ", "))
			}
			if c := rapid.SampledFrom([]string{"", "", "settings.on", "change.kind == 'push'"}).Draw(t, "if"); c != "" {
				fmt.Fprintf(&b, ", if: \"%s\"", c)
			}
			b.WriteString("}\n")
			if section == "builds" || rapid.Bool().Draw(t, "needable") {
				jobs = append(jobs, name)
			}
		}
	}
	b.WriteString("publish: {index: {kind: pypi-index, artifacts: [o]}}\n")
	return b.String()
}

// TestPlansHold draws definitions and changes, and holds every plan to what later steps rely on: the same input gives
// the same bytes, ids are tokens and unique, what is needed is in the plan, a build never needs a test, there is no
// circle, the gate names tests of the plan, and a pull request is offered no target and given no secret.
func TestPlansHold(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		text := drawDefinition(t)
		req := definition.Request{Change: release.Change{
			Kind: rapid.SampledFrom([]release.ChangeKind{release.Push, release.PullRequest, release.Manual}).Draw(t, "kind"),
			Repo: "a/b", Branch: "master", Ref: "refs/heads/master", Commit: commit,
		}}
		first, err := resolve(text, req)
		again, errAgain := resolve(text, req)
		if err != nil || errAgain != nil {
			if err == nil || errAgain == nil || err.Error() != errAgain.Error() {
				t.Fatalf("one text, two answers: %v and %v", err, errAgain)
			}
			return
		}
		_, one, _ := first.Encode()
		_, two, _ := again.Encode()
		if one != two {
			t.Fatalf("one text, two plans: %s and %s", one, two)
		}
		holds(t, first)
	})
}

func resolve(text string, req definition.Request) (*plan.Plan, error) {
	def, err := definition.Parse("sluice.yaml", []byte(text))
	if err != nil {
		return nil, err
	}
	return definition.Resolve(def, req)
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func holds(t fataler, p *plan.Plan) {
	t.Helper()
	tasks := map[release.TaskID]plan.Task{}
	for _, task := range p.Tasks {
		if _, twice := tasks[task.ID]; twice || !release.Token(string(task.ID)) {
			t.Fatalf("task id %q is no token, or there twice", task.ID)
		}
		tasks[task.ID] = task
	}
	done := map[release.TaskID]int{}
	var visit func(id release.TaskID)
	visit = func(id release.TaskID) {
		if done[id] == 1 {
			t.Fatalf("%s needs itself", id)
		}
		if done[id] == 2 {
			return
		}
		done[id] = 1
		for _, need := range tasks[id].Needs {
			other, there := tasks[need]
			if !there || tasks[id].Kind == release.Build && other.Kind != release.Build {
				t.Fatalf("%s needs %s, which is not in the plan or no build", id, need)
			}
			visit(need)
		}
		done[id] = 2
	}
	for _, task := range p.Tasks {
		visit(task.ID)
		if task.Why == "" || task.Pool == "" || task.Name == "" || task.Stage == "" {
			t.Fatalf("%s does not say why, where or what it is", task.ID)
		}
		for _, in := range task.Inputs {
			if len(in.From) == 0 {
				t.Fatalf("%s has an input from nothing", task.ID)
			}
		}
	}
	for _, id := range p.Gate.Tests {
		if tasks[id].Kind != release.Test {
			t.Fatalf("the gate requires %s, which is no test of the plan", id)
		}
	}
	if p.Change.Kind == release.PullRequest && len(p.Targets) > 0 {
		t.Fatalf("a pull request is offered %d targets", len(p.Targets))
	}
	for _, s := range p.Skipped {
		if s.Why == "" {
			t.Fatalf("%s is left out without a reason", s.Name)
		}
	}
}

// TestGoldenPlansHold holds the plans of all cases to the same.
func TestGoldenPlansHold(t *testing.T) {
	for _, file := range cases(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, p := resolved(t, file, text); p != nil {
			holds(t, p)
		}
	}
}

// FuzzParse gives any bytes to the parser: it answers with a definition that resolves or with problems that have a
// place in the text, never with a panic.
func FuzzParse(f *testing.F) {
	for _, file := range cases(f) {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		def, err := definition.Parse("sluice.yaml", text)
		if err == nil {
			var p *plan.Plan
			p, err = definition.Resolve(def, definition.Request{Change: release.Change{
				Kind: release.Push, Repo: "a/b", Branch: "master", Ref: "refs/heads/master", Commit: commit,
			}})
			if err == nil {
				holds(t, p)
				return
			}
		}
		problems, ok := err.(definition.Errors)
		if !ok || len(problems) == 0 {
			t.Fatalf("the error is %T, expected problems: %v", err, err)
		}
		lines := strings.Count(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(text)), "\n") + 1
		for _, p := range problems {
			if p.Message == "" || p.Line > lines || p.Line > 0 && p.Column < 1 {
				t.Fatalf("a problem without a place or a message: %+v", p)
			}
		}
	})
}

// FuzzSet gives any text to --set: it changes a setting that there is, or is refused.
func FuzzSet(f *testing.F) {
	for _, s := range []string{"a.b=1", "a.b=[1, 2]", "a={b: 2}", "a.c=1", "=", "a.b=&x [*x]", "a.b=\"\\u0000\""} {
		f.Add(s)
	}
	def, err := definition.Parse("sluice.yaml", []byte("project: x\nsettings: {a: {b: 1}}\nbuilds: {a: {run: x}}\ngate: {require: [builds]}\n"))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, set string) {
		_, err := definition.Resolve(def, definition.Request{Set: []string{set}, Change: release.Change{Kind: release.Push, Branch: "master"}})
		if _, ok := err.(definition.Errors); err != nil && !ok {
			t.Fatalf("the error is %T: %v", err, err)
		}
	})
}

// FuzzMatch gives any expression to a pool.
func FuzzMatch(f *testing.F) {
	for _, s := range []string{"os=linux", "gpu>=1", "docker", "a!=b*", "memory>4GiB", "x = {a,b}", "a=["} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, expression string) {
		text := fmt.Sprintf("project: x\npools: [{name: a, match: [%q]}, {name: b}]\nbuilds: {a: {run: x, tags: [docker, os=linux], resources: {gpu: 1}}}\ngate: {require: [builds]}\n", expression)
		_, err := resolve(text, definition.Request{Change: release.Change{Kind: release.Push, Branch: "master"}})
		if _, ok := err.(definition.Errors); err != nil && !ok {
			t.Fatalf("the error is %T: %v", err, err)
		}
	})
}
