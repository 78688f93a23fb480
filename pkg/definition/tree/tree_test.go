package tree_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/definition"
	"github.com/sluiceci/sluice/pkg/definition/tree"
	"github.com/sluiceci/sluice/pkg/git"
	"github.com/sluiceci/sluice/pkg/release"
)

// repository makes a repository of files with one commit.
func repository(t *testing.T, files map[string]string) (url string, commit release.Commit, dir string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("git is not installed")
		}
		t.Skip("git is not installed")
	}
	dir = t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var out []byte
	for _, args := range [][]string{{"init", "-q", "-b", "master"}, {"add", "-A"}, {"commit", "-q", "-m", "all"}, {"rev-parse", "HEAD"}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
			"GIT_AUTHOR_NAME=dev", "GIT_AUTHOR_EMAIL=dev@world.test", "GIT_COMMITTER_NAME=dev", "GIT_COMMITTER_EMAIL=dev@world.test")
		var err error
		if out, err = cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return "file://" + dir, release.Commit(strings.TrimSpace(string(out))), dir
}

const push = "4f2a9c1d0123456789abcdef0123456789abcdef"

func jobs(t *testing.T, loader definition.Loader, text string) ([]string, error) {
	t.Helper()
	def, err := definition.Load(t.Context(), "sluice.yaml", []byte(text), definition.Options{Loader: loader})
	if err != nil {
		return nil, err
	}
	p, err := definition.Resolve(def, definition.Request{Change: release.Change{Kind: release.Push, Branch: "master", Commit: push}})
	if err != nil {
		return nil, err
	}
	var out []string
	for _, task := range p.Tasks {
		out = append(out, task.Name)
	}
	return out, nil
}

const own = `project: x
include: ["ci/*.yaml"]
builds: {wheel: {run: make}}
gate: {require: [builds]}
`

// TestIncludesOfACommitAndOfADirectory gives the same definition from both.
func TestIncludesOfACommitAndOfADirectory(t *testing.T) {
	t.Parallel()
	other, at, _ := repository(t, map[string]string{"shared/jobs.yaml": "include: [more.yaml]\nbuilds: {shared: {run: make}}\n", "more.yaml": "builds: {more: {run: make}}\n"})
	url, commit, dir := repository(t, map[string]string{
		"sluice.yaml": own, "ci/b.yaml": "builds: {b: {run: make}}\n", "ci/a.yaml": "tests: {a: {run: make, needs: [wheel]}}\n", "ci/x.txt": "no",
	})
	cache, err := git.New(t.TempDir(), git.Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := own + "" // the definition itself is handed over
	foreign := strings.Replace(text, `["ci/*.yaml"]`, `["ci/*.yaml", {repo: "`+other+`", at: `+string(at)+`, path: shared/jobs.yaml}]`, 1)
	allowed := tree.Git{Cache: cache, URL: url, Commit: commit, Allowed: []string{other}}
	for name, loader := range map[string]definition.Loader{"commit": allowed, "directory": tree.Dir{Root: dir, Other: allowed}} {
		got, err := jobs(t, loader, foreign)
		if err != nil || !slices.Equal(got, []string{"wheel", "b", "shared", "more", "a"}) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	for name, loader := range map[string]definition.Loader{
		"commit": tree.Git{Cache: cache, URL: url, Commit: commit}, "directory": tree.Dir{Root: dir},
	} {
		_, err := jobs(t, loader, foreign)
		var problems definition.Errors
		if !errors.As(err, &problems) || problems[0].Line != 2 || !strings.Contains(err.Error(), "cannot include files of") {
			t.Errorf("%s: a repository that is not allowed gives %v", name, err)
		}
	}
}

// TestNothingLeadsOut keeps links and devices of a directory, and a forge that is away, from being more than they are.
func TestNothingLeadsOut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	secret := filepath.Join(t.TempDir(), "secret.yaml")
	if err := os.WriteFile(secret, []byte("builds: {b: {run: make}}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(dir, "link.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.yaml"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link.yaml", "folder.yaml", "gone.yaml", "*.yaml", "../secret.yaml", secret} {
		_, err := jobs(t, tree.Dir{Root: dir}, strings.Replace(own, "ci/*.yaml", name, 1))
		var problems definition.Errors
		if !errors.As(err, &problems) || problems[0].Line != 2 {
			t.Errorf("%s: %v", name, err)
		}
	}
	cache, err := git.New(t.TempDir(), git.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = definition.Load(ctx, "sluice.yaml", []byte(own), definition.Options{Loader: tree.Git{Cache: cache, URL: "file://" + dir, Commit: push}})
	var problems definition.Errors
	if err == nil || errors.As(err, &problems) {
		t.Errorf("a commit that cannot be had is no problem of the definition: %v", err)
	}
}
