package ssh

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/files"
)

// TestTreesHaveLimits: neither a workspace nor a host makes a walk without an end.
func TestTreesHaveLimits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	deep := filepath.Join(dir, strings.Repeat("a/", files.MaxDepth+5))
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := send(t.Context(), io.Discard, dir); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "lie within each other") {
		t.Errorf("a tree that is %d deep is sent with %v", files.MaxDepth+5, err)
	}
	var b bytes.Buffer
	out := tar.NewWriter(&b)
	if err := out.WriteHeader(&tar.Header{Name: strings.Repeat("a/", files.MaxDepth+5), Typeflag: tar.TypeDir, Mode: 0o700}); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	if err := receive(t.Context(), &b, to, nil); err == nil || !strings.Contains(err.Error(), "deep") {
		t.Errorf("a host that sends such a tree gets %v", err)
	}
	if left, _ := os.ReadDir(to); len(left) > 0 {
		t.Errorf("%d entries were written", len(left))
	}
}
