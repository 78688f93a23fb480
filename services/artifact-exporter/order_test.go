package exporter

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// TestLatestIsOfTheLaterPush: plans are made in any order, and tests take any time. What counts is which change came first.
func TestLatestIsOfTheLaterPush(t *testing.T) {
	t.Parallel()
	dir, path := folder(t)
	w := newWorld(t, dir)
	w.start()
	older, newer := story{change: push("master", "a"), text: "older"}, story{change: push("master", "b"), text: "newer"}
	for _, s := range []story{older, newer} {
		w.say(s.run(), event.ChangeReceived{Change: s.change})
	}
	for _, s := range []story{newer, older} {
		s.plan(w)
	}
	for _, s := range []story{newer, older} {
		s.build(w)
		s.test(w)
		s.open(w)
		s.finish(w)
	}
	w.exported(5) // two candidates, two results, one latest
	if m := readManifest(t, filepath.Join(path, "latest")); m.Run != newer.run() {
		t.Errorf("latest/ leads to the commit of the older push, %s", m.Commit.Short())
	}
}

// TestAFileOfTheSameSizeIsNotTheFile: what is there is read, not measured.
func TestAFileOfTheSameSizeIsNotTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, err := openDestination(DestinationConfig{Name: "dir", URL: "file://" + dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ours := []byte("the tested wheel")
	f := file{digest: release.DigestOf(ours), size: int64(len(ours)), open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(ours)), nil
	}}
	for content, want := range map[string]fault.Kind{"some other bytes": fault.Conflict, string(ours): ""} {
		if err := os.WriteFile(filepath.Join(dir, "demo.whl"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := d.put(t.Context(), "demo.whl", f); fault.Of(err) != want {
			t.Errorf("put over %q = %v, want kind %q", content, err, want)
		}
	}
}
