package publisher

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
)

// rules are what every kind of target must do.
func rules() map[string]func(*testing.T, *world) {
	return map[string]func(*testing.T, *world){
		"a release goes through, and again changes nothing": again,
		"another digest under the same name is a hard stop": otherDigest,
		"a conflict of one item leaves the others alone":    partConflict,
		"a crash anywhere is resumed":                       crashes,
		"a server that fails is understood":                 failures,
		"who may not write learns it beforehand":            readOnly,
		"what was committed can be undone, or nobody says":  undone,
		"a corrupted download is noticed":                   corrupted,
		"nothing outside the candidate is published":        outsider,
		"wrong bytes from the store are never published":    wrongBytes,
	}
}

// TestConformance holds every kind to the rules, each against a real server or directory.
func TestConformance(t *testing.T) {
	t.Parallel()
	for name, build := range worlds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for rule, test := range rules() {
				t.Run(rule, func(t *testing.T) {
					w := build(t)
					w.build = build
					test(t, w)
				})
			}
		})
	}
}

// publish makes all steps with a fresh target each, as after a restart.
func publish(t *testing.T, w *world, r Release) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := w.open(t).Probe(ctx, r); err != nil {
		return err
	}
	for _, step := range []func(Target) func(context.Context, Release) error{
		func(t Target) func(context.Context, Release) error { return t.Stage },
		func(t Target) func(context.Context, Release) error { return t.Commit },
		func(t Target) func(context.Context, Release) error { return t.Verify },
	} {
		if err := step(w.open(t))(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

func again(t *testing.T, w *world) {
	r, ctx := candidate(t, w.release(t, "one")), t.Context()
	probe, err := w.open(t).Probe(ctx, r)
	check(t, err)
	if probe.Present() != 0 || len(probe.Files) < len(r.Items) {
		t.Fatalf("an empty place has %v", probe)
	}
	check(t, w.open(t).Stage(ctx, r))
	if seen := w.visible(t); len(seen) != 0 {
		t.Fatalf("staging made visible: %v", seen)
	}
	check(t, publish(t, w, r))
	seen, writes := w.visible(t), w.state(t)
	if len(seen) < len(r.Items) {
		t.Fatalf("visible after commit: %v", seen)
	}
	for _, item := range r.Items {
		if got, ok := seen[item.Artifact.Name]; ok && got != item.Artifact.Digest {
			t.Fatalf("%s has %s, want %s", item.Artifact.Name, got, item.Artifact.Digest)
		}
	}
	check(t, publish(t, w, r))
	if now := w.state(t); !reflect.DeepEqual(now, writes) {
		t.Fatalf("published again:\n%v\nbefore:\n%v", now, writes)
	}
	if probe, err = w.open(t).Probe(ctx, r); err != nil || probe.Present() != len(probe.Files) {
		t.Fatalf("after all: %v, %v", probe, err)
	}
	once(t, w)
}

// readOnly is a server that answers questions and refuses what is sent. Asking whether it takes anything leaves nothing there.
func readOnly(t *testing.T, w *world) {
	r := candidate(t, w.release(t, "one"))
	empty := Release{Run: r.Run, Project: r.Project, Commit: r.Commit, Branch: r.Branch}
	for _, asked := range []Release{r, empty} {
		check(t, w.open(t).Access(t.Context(), asked))
	}
	if seen := w.visible(t); len(seen) != 0 {
		t.Fatalf("asking made visible: %v", seen)
	}
	if w.front == nil {
		if left := glob(t, w.dir, ".new-*"); len(left) > 0 {
			t.Fatalf("asking left %v", left)
		}
		return
	}
	w.front.set("read-only")
	if _, err := w.open(t).Probe(t.Context(), r); err != nil {
		t.Fatalf("reading is allowed, and the probe failed: %v", err)
	}
	if err := w.open(t).Access(t.Context(), r); !fault.Is(err, fault.Denied) {
		t.Fatalf("writing is not allowed, and the answer was: %v", err)
	}
	w.front.set("429")
	if err := w.open(t).Access(t.Context(), r); !fault.Is(err, fault.Transient) {
		t.Fatalf("the server is busy, and the answer was: %v", err)
	}
}

// state is everything that writing changes: the accepted writes of a server, files with their times of a directory.
func (w *world) state(t *testing.T) any {
	t.Helper()
	if w.front != nil {
		return w.front.writes()
	}
	files := map[string]time.Time{}
	check(t, filepath.WalkDir(w.dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			info, err := os.Stat(name)
			check(t, err)
			files[name] = info.ModTime()
		}
		return err
	}))
	return files
}

// once checks that no file was taken twice.
func once(t *testing.T, w *world) {
	t.Helper()
	if w.received == nil {
		return
	}
	for name, n := range w.received() {
		if n != 1 && !strings.Contains(name, "maven-metadata.xml") {
			t.Errorf("%s was received %d times", name, n)
		}
	}
}

func otherDigest(t *testing.T, w *world) {
	one, two := candidate(t, w.release(t, "one")), candidate(t, w.release(t, "two"))
	check(t, publish(t, w, one))
	seen, before := w.visible(t), w.state(t)
	ctx := t.Context()
	_, probeErr := w.open(t).Probe(ctx, two)
	for step, err := range map[string]error{
		"probe": probeErr, "stage": w.open(t).Stage(ctx, two), "commit": w.open(t).Commit(ctx, two), "verify": w.open(t).Verify(ctx, two),
	} {
		if !fault.Is(err, fault.Conflict) {
			t.Fatalf("%s: %v (%s), want a conflict", step, err, fault.Of(err))
		}
		if strings.Count(err.Error(), "sha256:") < 2 {
			t.Errorf("%s: %v does not name both digests", step, err)
		}
	}
	if now := w.state(t); !reflect.DeepEqual(seen, w.visible(t)) || w.front != nil && !reflect.DeepEqual(now, before) {
		t.Fatalf("a hard stop changed %v to %v", seen, w.visible(t))
	}
}

// partConflict publishes one of several names beforehand with other bytes: the whole target stops before its commit.
func partConflict(t *testing.T, w *world) {
	one, two := w.release(t, "one"), w.release(t, "two")
	if len(one) < 2 {
		return // one item: there are no others
	}
	var name string
	for n := range one {
		name = max(n, name)
	}
	check(t, publish(t, w, candidate(t, map[string][]byte{name: one[name]})))
	seen := w.visible(t)
	if err := w.open(t).Commit(t.Context(), candidate(t, two)); !fault.Is(err, fault.Conflict) {
		t.Fatalf("commit: %v, want a conflict", err)
	}
	if now := w.visible(t); !maps.Equal(now, seen) {
		t.Fatalf("half a release: %v was %v", now, seen)
	}
}

// crashes cuts the publication off after each of its writes in turn, and resumes.
func crashes(t *testing.T, w *world) {
	for n := 1; n < 60; n++ {
		fresh := w.build(t)
		r := candidate(t, fresh.release(t, "one"))
		finished := fresh.crash(t, r, n)
		if err := publish(t, fresh, r); err != nil {
			t.Fatalf("crash %d: resumed: %v", n, err)
		}
		if probe, err := fresh.open(t).Probe(t.Context(), r); err != nil || probe.Present() != len(probe.Files) {
			t.Fatalf("crash %d: %v, %v", n, probe, err)
		}
		once(t, fresh)
		if finished {
			return
		}
	}
	t.Fatal("the publication has no end")
}

func failures(t *testing.T, w *world) {
	if w.front == nil {
		lockedFolder(t, w)
		return
	}
	ctx := t.Context()
	r := candidate(t, w.release(t, "one"))
	check(t, w.open(t).Stage(ctx, r))
	for mode, want := range map[string]fault.Kind{"500": fault.Transient, "429": fault.Transient, "401": fault.Denied, "403": fault.Denied, "hang": fault.Transient} {
		if mode == "hang" {
			w.target.Options["timeout"] = "150ms"
		}
		w.front.set(mode)
		_, probeErr := w.open(t).Probe(ctx, r)
		for step, err := range map[string]error{"probe": probeErr, "commit": w.open(t).Commit(ctx, r), "verify": w.open(t).Verify(ctx, r)} {
			if !fault.Is(err, want) {
				t.Errorf("%s while the server says %s: %v (%s), want %s", step, mode, err, fault.Of(err), want)
			}
			if err != nil && (strings.Contains(err.Error(), secretValue) || strings.Contains(err.Error(), "Basic ") && !strings.Contains(err.Error(), "***")) {
				t.Errorf("%s while %s: a secret in %v", step, mode, err)
			}
			if mode == "429" && fault.RetryAfter(err) != 7*time.Second {
				t.Errorf("%s: wait %s, want the server's 7s", step, fault.RetryAfter(err))
			}
		}
		w.target.Options["timeout"] = "5s"
	}
	w.front.set("")
	if seen := w.visible(t); len(seen) != 0 {
		t.Fatalf("visible: %v", seen)
	}
	check(t, publish(t, w, r))
	once(t, w)
}

// lockedFolder is what a hang is for a directory: another publisher holds it.
func lockedFolder(t *testing.T, w *world) {
	r := candidate(t, w.release(t, "one"))
	unlock, err := (&folder{path: w.dir}).lock(t.Context())
	check(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := w.open(t).Commit(ctx, r); !fault.Is(err, fault.Transient) {
		t.Fatalf("commit while locked: %v, want transient", err)
	}
	unlock()
	check(t, publish(t, w, r))
}

func corrupted(t *testing.T, w *world) {
	r := candidate(t, w.release(t, "one"))
	check(t, publish(t, w, r))
	w.corrupt(t)
	err := w.open(t).Verify(t.Context(), r)
	if !fault.Is(err, fault.Conflict) || strings.Count(err.Error(), "sha256:") < 2 {
		t.Fatalf("verify of a corrupted download: %v (%s), want a conflict with both digests", err, fault.Of(err))
	}
}

func outsider(t *testing.T, w *world) {
	files := w.release(t, "one")
	honest := candidate(t, files)
	other := candidate(t, w.release(t, "two"))
	added := honest
	added.Items = append([]Item(nil), other.Items...)
	renamed := honest
	renamed.Items = append([]Item(nil), honest.Items...)
	renamed.Items[0].Artifact.Name = "x" + renamed.Items[0].Artifact.Name
	forged := other
	forged.Candidate.ID = honest.Candidate.ID
	for how, r := range map[string]Release{"another digest": added, "another name": renamed, "a changed candidate": forged} {
		target, ctx := w.open(t), t.Context()
		_, probeErr := target.Probe(ctx, r)
		for step, err := range map[string]error{"probe": probeErr, "stage": target.Stage(ctx, r), "commit": target.Commit(ctx, r), "verify": target.Verify(ctx, r)} {
			if !fault.Is(err, fault.Denied) {
				t.Errorf("%s of %s: %v, want denied", step, how, err)
			}
		}
	}
	if w.front != nil && len(w.front.writes()) > 0 {
		t.Errorf("written: %v", w.front.writes())
	}
}

func wrongBytes(t *testing.T, w *world) {
	r := candidate(t, w.release(t, "one"))
	for i := range r.Items {
		open := r.Items[i].Open
		r.Items[i].Open = func(ctx context.Context) (io.ReadCloser, error) {
			rc, err := open(ctx)
			if err != nil {
				return nil, err
			}
			b, err := io.ReadAll(rc)
			b[len(b)-1] ^= 1
			return io.NopCloser(bytes.NewReader(b)), err
		}
	}
	for step, err := range map[string]error{"stage": w.open(t).Stage(t.Context(), r), "commit": w.open(t).Commit(t.Context(), r)} {
		if !fault.Is(err, fault.Denied) {
			t.Errorf("%s: %v (%s), want denied", step, err, fault.Of(err))
		}
	}
	if seen := w.visible(t); len(seen) > 0 {
		t.Fatalf("visible: %v", seen)
	}
}

var errCrash = errors.New("crash")

// crash publishes until the n-th write; finished means that there were fewer.
func (w *world) crash(t *testing.T, r Release, n int) (finished bool) {
	if w.front == nil {
		return w.crashFolder(t, r, n)
	}
	return w.crashServer(t, r, n)
}

// crashServer lets the connection die after the n-th write that the server accepts.
func (w *world) crashServer(t *testing.T, r Release, n int) (finished bool) {
	w.front.die(n)
	err := publish(t, w, r)
	w.front.die(0)
	if err != nil && !fault.Is(err, fault.Transient) {
		t.Fatalf("the connection died after write %d: %v (%s), want transient", n, err, fault.Of(err))
	}
	return err == nil
}

// crashFolder stops before the n-th change of the directory.
func (w *world) crashFolder(t *testing.T, r Release, n int) (finished bool) {
	left := n
	stop := func(string, string) error {
		if left--; left <= 0 {
			return errCrash
		}
		return nil
	}
	target := w.open(t)
	switch inner := target.(guarded).target.(type) {
	case *pypiIndex:
		inner.folder.before = stop
	case *maven:
		inner.store.(mavenFolder).folder.before = stop
	}
	err := target.Stage(t.Context(), r)
	if err == nil {
		err = target.Commit(t.Context(), r)
	}
	if err != nil && !errors.Is(err, errCrash) {
		t.Fatal(err)
	}
	return err == nil
}
