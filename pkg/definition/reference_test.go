package definition

import (
	_ "embed"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
)

// section is a part of the reference: a struct whose keys are listed, with what a table cannot say.
type section struct {
	title string
	of    reflect.Type
	text  string
}

func sections() []section {
	return []section{
		{"The top level", reflect.TypeFor[Definition](), ""},
		{"release", reflect.TypeFor[Release](), "A pull request, a fork and a run of another branch never publish, whatever a definition says."},
		{"triggers", reflect.TypeFor[Triggers](), "A manual run is always made. A kind of trigger is `true`, `false` or a map:"},
		{"A trigger", reflect.TypeFor[Trigger](), "Without globs it takes every branch or tag."},
		{"A schedule", reflect.TypeFor[Schedule](), "A run of the release branch's head at each time; what was missed is run once. The change of such a run also has the\nparameter `schedule`, the schedule's name."},
		{"manual", reflect.TypeFor[Manual](), ""},
		{"A parameter", reflect.TypeFor[Parameter](), ""},
		{"include", reflect.TypeFor[Include](), includeText},
		{"An include of a dialect", reflect.TypeFor[dialectInclude](), "`{ray: FILE}` or `{ray: [FILES]}` reads files of another system, unchanged, as tests. Beside the dialect's key it may say\n`needs`, `if`, `unless`, `environment`, `env`, `secrets` and `tags` as a job does, for every test, and:"},
		{"An environment", reflect.TypeFor[Environment](), environmentText},
		{"A pool", reflect.TypeFor[Pool](), "The pools are tried in order and the first that takes a task gets it. A task that no pool takes is an error, which lists\nwhat was tried; with `pools_unmatched: warn` it is left out, and nothing is published without it."},
		{"A provider", reflect.TypeFor[Provider](), ""},
		{"A rule of changed", reflect.TypeFor[Rule](), ""},
		{"A job", reflect.TypeFor[Job](), ""},
		{"needs", reflect.TypeFor[needsMap](), needsText},
		{"A need", reflect.TypeFor[Need](), "In a list, a need is the name of a job, or a map:"},
		{"An adjustment", reflect.TypeFor[Adjustment](), "Beside these keys, an adjustment has keys of a job, which hold for its rows: " + strings.Join(names(adjustable()), ", ") + ". Of\nseveral that fit one row, each changes what those before it made."},
		{"An output", reflect.TypeFor[Output](), ""},
		{"fetch", reflect.TypeFor[Fetch](), fetchText},
		{"timeout", reflect.TypeFor[Timeout](), ""},
		{"A retry", reflect.TypeFor[Retry](), "The classes are " + strings.Join(retryClasses(), ", ") + ".\n\n" + exitText},
		{"reports", reflect.TypeFor[Reports](), ""},
		{"A cache", reflect.TypeFor[Cache](), ""},
		{"lease", reflect.TypeFor[Lease](), ""},
		{"gang", reflect.TypeFor[Gang](), ""},
		{"concurrency", reflect.TypeFor[Concurrency](), ""},
		{"gate", reflect.TypeFor[Gate](), "Missing is not passing: where the change could be published, a gate that requires tests of which the plan has none is an\nerror. Write `require: [builds]` to publish without tests."},
		{"A target", reflect.TypeFor[targetKeys](), "All other keys are options of the kind, texts that may hold templates. What begins with `$` is the name of a secret or a\nvariable of the publisher, looked up where it publishes and never in a plan. What each kind takes stands in [targets.md](targets.md)."},
	}
}

const includeText = "An included file has the same keys, but for those that say what the project is and may do: `" + "project`, `release`, `triggers`,\n" +
	"`gate`, `keep_going`, `supersede`, `retry_budget` and `pools_unmatched`. A name that two files give is an error. Pools and rules of\n" +
	"`changed` come after those of the file that includes them. Of settings, what the including file says wins, and of two included\n" +
	"files the first. A file is read once, however often it is included; paths are those of its own repository; errors name its own lines.\n\n" +
	"`include` may also stand below `tests`, beside the jobs, and means the same there; so no job can be called include."

const exitText = "`exit` is no class. Below it stands what exit statuses of `run` and `prepare` mean, so that a script can say that the\n" +
	"infrastructure failed: `exit: {75: infra, \"100-109\": setup}`. A status that is not named is `command`, or `prepare`. No status\n" +
	"means success but 0, and none that an attempt was lost or cancelled."

const fetchText = "A build that somebody else makes. The builder asks for it until it is there, and then takes it, checks its digest and the\n" +
	"commit that it carries, and only then is it an artifact. 404, 403 and 410 mean that it is not there yet; what may pass, such as\n" +
	"503 or a refused connection, is asked again too, and told; 401, a certificate that nobody trusts and a wrong commit end the\n" +
	"attempt at once. The name of the file is the last part of the URL, and the output's glob must match it. `timeout` bounds the\n" +
	"download, `retry` what follows when it breaks off. What the installation lets definitions fetch: [operate/fetch.md](operate/fetch.md)."

const environmentText = "The order in which variables win: those of the environment that `--env` chooses, the job's `env`, those of the job's\n" +
	"`environment`, those of the environment named `default`, those of the pool. With `--env`, a job's own `environment` does not count.\n" +
	"Files hold a `KEY=VALUE` a line; blank lines, lines that begin with `#` and the word `export` are left out, and a value may be quoted."

const needsText = "With a matrix on both sides, a task needs those tasks of the other job that agree with it on every key that both have:\n" +
	"`wheel (3.12, linux)` needs `lock (3.12)`; an image without a matrix needs every wheel. A need that agrees with nothing is\n" +
	"an error, unless it is optional. What needs only tasks that are left out is left out too. A build may not need a test; a test without needs still\n" +
	"runs after every build."

const referenceHead = "# The definition: sluice.yaml\n\n" +
	"<!-- Written by go test ./pkg/definition -update, from the tags that the parser reads. -->\n\n" +
	"A definition is a YAML file, `sluice.yaml`, at the root of a repository, with what it includes. `sluice lint` checks it, `sluice plan` shows what\n" +
	"it would do, `sluice schema` prints its JSON Schema for editors. Every error names file, line and column, what was found,\n" +
	"what was expected and the nearest valid name, and all errors are told at once. A key that is not below is an error.\n\n" +
	"Numbers stay as they are written: a version 3.10 is the text \"3.10\". Anchors, aliases and merge keys (`<<`) work; tags do\n" +
	"not.\n\n" +
	"```yaml\nproject: demo\ndefinitions: {pythons: [\"3.12\", \"3.13\"]}\nbuilds:\n  wheel:\n    matrix: {python: $pythons}\n" +
	"    run: make wheel PYTHON={{ python }}\n    outputs: {wheel: \"dist/*.whl\"}\n    stamp: commit\ntests:\n  smoke:\n    needs: [wheel]\n" +
	"    matrix: {python: $pythons}\n    run: make smoke\n    reports: {junit: \"reports/*.xml\"}\npublish:\n  index: {kind: pypi-index, artifacts: [wheel], directory: simple}\n```\n"

func referenceTail() string {
	return "\n## matrix\n\n" +
		"A map of keys to lists of values: one task for each combination, the last key turning fastest. A value is a list, `$name`\n" +
		"of a list of `definitions`, or `$settings.path` of a setting (one value is a list of one). Three keys are special:\n\n" +
		"- `exclude`: a list of maps; a row that matches every value of one (globs) is removed, and told as left out.\n" +
		"- `include`: a list of maps, each a row of its own, added as it is.\n" +
		"- `adjustments`: a list of maps that change rows, leave them out, or add one; see below.\n\n" +
		"The values are text. A task is called `wheel (3.12, linux-x86_64)` and has the id `wheel-3_12-linux-x86_64`; where two ids\n" +
		"would be the same, or one is longer than " + fmt.Sprint(longestID) + " characters, eight letters derived from the row are added.\n\n" +
		"## settings and presets\n\n" +
		"`settings` is a tree of your own. A path names a value in it: `tests.gpu`, `tests.gpu[0]` for one of a list, `hosts[\"a.b\"]`\n" +
		"for a key that is no plain name. A preset is a map of paths to values, and `extends: [other]`, whose overrides are applied at\n" +
		"the place where it stands: what the preset says before it they may override, what it says after it overrides them. `--preset`\n" +
		"and then `--set path=value` are applied in order, all of them or none. A path that does not exist is an error: an override\n" +
		"never adds a key. `sluice plan --explain settings` tells where each value comes from.\n\n" +
		"## Templates\n\n" +
		"`{{ name }}` in run, prepare, cleanup, directory, env, image, tags, caches, leases, the concurrency group, the paths of outputs and\n" +
		"reports, the commands of providers, and the options of targets. A\n" +
		"name is looked up and its value put in; nothing is executed. Names: the keys of the job's matrix (`python` or\n" +
		"`matrix.python`), `settings.a.b`, `" + strings.Join(prefixed("change.", changeNames()), "`, `") + "`,\n" +
		"`change.parameters.NAME` of those that manual runs and schedules give, and in short `" + strings.Join(keysOf(shortForms()), "`, `") + "`, `project`, `environment`. To write `{{` itself: `{{ \"{{\" }}`.\n\n" +
		"A command (run, prepare, cleanup, and those of providers) takes only values that the author of the definition chose. A setting,\n" +
		"a matrix key whose values are a setting's, a parameter and the name of a branch, a tag or a repository are data that somebody\n" +
		"else chooses: `/var tests.gpu: $(reboot)` would run as part of the command. Such a template is an error. Pass the value as a\n" +
		"variable instead: `env: {GPU: \"{{ settings.tests.gpu }}\"}` and `run: train --gpus \"$GPU\"`. `$SLUICE_BRANCH` and\n" +
		"`$SLUICE_MATRIX_KEY` are there without it.\n\n" +
		"## Conditions\n\n" +
		"`if` and `unless` are CEL expressions that give true or false. They read the same names as templates, settings and all, and\n" +
		"`change.title`, `change.author`, `change.fork`, `change.parameters.NAME`, `env.NAME` (variables of the environment),\n" +
		"`environment`. Values of a matrix are text: compare `python == \"3.12\"`, or write `int(gpu) >= 2`. A name that does not exist\n" +
		"is an error, not false.\n\n" +
		"## Limits\n\n" +
		fmt.Sprintf("| what | at most |\n|---|---|\n| size of the text | %d KiB |\n| levels of nesting | %d |\n| keys of one map | %d |\n"+
			"| values, aliases expanded | %d |\n| length of a glob, combinations of its braces | %d, %d |\n| different conditions | %d |\n| keys of one matrix | %d |\n| tasks | %d |\n| needs of all tasks together | %d |\n"+
			"| text of all tasks together | %d MiB |\n| duration | 30d |\n| retries of one class | %d |\n"+
			"| files included, bytes of them, files within each other | %d, %d MiB, %d |\n| measurements of one sequence | %d |\n",
			maxSize>>10, maxDepth, maxKeys, maxNodes, maxGlob, maxAlternatives, maxConditions, maxAxes, maxTasks, maxEdges, maxBytes>>20, maxRetries, maxFiles, maxIncluded>>20, maxNesting, maxVariants)
}

// referenceTrust tells what the installation makes of what a definition asks for.
//
//go:embed testdata/trust.md
var referenceTrust string

func reference() string {
	var b strings.Builder
	b.WriteString(referenceHead)
	for _, s := range sections() {
		fmt.Fprintf(&b, "\n## %s\n\n", s.title)
		if s.text != "" {
			b.WriteString(s.text + "\n\n")
		}
		b.WriteString("| key | type | default | what | example |\n|---|---|---|---|---|\n")
		for _, k := range keysOfType(s.of) {
			fallback := k.fallback
			if k.required {
				fallback = "**required**"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | `%s` |\n",
				k.name, shapeOf(s.of.Field(k.index).Type).name, fallback, pipes(k.doc), pipes(k.example))
		}
	}
	return b.String() + referenceTail() + "\n" + referenceTrust
}

func pipes(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// TestReference fails when docs/definition.md is not what the tags say.
func TestReference(t *testing.T) {
	const file = "../../docs/definition.md"
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(file, []byte(reference()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != reference() {
		t.Errorf("%s is stale: write it anew with go test ./pkg/definition -run TestReference -update", file)
	}
}

// TestEveryKeyIsExplained keeps a key from being added without a word or an example, and an example from being wrong.
func TestEveryKeyIsExplained(t *testing.T) {
	for _, s := range sections() {
		for _, k := range keysOfType(s.of) {
			if k.doc == "" || k.example == "" || !strings.HasSuffix(k.doc, ".") {
				t.Errorf("%s: key %s has the doc %q and the example %q", s.title, k.name, k.doc, k.example)
				continue
			}
			runs(t, s, k)
		}
	}
}
