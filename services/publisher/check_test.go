package publisher

import (
	"testing"

	"github.com/sluiceci/sluice/pkg/environment"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// TestAGuardedTargetIsNotAskedBeforehand: nobody's secrets are shown to a server of the definition's choice before a reviewer
// has looked, and never for a change that may not publish there.
func TestAGuardedTargetIsNotAskedBeforehand(t *testing.T) {
	t.Parallel()
	p := &publisher{config: Config{Environments: environment.Rules{
		{Name: "prod", Projects: []string{"one"}, Reviewers: []string{"ada"}, Targets: []string{"pypi"}},
		{Name: "staging", Projects: []string{"one"}, Refs: []string{"refs/heads/master"}, Targets: []string{"test-*"}},
	}}}
	for _, one := range []struct {
		project, ref, target string
		want                 bool
	}{
		{"one", "refs/heads/master", "pypi", true},
		{"one", "refs/heads/master", "test-index", false},
		{"one", "refs/heads/feature", "test-index", true},
		{"one", "refs/heads/feature", "maven", false},
		{"two", "refs/heads/master", "pypi", false},
	} {
		frozen := &plan.Plan{Change: release.Change{Kind: release.Push, Project: one.project, Ref: one.ref}, Trust: release.TrustRelease}
		if got := p.guarded(frozen, plan.Target{Name: one.target}); got != one.want {
			t.Errorf("%+v: guarded %v", one, got)
		}
	}
}
