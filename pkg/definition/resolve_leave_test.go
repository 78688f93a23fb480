package definition_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/definition"
	"github.com/sluiceci/sluice/pkg/release"
)

// TestSkipLeavesOut shows that a skipped task takes along what cannot be made without it, and keeps the run from
// publishing.
func TestSkipLeavesOut(t *testing.T) {
	t.Parallel()
	def, err := definition.Parse("sluice.yaml", []byte(`project: tiny
builds:
  wheel: {matrix: {python: ["3.12", "3.13"]}, run: make, outputs: {wheel: "*.whl"}}
  jar: {run: make}
tests:
  smoke: {needs: [wheel], matrix: {python: ["3.12", "3.13"]}, run: make test}
publish:
  pypi: {artifacts: [wheel]}
`))
	if err != nil {
		t.Fatal(err)
	}
	change := release.Change{Kind: release.Push, Repo: "acme/tiny", Ref: "refs/heads/master", Branch: "master"}
	p, err := definition.Resolve(def, definition.Request{Change: change, Skip: []string{"wheel (3.12)", "jar"}})
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]string{}
	for _, s := range p.Skipped {
		left[s.Name] = s.Why
	}
	want := map[string]string{
		"wheel (3.12)": "skipped by /skip wheel (3.12)", "jar": "skipped by /skip jar",
		"smoke (3.12)": "it needs wheel (3.12), which is left out: skipped by /skip wheel (3.12)",
		"publish pypi": "not offered: a part of the plan is skipped on request",
	}
	for name, why := range want {
		if left[name] != why {
			t.Errorf("%s is left out because %q, expected %q", name, left[name], why)
		}
	}
	if len(p.Tasks) != 2 || len(left) != len(want) || len(p.Targets) != 0 {
		t.Errorf("%d tasks, %d left out, %d targets", len(p.Tasks), len(left), len(p.Targets))
	}
	_, err = definition.Resolve(def, definition.Request{Change: change, Skip: []string{"whel", "[", "jar"}})
	var problems definition.Errors
	if !errors.As(err, &problems) || len(problems) != 2 || !strings.Contains(problems[0].Hint, "wheel") {
		t.Errorf("globs that match nothing give %v", err)
	}
}
