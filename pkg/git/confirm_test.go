package git_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/sluiceci/sluice/pkg/git"
	"github.com/sluiceci/sluice/pkg/release"
)

// TestConfirm asks a real repository how a commit stands to its refs, once with each commit unknown to the cache and once
// with a cache that has everything.
func TestConfirm(t *testing.T) {
	for _, single := range []string{"true", "false"} {
		r := newRepo(t)
		r.git("config", "uploadpack.allowAnySHA1InWant", single)
		first := r.commit("a", "1")
		second := r.commit("a", "2")
		r.git("tag", "-a", "-m", "x", "v1", string(second))
		r.git("tag", "light", string(first))
		r.git("tag", "tree", string(first)+"^{tree}")
		r.git("checkout", "-q", "--detach")
		pulled := r.commit("a", "3")
		r.git("update-ref", "refs/pull/9/head", string(pulled))
		r.git("checkout", "-q", "master")
		warm := newCache(t, git.Options{})
		for _, c := range []struct {
			commit release.Commit
			ref    string
			want   git.Standing
		}{
			{second, "refs/heads/master", git.Standing{Head: second, Holds: true}},
			{first, "refs/heads/master", git.Standing{Head: second, Holds: true}},
			{pulled, "refs/heads/master", git.Standing{Head: second}},
			{pulled, "refs/pull/9/head", git.Standing{Head: pulled, Holds: true}},
			{second, "refs/heads/none", git.Standing{}},
			{second, "refs/tags/v1", git.Standing{Head: second, Holds: true}},
			{first, "refs/tags/v1", git.Standing{Head: second, Holds: true}},
			{second, "refs/tags/light", git.Standing{Head: first}},
			{second, "refs/tags/tree", git.Standing{}},
		} {
			for _, cache := range []*git.Cache{newCache(t, git.Options{}), warm} {
				got, err := cache.Confirm(deadline(t), r.url(), c.commit, c.ref)
				if err != nil || got != c.want {
					t.Errorf("%s of %s, single commits %s: %+v %v, want %+v", c.commit.Short(), c.ref, single, got, err, c.want)
				}
			}
		}
		for commit, want := range map[release.Commit][]string{pulled: nil, first: {"refs/heads/master"}} {
			got, err := warm.Branches(deadline(t), r.url(), commit)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("branches of %s: %v %v, want %v", commit.Short(), got, err, want)
			}
		}
	}
}

// TestConfirmAsksAgain holds that no answer is older than the question: a branch that was moved away, removed, or gave way to
// one below its name.
func TestConfirmAsksAgain(t *testing.T) {
	r := newRepo(t)
	first := r.commit("a", "1")
	r.git("branch", "x")
	second := r.commit("a", "2")
	cache := newCache(t, git.Options{})
	confirm := func(commit release.Commit, ref string, want bool) {
		t.Helper()
		got, err := cache.Confirm(deadline(t), r.url(), commit, ref)
		if err != nil || got.Holds != want {
			t.Errorf("%s of %s: %+v %v, want %v", commit.Short(), ref, got, err, want)
		}
	}
	branches := func(commit release.Commit, want ...string) {
		t.Helper()
		got, err := cache.Branches(deadline(t), r.url(), commit)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("branches of %s: %v %v, want %v", commit.Short(), got, err, want)
		}
	}
	confirm(second, "refs/heads/master", true)
	branches(first, "refs/heads/master", "refs/heads/x")
	r.git("reset", "-q", "--hard", string(first))
	confirm(second, "refs/heads/master", false)
	branches(second)
	r.git("branch", "-D", "x")
	r.git("branch", "x/y", string(second))
	confirm(first, "refs/heads/x", false)
	confirm(second, "refs/heads/x/y", true)
	branches(second, "refs/heads/x/y")
}

// TestConfirmTogether asks from many sides at once: none sees the state in which another's question left the mirror.
func TestConfirmTogether(t *testing.T) {
	r := newRepo(t)
	first := r.commit("a", "1")
	r.commit("a", "2")
	cache := newCache(t, git.Options{})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			got, err := cache.Confirm(deadline(t), r.url(), first, "refs/heads/master")
			if err != nil || !got.Holds {
				t.Errorf("%+v %v", got, err)
			}
		})
	}
	all.Wait()
}
