package definition_test

import (
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/definition"
	"github.com/sluiceci/sluice/pkg/release"
)

const linted = `project: x
triggers: {tag: false}
settings: {a: 1}
definitions: {used: [1], idle: [1]}
presets: {nothing: {}, some: {a: 2}, more: {extends: [nothing]}}
environments: {empty: {}, full: {vars: {A: b}}, default: {secrets: [ALL]}, chosen: {secrets: [SOME]}}
pools: [{name: arm, match: [arch=arm]}, {name: rest}, {name: late, match: ["gpu>=1"]}, {name: asked, match: [x]}]
changed: [{paths: ["docs/**"], jobs: []}, {paths: ["docs/**", "**"], jobs: []}, {paths: ["a/*"], jobs: []}]
providers: {cloud: {create: x, destroy: y}, idle: {create: x, destroy: y}}
templates: {base: {lease: cloud}, idle: {run: x}}
builds:
  wheel: {run: make, matrix: {p: $used}, secrets: [TOKEN]}
  tagged: {run: make, if: change.kind == "tag"}
  never: {run: make, unless: "true || branch == '2'"}
  perhaps: {run: make, pool: asked, if: "change.kind == 'pull_request' && settings.a == 3"}
tests:
  after: {run: make, needs: [tagged]}
  last: {run: make, needs: [after]}
  unless: {run: make, needs: [{job: tagged, optional: true}], extends: base}
  safe: {run: make, secrets: [TOKEN], if: change.kind != "pull_request"}
`

// TestWarnings tells everything that a definition says in vain, with its place.
func TestWarnings(t *testing.T) {
	def, err := definition.Parse("sluice.yaml", []byte(linted))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range definition.Warnings(def) {
		if p.Line == 0 || p.Excerpt == "" {
			t.Errorf("a warning without a place: %+v", p)
		}
		first, _, _ := strings.Cut(p.String(), "\n")
		got = append(got, first)
	}
	want := []string{
		"sluice.yaml:4:26: the list idle is used by no matrix",
		"sluice.yaml:5:11: the preset nothing sets nothing",
		"sluice.yaml:5:38: the preset more sets nothing",
		"sluice.yaml:6:16: the environment empty gives nothing",
		"sluice.yaml:6:69: a run of a pull request gets no secrets: the environment default is there without ALL",
		"sluice.yaml:7:62: pool late takes no task: rest, before it, takes every task",
		"sluice.yaml:8:52: no path is left for docs/**: the rule in line 8 takes it",
		"sluice.yaml:8:90: no path is left for a/*: the rule in line 8 takes it",
		"sluice.yaml:9:45: no job leases from the provider idle",
		"sluice.yaml:10:35: no job extends the template idle",
		"sluice.yaml:12:52: a run of a pull request gets no secrets: job wheel runs there without TOKEN",
		"sluice.yaml:13:27: job tagged is never run: no change that starts a run meets its condition",
		"sluice.yaml:14:30: job never is never run: no change that starts a run meets its condition",
		"sluice.yaml:17:30: job after is never run: it needs tagged, which is never run",
		"sluice.yaml:18:29: job last is never run: it needs after, which is never run",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	suite := "project: x\ninclude: [{lines: [include/tests.lines], secrets: [OTHER]}]\n"
	if def, err = definition.Load(t.Context(), "sluice.yaml", []byte(suite), options()); err != nil {
		t.Fatal(err)
	}
	if got := definition.Warnings(def).Error(); !strings.Contains(got, "sluice.yaml:2:52: a run of a pull request gets no secrets: the tests of lines run there without OTHER") {
		t.Error(got)
	}
	def, err = definition.Parse("sluice.yaml", []byte("project: x\nbuilds: {a: {run: x}}\n"))
	if err != nil || definition.Warnings(def) != nil {
		t.Error(err, definition.Warnings(def))
	}
}

// TestAReleaseBranchWithoutPushes: triggers.push that leaves out the release branch is told by lint and by every run; push: false
// says it on purpose.
func TestAReleaseBranchWithoutPushes(t *testing.T) {
	t.Parallel()
	for push, told := range map[string]bool{
		`{branches: ["feature/*"]}`: true, `{branches: ["feature/*", "ma*"]}`: false, "false": false, "true": false, "{}": false,
	} {
		def, err := definition.Parse("sluice.yaml", []byte("project: x\ntriggers: {push: "+push+"}\nbuilds: {a: {run: x}}\n"))
		if err != nil {
			t.Fatal(err)
		}
		const want = "a push to the release branch master starts no run"
		if got := definition.Warnings(def).Error(); strings.Contains(got, want) != told {
			t.Errorf("push: %s: lint says %q, want it told: %v", push, got, told)
		}
		p, err := definition.Resolve(def, definition.Request{Change: release.Change{Kind: release.Manual, Branch: "feature/a"}})
		if err != nil || strings.Contains(strings.Join(p.Warnings, "\n"), want) != told {
			t.Errorf("push: %s: the run says %q (%v), want it told: %v", push, p.Warnings, err, told)
		}
	}
}
