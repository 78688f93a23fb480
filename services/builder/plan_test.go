package builder

import (
	"testing"

	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// TestADefinitionCannotGrantItselfTheRightToPublish is law 7 against somebody who can push a branch.
func TestADefinitionCannotGrantItselfTheRightToPublish(t *testing.T) {
	t.Parallel()
	b := &builder{config: Config{Projects: map[string]Project{"acme/tiny": {ReleaseRefs: []string{"refs/heads/master", "refs/heads/releases/*"}}}}}
	for _, c := range []struct {
		repo, ref, branch string
		policy            release.ReleasePolicy
		want              bool
	}{
		{"acme/tiny", "refs/heads/master", "master", release.ReleasePolicy{Branch: "master"}, true},
		{"acme/tiny", "refs/heads/mine", "mine", release.ReleasePolicy{Branch: "mine"}, false},
		{"acme/tiny", "refs/heads/mine", "mine", release.ReleasePolicy{Branch: "master", Also: []string{"*"}}, false},
		{"acme/tiny", "refs/heads/releases/2.0", "releases/2.0", release.ReleasePolicy{Branch: "master", Also: []string{"releases/*"}}, true},
		{"acme/other", "refs/heads/master", "master", release.ReleasePolicy{Branch: "master"}, false},
		{"acme/tiny", "refs/heads/topic", "topic", release.ReleasePolicy{Branch: "master"}, false},
	} {
		p := &plan.Plan{
			Change: release.Change{Kind: release.Push, Repo: c.repo, Ref: c.ref, Branch: c.branch},
			Trust:  release.TrustRelease, Release: c.policy, Targets: []plan.Target{{Name: "pypi"}},
		}
		b.restrict(p)
		if got, why := p.Release.Allows(p.Change); got != c.want {
			t.Errorf("%s %s with %+v may publish: %v (%s), want %v; warnings %q", c.repo, c.ref, c.policy, got, why, c.want, p.Warnings)
		}
	}
}
