package git_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/git"
	"github.com/sluiceci/sluice/pkg/release"
)

// However many commits were fetched, the next fetch compares a few of them only, and the oldest is still there.
func TestMirrorsStaySmall(t *testing.T) {
	r := newRepo(t)
	dir, ctx := t.TempDir(), deadline(t)
	c, err := git.New(dir, git.Options{})
	if err != nil {
		t.Fatal(err)
	}
	first := r.commit("a", "first")
	if err := c.Fetch(ctx, r.url(), first); err != nil {
		t.Fatal(err)
	}
	mirrors, _ := filepath.Glob(filepath.Join(dir, "*.git"))
	mirror := &repo{t: t, dir: mirrors[0]}
	lost := plant(t, mirror, first)
	last := r.commit("a", "last")
	if err := c.Fetch(ctx, r.url(), last); err != nil {
		t.Fatal(err)
	}
	refs, _ := os.ReadDir(filepath.Join(mirror.dir, "refs/sluice"))
	packs, _ := filepath.Glob(filepath.Join(mirror.dir, "objects/pack/*.pack"))
	if len(refs) > 50 || len(packs) > 10 {
		t.Errorf("%d refs and %d packs are left, expected at most 50 and a few", len(refs), len(packs))
	}
	if err := os.RemoveAll(r.dir); err != nil {
		t.Fatal(err)
	}
	for _, commit := range []release.Commit{first, last} {
		if err := c.Checkout(ctx, r.url(), commit, filepath.Join(t.TempDir(), "w")); err != nil {
			t.Errorf("commit %s: %v", commit, err)
		}
	}
	for _, object := range lost { // no ref leads to it, but a work tree may borrow it
		mirror.git("cat-file", "-e", object)
	}
}

// plant gives a mirror what months of fetches would: packs of objects that no ref leads to, and refs of old commits.
func plant(t *testing.T, mirror *repo, commit release.Commit) (objects []string) {
	for i := range 55 {
		mirror.write("x", fmt.Sprint("content ", i))
		object := mirror.git("hash-object", "-w", "x")
		cmd := exec.Command("git", "pack-objects", "-q", "objects/pack/pack")
		cmd.Dir, cmd.Stdin = mirror.dir, strings.NewReader(object+"\n")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		objects = append(objects, object)
		mirror.write(fmt.Sprintf("refs/sluice/%040x", i+1), string(commit)+"\n")
	}
	mirror.git("prune-packed")
	return objects
}
