package builder

import (
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/planner"
	"github.com/sluiceci/sluice/pkg/release"
)

const twoTests = `project: tiny
builds:
  wheel: {run: make, outputs: {wheel: "*.whl"}}
tests:
  smoke: {needs: [wheel], run: make test}
  soak: {needs: [wheel], run: make soak}
include: [{stub: suite.txt}]
`

// stub is a dialect that says of which tests it was told that they are jailed.
type stub struct{}

func (stub) Read(plan.Included) (plan.Suite, error) { return stub{}, nil }

func (stub) Tasks(asked plan.Asked) (plan.Imported, error) {
	out := plan.Imported{Tasks: []plan.Task{{ID: "other", Name: "other", Kind: release.Test, Run: "true"}}}
	if why := asked.Jailed["imported"]; why != "" {
		out.Skipped = []plan.Skipped{{Name: "imported", Why: why}}
	}
	return out, nil
}

// planned is the plan of a run that somebody asked for.
func (s *shop) planned(change release.Change) *plan.Plan {
	s.t.Helper()
	s.say(change.RunID(), event.ChangeReceived{Change: change})
	digest := await[event.RunPlanned](s, change.RunID()).Plan
	text, err := blob.ReadAll(s.t.Context(), s.deps.Blobs, digest, planLimit)
	must(s.t, err)
	p, err := plan.Decode(text)
	must(s.t, err)
	return p
}

func skipped(p *plan.Plan) string {
	var out []string
	for _, s := range p.Skipped {
		out = append(out, s.Name+": "+s.Why)
	}
	return strings.Join(out, "\n")
}

// TestJailedTestsAreLeftOut jails tests of a definition and of a suite, until their time is over, somebody frees them, or
// somebody asks for them by name.
func TestJailedTestsAreLeftOut(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.open(Config{Planner: planner.Here{Dialects: map[string]plan.Dialect{"stub": stub{}}}})
	push := s.commit(map[string]string{"sluice.yaml": twoTests, "suite.txt": "x"})
	manual := func(nonce string, parameters map[string]string) release.Change {
		c := push
		c.Kind, c.Nonce, c.Parameters, c.Ref, c.Branch = release.Manual, nonce, parameters, "refs/commits/"+string(push.Commit), ""
		return c
	}
	if p := s.planned(push); len(p.Tasks) != 4 {
		t.Errorf("of a project without a jail it is %+v", p.Tasks)
	}
	until := time.Now().Add(48 * time.Hour).UTC()
	jail := func(test string, number int32, to string, until time.Time) {
		s.say(event.Fleet, event.TestMoved{Project: "tiny", Test: test, Number: number, To: to, Owner: "perf", Until: until})
	}
	jail("soak", 1, "failing", time.Time{})
	jail("soak", 2, "jailed", until)
	jail("smoke", 1, "jailed", time.Now().Add(-time.Hour).UTC())
	jail("imported", 1, "jailed", until)
	s.say(event.Fleet, event.IssueSynced{Project: "tiny", Test: "soak", Intent: "2", Issue: 12},
		event.TestMoved{Project: "another", Test: "smoke", Number: 1, To: "jailed", Until: until})
	got := skipped(s.planned(manual("1", nil)))
	today := time.Now().UTC().Format(time.DateOnly)
	for _, want := range []string{
		"soak: jailed since " + today + ", issue #12, owner perf, until " + until.Format(time.DateOnly),
		"imported: jailed since " + today + ", owner perf, until " + until.Format(time.DateOnly),
	} {
		if !strings.Contains(got, want) {
			t.Errorf("left out are\n%s\nexpected %q", got, want)
		}
	}
	if strings.Contains(got, "smoke:") {
		t.Errorf("a jail that is over, or of another project, counts:\n%s", got)
	}
	if p := s.planned(manual("2", map[string]string{"only": "soak"})); len(p.Tasks) != 2 || len(p.Targets) != 0 {
		t.Errorf("asked for by name it is %+v", p.Tasks)
	}
	jail("soak", 3, "passing", time.Time{})
	if got := skipped(s.planned(manual("3", nil))); strings.Contains(got, "soak") {
		t.Errorf("freed it is left out:\n%s", got)
	}
}

// TestOnlyIsForCommitsOnNoBranch keeps a parameter from taking tests out of a plan that may publish.
func TestOnlyIsForCommitsOnNoBranch(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.open(Config{})
	push := s.commit(map[string]string{"sluice.yaml": simple + "  soak: {needs: [wheel], run: make soak}\n"})
	push.Kind, push.Nonce, push.Parameters = release.Manual, "1", map[string]string{"only": "soak"}
	if p := s.planned(push); len(p.Tasks) != 3 {
		t.Errorf("on a branch it is %+v", p.Tasks)
	}
}
