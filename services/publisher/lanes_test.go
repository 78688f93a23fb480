package publisher

import (
	"testing"
	"time"
)

// TestLanes: a step that is asked for again waits for the one that is under way, unless that hangs.
func TestLanes(t *testing.T) {
	t.Parallel()
	l, now := newLanes(2), time.Unix(0, 0)
	leave := l.enter("pypi", "stage", now)
	if leave == nil || l.enter("pypi", "stage", now.Add(hanging-1)) != nil {
		t.Fatal("the same step is made twice at once")
	}
	if l.enter("oci", "stage", now) == nil {
		t.Error("a step of another target waits")
	}
	again := l.enter("pypi", "stage", now.Add(hanging))
	if again == nil {
		t.Fatal("a step that hangs holds up its retry")
	}
	if l.enter("pypi", "verify", now) != nil {
		t.Error("a lane of two took three")
	}
	again()
	leave()
	if l.enter("pypi", "stage", now) == nil || len(l.busy) != 2 {
		t.Errorf("what has ended is still under way: %v", l.busy)
	}
}
