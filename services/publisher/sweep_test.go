package publisher

import (
	"os"
	"path/filepath"
	"testing"
)

// TestSweepLeavesWhatIsInUse: of two files one is of a publisher that lives.
func TestSweepLeavesWhatIsInUse(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	live, err := os.CreateTemp(temp, "publish-")
	check(t, err)
	defer func() { _ = live.Close() }()
	check(t, inUse(live))
	dead := filepath.Join(temp, "publish-dead")
	check(t, os.MkdirAll(filepath.Join(dead, "blobs"), 0o700))
	other := filepath.Join(temp, "somebody-elses")
	check(t, os.WriteFile(other, nil, 0o600))
	if removed := sweep(temp); len(removed) != 1 || removed[0] != dead {
		t.Errorf("removed %v, want %s", removed, dead)
	}
	for _, name := range []string{live.Name(), other} {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
}
