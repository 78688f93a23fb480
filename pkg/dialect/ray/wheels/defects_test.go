package wheels

import (
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/release"
)

// TestDefect20ABranchMayLookLikeACommit: what the repository has decides, and refs/heads/ says it without a doubt.
func TestDefect20ABranchMayLookLikeACommit(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{c0, "user:" + c0, "https://host/repo.git:" + c0} {
		asked, err := Parse(spec, CI{})
		if err != nil || !asked.Doubt {
			t.Fatalf("%s: %+v, %v", spec, asked, err)
		}
		if got, err := asked.Settle(true, false); err != nil || got.Kind != ByCommit || got.Commit != release.Commit(c0) || got.Doubt {
			t.Errorf("%s, a commit: %+v, %v", spec, got, err)
		}
		if got, err := asked.Settle(false, true); err != nil || got.Kind != ByBranch || got.Repo.Branch != c0 || got.Repo.URL != asked.Repo.URL {
			t.Errorf("%s, a branch: %+v, %v", spec, got, err)
		}
		if _, err := asked.Settle(true, true); err == nil || !strings.Contains(err.Error(), "write refs/heads/"+c0) {
			t.Errorf("%s, both: %v", spec, err)
		}
		if _, err := asked.Settle(false, false); err == nil {
			t.Errorf("%s, neither: found", spec)
		}
	}
	sure, err := Parse("refs/heads/"+c0, CI{})
	if err != nil || sure.Kind != ByBranch || sure.Doubt {
		t.Errorf("refs/heads/: %+v, %v", sure, err)
	}
	if got, err := sure.Settle(true, true); err != nil || got != sure {
		t.Errorf("a ref is doubted: %+v, %v", got, err)
	}
}

// TestDefect21RepositoryAndBranchAreNoURL is H10: the form of Ray's help text does what the help text says.
func TestDefect21RepositoryAndBranchAreNoURL(t *testing.T) {
	t.Parallel()
	got, err := Parse("https://github.com/user/ray.git:feat/x", CI{})
	if err != nil || got.Kind != ByBranch || got.Repo != (Repo{"https://github.com/user/ray.git", "feat/x"}) {
		t.Errorf("%+v, %v", got, err)
	}
}
