package show_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/plan/show"
	"github.com/sluiceci/sluice/pkg/release"
)

// altered is the sample after an afternoon's work on its definition.
func altered() *plan.Plan {
	p := sample()
	p.Definition, p.Change.Commit = "sha256:other", "ffffffffffffffffffffffffffffffffffffffff"
	p.Environment, p.Settings = "staging", map[string]string{"tests.gpu": "2"}
	p.Skipped = []plan.Skipped{{Name: "wheel (3.12)", Why: "skipped by /skip wheel (3.12)"}, {Name: "publish maven", Why: "not offered"}, {Name: "docs", Why: "new"}}
	p.Tasks = append(p.Tasks[:1], p.Tasks[2:]...)
	p.Tasks[0].Run = "./lock\n./check"
	p.Tasks[1].TimeoutS = 120
	p.Tasks[1].Retry = []release.Retry{{Class: release.ClassInfra, Limit: 5}}
	p.Tasks[1].Outputs = []plan.Output{{Type: "wheel", Path: "out/*.whl"}, {Type: "log", Path: "*.log"}}
	p.Tasks[1].Variables = map[string]string{"CC": "clang", "A": "b"}
	p.Tasks[1].Tags = []string{"docker", "big"}
	p.Tasks[2].Needs = []release.TaskID{"wheel-3_13"}
	p.Tasks = append(p.Tasks, plan.Task{ID: "new", Name: "new\x1b[31m", Why: "every test is made", Stage: "test-1"})
	p.Gate.Tests = append(p.Gate.Tests, "new")
	p.Targets[0].Options = map[string]string{"url": "https://x.test"}
	return p
}

func TestDiff(t *testing.T) {
	d, err := plan.Compare(sample(), altered())
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	show.Diff(&text, d)
	golden(t, "diff.txt", text.String())
	b, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "diff.json", string(b)+"\n")
	back, err := plan.Compare(altered(), sample())
	if err != nil {
		t.Fatal(err)
	}
	if len(back.Added) != len(d.Removed) || len(back.Removed) != len(d.Added) || len(back.Changed) != len(d.Changed) || len(back.Plan) != len(d.Plan) {
		t.Errorf("backwards it is %+v", back)
	}
	for _, same := range [][2]*plan.Plan{{sample(), sample()}, {altered(), altered()}} {
		var out bytes.Buffer
		d, err := plan.Compare(same[0], same[1])
		show.Diff(&out, d)
		if err != nil || !d.Empty() || d.From != d.To || out.String() != "a run would do the same\n" {
			t.Errorf("a plan differs from itself: %+v, %v", d, err)
		}
	}
}
