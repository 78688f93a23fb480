package show_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/plan/show"
	"github.com/sluiceci/sluice/pkg/release"
)

func TestMain(m *testing.M) {
	flag.Bool("update", false, "write the golden files anew")
	flag.Parse()
	os.Exit(m.Run())
}

// sample is a plan with everything that a page may have to show, and names that try to escape from it.
func sample() *plan.Plan {
	wheel := func(python string) plan.Task {
		id := release.TaskID("wheel-" + strings.ReplaceAll(python, ".", "_"))
		return plan.Task{
			ID: id, Name: "wheel (" + python + ")", Job: "wheel", Kind: release.Build, Pool: "linux", Stage: "build-2",
			Needs: []release.TaskID{"lock"}, NeedsArtifacts: []string{"lock.lock"}, Matrix: map[string]string{"python": python},
			Run: "make wheel \"" + python + "\" # {{ }} $HOME", Prepare: "pip install x", Directory: "it's here", TimeoutS: 90.5,
			Retry:   []release.Retry{{Class: release.ClassInfra, Limit: 3}, {Class: release.ClassCommand, Limit: 0}},
			Outputs: []plan.Output{{Type: "wheel", Path: "dist/*.whl"}}, Image: "python:" + python, Tags: []string{"docker"},
			Variables: map[string]string{"CC": "gcc"}, Why: "every build is made; pool linux: os=linux",
		}
	}
	return &plan.Plan{
		Project: "sample", Release: release.ReleasePolicy{Branch: "master", Approvals: 1, RetryBudget: 40}, RetryBudget: 10,
		Change: release.Change{Kind: release.Push, Branch: "master\x1b[31m", Commit: "4f2a9c1d0123456789abcdef0123456789abcdef"},
		Tasks: []plan.Task{
			{ID: "lock", Name: "lock", Job: "lock", Kind: release.Build, Pool: "default", Stage: "build-1", Run: "./lock", Why: "every build is made"},
			wheel("3.12"), wheel("3.13"),
			{
				ID: "unit", Name: "unit", Job: "unit", Kind: release.Test, Pool: "linux", Stage: "test-1", Stable: true, Run: "make unit",
				Needs: []release.TaskID{"wheel-3_12", "wheel-3_13"}, Reports: plan.Reports{JUnit: "reports/*.xml"}, Why: "changed",
			},
			{ID: "odd", Name: "odd \"quoted\"\nname", Job: "odd", Kind: release.Test, Pool: "gpu", Stage: "test-1", Run: "x", SoftFail: true, Why: "why not"},
		},
		Skipped: []plan.Skipped{
			{Name: "wheel (3.10)", Why: "matrix.exclude removes python=3.10"}, {Name: "publish maven", Why: "its condition does not hold"},
		},
		Warnings: []string{"the gate requires gone, which is left out"},
		Gate:     plan.Gate{Builds: true, Tests: []release.TaskID{"unit"}, On: []string{"push"}},
		Targets:  []plan.Target{{Name: "pypi", Kind: "pypi", Select: []string{"wheel"}, When: "branch master is a release branch"}},
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := "testdata/" + name
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got); write it anew with -update if that is right:\n%s", name, diff)
	}
}

func TestForms(t *testing.T) {
	forms := map[string]func(*bytes.Buffer, *plan.Plan) error{
		"sample.txt":  func(b *bytes.Buffer, p *plan.Plan) error { show.Table(b, p); return nil },
		"sample.json": func(b *bytes.Buffer, p *plan.Plan) error { return show.JSON(b, p) },
		"sample.dot":  func(b *bytes.Buffer, p *plan.Plan) error { return show.Dot(b, p) },
		"gitlab.yml":  func(b *bytes.Buffer, p *plan.Plan) error { return show.GitLab(b, p) },
	}
	for name, form := range forms {
		var b bytes.Buffer
		if err := form(&b, sample()); err != nil {
			t.Fatal(err)
		}
		if bytes.ContainsRune(b.Bytes(), '\x1b') {
			t.Errorf("%s lets a name move the terminal's cursor", name)
		}
		golden(t, name, b.String())
	}
}

// TestEmptyPlan shows that a plan without tasks has every form too.
func TestEmptyPlan(t *testing.T) {
	p := &plan.Plan{Project: "x", Tasks: []plan.Task{}, Skipped: []plan.Skipped{{Name: "a", Why: "no run is started"}}, Warnings: []string{}}
	var table, doc, dot, pipeline bytes.Buffer
	show.Table(&table, p)
	if err := show.JSON(&doc, p); err != nil {
		t.Fatal(err)
	}
	if err := show.Dot(&dot, p); err != nil {
		t.Fatal(err)
	}
	if err := show.GitLab(&pipeline, p); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(table.String(), "no run is started") || pipelineOf(t, pipeline.Bytes())["nothing to do"] == nil || !strings.Contains(doc.String(), `"tasks": []`) {
		t.Errorf("an empty plan is printed as\n%s\n%s\n%s", table.String(), doc.String(), pipeline.String())
	}
}

// TestJSONIsTheContract holds the names of DESIGN's contract, which scripts read.
func TestJSONIsTheContract(t *testing.T) {
	var b bytes.Buffer
	if err := show.JSON(&b, sample()); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Tasks []struct {
			ID             string             `json:"id"`
			Needs          []string           `json:"needs"`
			NeedsArtifacts []string           `json:"needs_artifacts"`
			Matrix         map[string]string  `json:"matrix"`
			Variables      map[string]string  `json:"variables"`
			TimeoutS       float64            `json:"timeout_s"`
			Retry          map[string]float64 `json:"retry"`
			Why            string             `json:"why"`
		} `json:"tasks"`
	}
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	got := doc.Tasks[1]
	if got.ID != "wheel-3_12" || got.Retry["infra"] != 3 || got.TimeoutS != 90.5 || got.NeedsArtifacts[0] != "lock.lock" {
		t.Errorf("got %+v", got)
	}
}

// TestDotIsDot asks Graphviz itself, where it is installed.
func TestDotIsDot(t *testing.T) {
	dot, err := exec.LookPath("dot")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("dot is not installed (apt-get install graphviz), and CI runs every test")
		}
		t.Skip("dot is not installed")
	}
	var b bytes.Buffer
	if err := show.Dot(&b, sample()); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), dot, "-Tsvg")
	cmd.Stdin = &b
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("dot does not read it: %v\n%s", err, out)
	}
}
