package definition

import (
	"context"
	"io/fs"
	"reflect"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// world is what the examples of the reference name: lists, jobs, templates, environments, files.
const world = `
definitions: {pythons: ["3.10", "3.12"]}
settings: {tests: {gpu: 1}, dry: true, train: {batch: [1]}}
presets: {light: {tests.gpu: 2}}
environments: {staging: {vars: {A: b}}}
templates: {python: {image: "python:3.12"}}
pools: [{name: gpu, match: ["gpu>=4"]}, {name: rest}]
builds:
  lock: {run: make lock, outputs: {lock: lock.txt}, matrix: {platform: [linux-x86_64]}}
  jar: {run: make jar, outputs: {native: native.jar}}
  wheel: {run: make wheel, outputs: {wheel: "*.whl"}}
tests: {smoke: {run: make smoke}, stable: {run: make}}
`

type files map[string]string

func (f files) Glob(_ context.Context, _ Repo, glob string) ([]string, error) {
	return []string{strings.ReplaceAll(glob, "*", "all")}, nil
}

func (f files) Read(_ context.Context, _ Repo, name string, _ int64) ([]byte, error) {
	text, ok := f[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return []byte(text), nil
}

type nothing struct{}

func (nothing) Read(plan.Included) (plan.Suite, error)        { return nothing{}, nil }
func (nothing) Tasks(plan.Asked) (out plan.Imported, _ error) { return out, nil }

// whole is a definition around one example: the example's key in its place, everything that it names beside it.
func whole(of reflect.Type, k key) string {
	one := k.name + ": " + k.inFlow()
	job := func(more string) string {
		matrix := "matrix: {python: $pythons, platform: [linux-x86_64]}, "
		if k.name == "matrix" {
			matrix = ""
		}
		return "\ntests: {smoke: {run: make}, it: {run: make, " + matrix + more + "}}"
	}
	for _, required := range keysOfType(of) {
		if of != reflect.TypeFor[Definition]() && required.required && required.name != k.name && len(required.unless) == 0 {
			one += ", " + required.name + ": " + required.inFlow()
		}
	}
	places := map[reflect.Type]string{
		reflect.TypeFor[Release]():        "release: {ONE}",
		reflect.TypeFor[Triggers]():       "triggers: {ONE}",
		reflect.TypeFor[Trigger]():        "triggers: {push: {ONE}}",
		reflect.TypeFor[Schedule]():       "triggers: {schedule: [{ONE}]}",
		reflect.TypeFor[Manual]():         "triggers: {manual: {ONE}}",
		reflect.TypeFor[Parameter]():      "triggers: {manual: {parameters: {p: {ONE}}}}",
		reflect.TypeFor[dialectInclude](): "include: [{lines: a.lines, ONE}]",
		reflect.TypeFor[Environment]():    "environments: {staging: {ONE}}",
		reflect.TypeFor[Pool]():           "pools: [{ONE}, {name: rest}]",
		reflect.TypeFor[Provider]():       "providers: {cloud: {ONE}}",
		reflect.TypeFor[Rule]():           "changed: [{ONE}]",
		reflect.TypeFor[Gate]():           "gate: {ONE}",
		reflect.TypeFor[targetKeys]():     "publish: {pypi: {ONE}}",
		reflect.TypeFor[needsMap]():       job("needs: {ONE}"),
		reflect.TypeFor[Need]():           job("needs: [{ONE}]"),
		reflect.TypeFor[Adjustment]():     "\ntests: {smoke: {run: make}, it: {run: make, matrix: {python: $pythons, adjustments: [{ONE}]}}}",
		reflect.TypeFor[Output]():         job("outputs: {o: {ONE}}"),
		reflect.TypeFor[Fetch]():          fetchJob("fetch: {ONE}"),
		reflect.TypeFor[Timeout]():        job("lease: lab, timeout: {ONE}"),
		reflect.TypeFor[Retry]():          job("retry: {infra: {ONE}}"),
		reflect.TypeFor[Reports]():        job("reports: {ONE}"),
		reflect.TypeFor[Cache]():          job("cache: [{ONE}]"),
		reflect.TypeFor[Lease]():          job("lease: {ONE}"),
		reflect.TypeFor[Gang]():           job("lease: {from: lab, nodes: 4}, gang: {ONE}"),
		reflect.TypeFor[Concurrency]():    job("concurrency: {ONE}"),
	}
	if of == reflect.TypeFor[Need]() && k.name != "job" && k.name != "artifacts" {
		one += ", job: lock"
	}
	text := one
	switch place, nested := places[of]; {
	case of == reflect.TypeFor[Include]() && k.name == "path":
		text = "include: [{" + one + "}]"
	case of == reflect.TypeFor[Include]():
		text = "include: [{repo: \"https://git.test/acme/ci\", at: 4f2a9c1d0123456789abcdef0123456789abcdef, path: jobs.yaml}]"
	case of == reflect.TypeFor[Job]() && k.name == "gang":
		text = job("lease: {from: lab, nodes: 4}, " + one)
	case of == reflect.TypeFor[Job]() && k.name == "fetch":
		text = fetchJob(one)
	case of == reflect.TypeFor[Job]():
		text = job(one)
		if k.name == "run" {
			text = strings.Replace(text, "it: {run: make, ", "it: {", 1)
		}
	case nested:
		text = strings.Replace(place, "ONE", one, 1)
	}
	return around(text)
}

func fetchJob(one string) string {
	return "builds: {lock: {run: make}, jar: {run: make, outputs: {native: a.jar}}, it: {outputs: {wheel: \"*.whl\"}, " + one + "}}"
}

// inFlow is the example as it can stand in braces.
func (k key) inFlow() string {
	if !strings.HasPrefix(k.example, "{") && !strings.HasPrefix(k.example, "[") && strings.Contains(k.example, "{{") {
		return "'" + k.example + "'"
	}
	return k.example
}

// around adds what the world has and the text does not say.
func around(text string) string {
	text = strings.TrimLeft(text, "\n")
	given := text[:strings.IndexByte(text, ':')]
	out := "project: example\n" + text + "\n"
	if given == "project" {
		out = text + "\n"
	}
	if given != "gate" {
		out += "gate: {require: [builds]}\n"
	}
	skipping := false
	for line := range strings.Lines(world) {
		if name, _, found := strings.Cut(line, ":"); found && line[0] != ' ' {
			skipping = name == given
		}
		if !skipping {
			out += line
		}
	}
	return out
}

// runs reads and resolves the definition around an example.
func runs(t *testing.T, s section, k key) {
	t.Helper()
	text := whole(s.of, k)
	def, err := Load(t.Context(), "sluice.yaml", []byte(text), Options{
		Loader:   files{"ci/all.yaml": "builds: {included: {run: make}}", "jobs.yaml": "builds: {other: {run: make}}", "ci/staging.env": "A=b", "a.lines": "a"},
		Dialects: map[string]plan.Dialect{"lines": nothing{}},
	})
	if err == nil {
		_, err = Resolve(def, Request{Change: release.Change{
			Kind: release.Push, Repo: "a/b", Branch: def.Policy().Branch, Ref: "refs/heads/" + def.Policy().Branch,
			Commit: "4f2a9c1d0123456789abcdef0123456789abcdef",
		}})
	}
	if err != nil {
		t.Errorf("%s: the example of %s does not run: %v in\n%s", s.title, k.name, err, strings.Split(text, "\n")[1])
	}
}

// FuzzReadEnv gives any text to the reader of variables: it answers with names that are variables, or with problems.
func FuzzReadEnv(f *testing.F) {
	for _, text := range []string{"A=b", "export A='b' # c", "A=\"\\n\\\"\"", "=", "A", "A=\"", "\x00", "A=1\nA=2"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := newSource("x.env", text)
		for _, e := range readEnv(s) {
			if !identifier.MatchString(e.Name) {
				t.Fatalf("%q is a variable", e.Name)
			}
		}
	})
}
