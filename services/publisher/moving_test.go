package publisher

import (
	"testing"

	"github.com/sluiceci/sluice/pkg/fault"
)

// TestAMovingTagMayMoveOn is two releases at the same time: the second takes "latest" before the first has looked
// whether it got it. A kill schedule found that the first release then counted as failed.
func TestAMovingTagMayMoveOn(t *testing.T) {
	t.Parallel()
	w := ociWorld(t, false)
	w.target.Options["tags"], w.target.Options["moving_tags"] = "latest", "latest"
	first, second := candidate(t, w.release(t, "one")), candidate(t, w.release(t, "two"))
	for _, r := range []Release{first, second} {
		check(t, w.open(t).Stage(t.Context(), r))
		check(t, w.open(t).Commit(t.Context(), r))
	}
	check(t, w.open(t).Verify(t.Context(), first))
	check(t, w.open(t).Verify(t.Context(), second))
	w.target.Options["moving_tags"] = "other"
	if err := w.open(t).Verify(t.Context(), first); !fault.Is(err, fault.Conflict) {
		t.Fatalf("a tag that must not move names another image: %v, want a conflict", err)
	}
}
