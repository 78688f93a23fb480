package git_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/git"
	"github.com/sluiceci/sluice/pkg/release"
)

// repo is a real repository that tests write to.
type repo struct {
	t   testing.TB
	dir string
}

func newRepo(t testing.TB, args ...string) *repo {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("git is not installed")
		}
		t.Skip("git is not installed")
	}
	r := &repo{t: t, dir: t.TempDir()}
	r.git(append([]string{"init", "-q", "-b", "master"}, args...)...)
	return r
}

func (r *repo) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=dev", "GIT_AUTHOR_EMAIL=dev@world.test", "GIT_COMMITTER_NAME=dev", "GIT_COMMITTER_EMAIL=dev@world.test")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r *repo) write(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		r.t.Fatal(err)
	}
}

func (r *repo) commit(name, text string) release.Commit {
	r.t.Helper()
	r.write(name, text)
	r.git("add", "-A")
	r.git("commit", "-q", "-m", name)
	return r.head()
}

func (r *repo) head() release.Commit { return release.Commit(r.git("rev-parse", "HEAD")) }
func (r *repo) url() string          { return "file://" + r.dir }

func newCache(t testing.TB, o git.Options) *git.Cache {
	t.Helper()
	c, err := git.New(t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func deadline(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestReadFile(t *testing.T) {
	r := newRepo(t)
	first := r.commit("sluice.yaml", "project: demo\n")
	if err := os.Symlink("../sluice.yaml", filepath.Join(r.dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("sluice.yaml", filepath.Join(r.dir, "inside")); err != nil {
		t.Fatal(err)
	}
	second := r.commit("dir/file name", "two")
	c, ctx := newCache(t, git.Options{}), deadline(t)
	cases := []struct {
		commit  release.Commit
		path    string
		want    string
		missing bool
		says    string
	}{
		{commit: first, path: "sluice.yaml", want: "project: demo\n"},
		{commit: second, path: "dir/file name", want: "two"},
		{commit: second, path: "inside", want: "project: demo\n"},
		{commit: first, path: "dir/file name", missing: true},
		{commit: first, path: "sluice.yaml/x", missing: true},
		{commit: second, path: "dir", says: "it is a tree"},
		{commit: second, path: "link", says: "it is a symlink"},
		{commit: second, path: "../x", says: "expected a path"},
		{commit: second, path: "a\nb", says: "expected a path"},
	}
	for _, k := range cases {
		got, err := c.ReadFile(ctx, r.url(), k.commit, k.path, 100)
		switch {
		case k.missing && (!errors.Is(err, fs.ErrNotExist) || !fault.Is(err, fault.Invalid)):
			t.Errorf("%s: %v, expected fs.ErrNotExist", k.path, err)
		case k.says != "" && (err == nil || !strings.Contains(err.Error(), k.says)):
			t.Errorf("%s: %v, expected %q", k.path, err, k.says)
		case k.want != "" && (err != nil || string(got) != k.want):
			t.Errorf("%s: %q, %v", k.path, got, err)
		}
	}
	if _, err := c.ReadFile(ctx, r.url(), first, "sluice.yaml", 5); !fault.Is(err, fault.Invalid) {
		t.Errorf("a file over the limit: %v", err)
	}
}

func TestCheckoutIsARepositoryWithoutTheRemote(t *testing.T) {
	r := newRepo(t)
	r.commit("a", "1")
	r.write("bin/run", "#!/bin/sh\n")
	if err := os.Chmod(filepath.Join(r.dir, "bin/run"), 0o755); err != nil {
		t.Fatal(err)
	}
	commit := r.commit("b", "2")
	c, ctx := newCache(t, git.Options{}), deadline(t)
	if err := c.Fetch(ctx, r.url(), commit); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(r.dir); err != nil {
		t.Fatal(err)
	}
	work := &repo{t: t, dir: filepath.Join(t.TempDir(), "work")}
	if err := c.Checkout(ctx, r.url(), commit, work.dir); err != nil {
		t.Fatal(err)
	}
	if status := work.git("status", "--porcelain"); status != "" || work.head() != commit {
		t.Errorf("the work tree is at %s with %q, expected a clean %s", work.head(), status, commit)
	}
	if n := work.git("rev-list", "--count", "HEAD"); n != "2" {
		t.Errorf("the history has %s commits, expected 2", n)
	}
	if info, err := os.Stat(filepath.Join(work.dir, "bin/run")); err != nil || info.Mode()&0o111 == 0 {
		t.Errorf("bin/run is not executable: %v", err)
	}
	if err := c.Checkout(ctx, r.url(), commit, work.dir); !fault.Is(err, fault.Conflict) {
		t.Errorf("a second checkout into the same directory: %v, expected Conflict", err)
	}
	work.commit("c", "3") // the work tree is a repository to work in
}

func TestSHA256Repository(t *testing.T) {
	r := newRepo(t, "--object-format=sha256")
	commit := r.commit("a", "1")
	c, ctx, dir := newCache(t, git.Options{}), deadline(t), filepath.Join(t.TempDir(), "w")
	if err := c.Checkout(ctx, r.url(), commit, dir); err != nil {
		t.Fatal(err)
	}
	if got := (&repo{t: t, dir: dir}).head(); got != commit || len(got) != 64 {
		t.Errorf("checked out %s, expected %s", got, commit)
	}
}

func TestLsRemotePeelsTags(t *testing.T) {
	r := newRepo(t)
	commit := r.commit("a", "1")
	r.git("tag", "light")
	r.git("tag", "-m", "annotated", "v1")
	r.git("branch", "feature/master")
	c, ctx := newCache(t, git.Options{}), deadline(t)
	all, err := c.LsRemote(ctx, r.url())
	if err != nil || len(all) != 4 || all["refs/tags/v1"] != commit || all["refs/heads/master"] != commit {
		t.Errorf("all: %v, %v", all, err)
	}
	one, err := c.LsRemote(ctx, r.url(), "refs/heads/master")
	if err != nil || len(one) != 1 {
		t.Errorf("one: %v, %v", one, err)
	}
	some, err := c.LsRemote(ctx, r.url(), "refs/heads/feature/*", "refs/tags/v*")
	if err != nil || len(some) != 2 || some["refs/tags/v1"] != commit {
		t.Errorf("some: %v, %v", some, err)
	}
}

func TestChangedPathsAndMergeBase(t *testing.T) {
	r := newRepo(t)
	first := r.commit("a", "1")
	r.git("checkout", "-q", "-b", "side")
	side := r.commit("s", "1")
	r.git("checkout", "-q", "master")
	second := r.commit("dir/ü b", "1")
	c, ctx := newCache(t, git.Options{}), deadline(t)
	got, err := c.ChangedPaths(ctx, r.url(), first, second)
	if err != nil || len(got) != 1 || got[0] != "dir/ü b" {
		t.Errorf("changed: %q, %v", got, err)
	}
	if got, err = c.ChangedPaths(ctx, r.url(), "", second); err != nil || len(got) != 2 {
		t.Errorf("all: %q, %v", got, err)
	}
	if base, err := c.MergeBase(ctx, r.url(), side, second); err != nil || base != first {
		t.Errorf("merge base: %s, %v, expected %s", base, err, first)
	}
	r.git("checkout", "-q", "--orphan", "other")
	if base, err := c.MergeBase(ctx, r.url(), r.commit("o", "1"), second); err != nil || base != "" {
		t.Errorf("merge base of strangers: %s, %v", base, err)
	}
}

func TestConcurrentCallersShareOneFetch(t *testing.T) {
	r := newRepo(t)
	commit := r.commit("a", "1")
	dir := t.TempDir()
	count := filepath.Join(t.TempDir(), "count")
	command := counting(t, count)
	ctx := deadline(t)
	var wait sync.WaitGroup
	for range 2 { // two caches over one directory: two processes
		c, err := git.New(dir, git.Options{Command: command})
		if err != nil {
			t.Fatal(err)
		}
		for range 8 {
			wait.Go(func() {
				if err := c.Fetch(ctx, r.url(), commit); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wait.Wait()
	calls, _ := os.ReadFile(count)
	if n := strings.Count(string(calls), "fetch"); n != 1 {
		t.Errorf("%d fetches were made, expected 1:\n%s", n, calls)
	}
}

// counting is a git command that notes what it is called with.
func counting(t *testing.T, file string) string {
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "git")
	script := "#!/bin/sh\necho \"$1\" >>'" + file + "'\nexec '" + real + "' \"$@\"\n"
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}
