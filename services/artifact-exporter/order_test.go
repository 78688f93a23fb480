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

// TestReleasedFollowsThePublication: an open gate moves latest/, and only a release that every target has moves released/, to the later
// push of two.
func TestReleasedFollowsThePublication(t *testing.T) {
	t.Parallel()
	dir, path := folder(t)
	w := newWorld(t, dir)
	w.start()
	stories := []story{{change: push("master", "a"), text: "first"}, {change: push("master", "b"), text: "second"}, {change: push("master", "c"), text: "third"}}
	for _, s := range stories {
		w.say(s.run(), event.ChangeReceived{Change: s.change})
	}
	for _, s := range stories {
		s.tell(w)
	}
	published := func(s story, round int32) {
		w.say(s.run(), event.ReleasePublished{Round: round, Candidate: release.NewCandidate(s.run(), s.change.Commit, []release.Artifact{s.wheel(w)}).ID})
	}
	w.exported(9) // of each the candidate, the results and latest
	if _, err := os.Lstat(filepath.Join(path, "released")); err == nil {
		t.Fatal("released/ is there, and nothing is published")
	}
	published(stories[1], 2) // after two retries of the publication
	w.exported(10)
	for folder, want := range map[string]story{"latest": stories[2], "released": stories[1]} {
		if m := readManifest(t, filepath.Join(path, folder)); m.Run != want.run() {
			t.Errorf("%s/ leads to %s, want %s", folder, m.Run, want.run())
		}
	}
	published(stories[0], 0)
	published(stories[2], 0)
	w.exported(11) // the first does not take it back
	if m := readManifest(t, filepath.Join(path, "released")); m.Run != stories[2].run() {
		t.Errorf("released/ leads to %s, want %s", m.Run, stories[2].run())
	}
}
