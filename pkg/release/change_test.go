package release

import "testing"

// TestAPullRequestIsNotTheRunOfItsCommit: whoever opens a pull request from the release branch must not decide, by being planned
// first, that a push of the same commit never publishes.
func TestAPullRequestIsNotTheRunOfItsCommit(t *testing.T) {
	t.Parallel()
	push := Change{Kind: Push, Repo: "acme/tiny", Ref: "refs/heads/master", Branch: "master", Commit: "4f2a9c1d4f2a9c1d4f2a9c1d4f2a9c1d4f2a9c1d"}
	pull := push
	pull.Kind, pull.Ref, pull.Branch, pull.Number, pull.HeadRepo, pull.HeadRef = PullRequest, "refs/pull/7/head", "stable", 7, "acme/tiny", "master"
	other := push
	other.Ref, other.Branch = "refs/heads/stable", "stable"
	tag := push
	tag.Kind, tag.Ref, tag.Branch = Tag, "refs/tags/v1.0", ""
	runs := map[RunID]Change{}
	for _, c := range []Change{push, pull, other, tag} {
		if twin, taken := runs[c.RunID()]; taken {
			t.Errorf("%s %s and %s %s are one run", c.Kind, c.Ref, twin.Kind, twin.Ref)
		}
		runs[c.RunID()] = c
	}
	again := push
	again.Delivery = "another delivery of the same push"
	if again.RunID() != push.RunID() {
		t.Error("a push that is announced twice is two runs")
	}
}
