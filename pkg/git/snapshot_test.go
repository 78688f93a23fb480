package git_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/git"
)

func TestSnapshotHoldsWhatIsThereAndTouchesNothing(t *testing.T) {
	r := newRepo(t)
	r.write(".gitignore", "*.log\n")
	r.commit("kept", "1")
	r.commit("gone", "1")
	r.commit("staged", "1")
	c, ctx := newCache(t, git.Options{}), deadline(t)
	if clean, err := c.Snapshot(ctx, r.dir); err != nil || clean != r.head() {
		t.Fatalf("a clean work tree: %s, %v, expected HEAD", clean, err)
	}
	r.write("kept", "2")
	r.write("staged", "2")
	r.git("add", "staged")
	r.write("dir/new", "3")
	r.write("noise.log", "4")
	if err := os.Remove(filepath.Join(r.dir, "gone")); err != nil {
		t.Fatal(err)
	}
	index := filepath.Join(r.dir, ".git/index")
	before, _ := os.ReadFile(index)
	status, refs := r.git("--no-optional-locks", "status", "--porcelain"), r.git("for-each-ref")

	one, err := c.Snapshot(ctx, filepath.Join(r.dir, "dir")) // from within
	if err != nil {
		t.Fatal(err)
	}
	if two, err := c.Snapshot(ctx, r.dir); err != nil || two != one {
		t.Errorf("the same files again: %s, %v, expected %s", two, err, one)
	}
	files := r.git("ls-tree", "-r", "--name-only", string(one))
	if want := ".gitignore\ndir/new\nkept\nstaged"; files != want {
		t.Errorf("the snapshot holds\n%s\nexpected\n%s", files, want)
	}
	after, _ := os.ReadFile(index)
	if !bytes.Equal(before, after) || r.git("--no-optional-locks", "status", "--porcelain") != status || r.git("for-each-ref") != refs {
		t.Error("the snapshot touched the index or the refs")
	}
	work := filepath.Join(t.TempDir(), "w")
	if err := c.Checkout(ctx, r.url(), one, work); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(work, "kept")); err != nil || string(text) != "2" {
		t.Errorf("the checked out snapshot has %q, %v", text, err)
	}
}

func TestSnapshotOfABranchWithoutCommits(t *testing.T) {
	r := newRepo(t)
	r.write("a", "1")
	c, ctx := newCache(t, git.Options{}), deadline(t)
	commit, err := c.Snapshot(ctx, r.dir)
	if err != nil || r.git("ls-tree", "--name-only", string(commit)) != "a" {
		t.Errorf("%s, %v", commit, err)
	}
}

func TestSnapshotOutsideOfAWorkTree(t *testing.T) {
	c, ctx := newCache(t, git.Options{}), deadline(t)
	if _, err := c.Snapshot(ctx, t.TempDir()); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "git init") {
		t.Errorf("%v is %s", err, fault.Of(err))
	}
	if _, err := c.Snapshot(ctx, "/nowhere"); !fault.Is(err, fault.Invalid) {
		t.Errorf("%v is %s", err, fault.Of(err))
	}
}
