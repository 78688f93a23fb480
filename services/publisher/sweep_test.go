package publisher

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
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

// TestFoldersAreSwept: a write removes what killed publishers left beside it, and what was staged for releases that failed; what is
// young, and what users see, stays.
func TestFoldersAreSwept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := &folder{path: dir}
	old := time.Now().Add(-8 * 24 * time.Hour)
	for name, aged := range map[string]bool{
		"files/.new-old": true, "files/.new-young": false, "files/demo.whl": true, ".staged/old": true, ".staged/young": false, "other/.new-old": true,
	} {
		full := filepath.Join(dir, name)
		check(t, os.MkdirAll(filepath.Dir(full), 0o750))
		check(t, os.WriteFile(full, nil, 0o600))
		if aged {
			check(t, os.Chtimes(full, old, old))
		}
	}
	for _, name := range []string{"files/new.whl", ".staged/new"} {
		check(t, f.write(name, strings.NewReader("x")))
	}
	var left []string
	for _, pattern := range []string{"files/*", "files/.new-*", ".staged/*", "other/.*"} {
		for _, name := range glob(t, dir, pattern) {
			rel, err := filepath.Rel(dir, name)
			check(t, err)
			left = append(left, rel)
		}
	}
	slices.Sort(left)
	want := []string{".staged/new", ".staged/young", "files/.new-young", "files/demo.whl", "files/new.whl", "other/.new-old"}
	if got := slices.Compact(left); !slices.Equal(got, want) {
		t.Errorf("left are %q, want %q", got, want)
	}
}
