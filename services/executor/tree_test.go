package executor

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/files"
)

// TestSizesHaveLimits: a tree that cannot be looked through, or not in time, has no size that anybody relies on.
func TestSizesHaveLimits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), make([]byte, 64<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	if size, err := treeSize(t.Context(), dir, time.Minute); err != nil || size < 64<<10 {
		t.Errorf("a file of 64 KiB takes %d, %v", size, err)
	}
	if _, err := treeSize(t.Context(), dir, time.Nanosecond); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "to count") {
		t.Errorf("out of time: %v", err)
	}
	if err := os.MkdirAll(filepath.Join(dir, strings.Repeat("a/", files.MaxDepth+5)), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := treeSize(t.Context(), dir, time.Minute); !fault.Is(err, fault.Invalid) {
		t.Errorf("a tree that is too deep: %v", err)
	}
	if size, err := treeSize(context.Background(), filepath.Join(dir, "gone"), time.Minute); size != 0 || err != nil {
		t.Errorf("what is gone takes %d, %v", size, err)
	}
}
