package git_test

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/sluiceci/sluice/pkg/git"
	"github.com/sluiceci/sluice/pkg/release"
)

// big is a repository of 2 000 files.
func big(b *testing.B) *repo {
	r := newRepo(b)
	for i := range 2000 {
		r.write(fmt.Sprintf("d%d/f%d", i%50, i), fmt.Sprintf("file %d\n", i))
	}
	r.commit("last", "1")
	return r
}

// BenchmarkCheckout compares a checkout with git's own clone of the mirror, shared and with links.
func BenchmarkCheckout(b *testing.B) {
	r := big(b)
	commit, ctx := r.head(), context.Background()
	c := newCache(b, git.Options{})
	if err := c.Fetch(ctx, r.url(), commit); err != nil {
		b.Fatal(err)
	}
	n := 0
	dir := func() string { n++; return filepath.Join(r.dir, ".git", fmt.Sprint("work", n)) }
	b.Run("cache", func(b *testing.B) {
		for b.Loop() {
			if err := c.Checkout(ctx, r.url(), commit, dir()); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, how := range []string{"--shared", "--local"} {
		b.Run("clone"+how, func(b *testing.B) {
			for b.Loop() {
				if out, err := exec.Command("git", "clone", "-q", how, r.dir, dir()).CombinedOutput(); err != nil {
					b.Fatalf("%v %s", err, out)
				}
			}
		})
	}
}

// BenchmarkFetch compares the fetch of one new commit with git's own.
func BenchmarkFetch(b *testing.B) {
	r, ctx := newRepo(b), context.Background()
	r.commit("a", "0")
	c := newCache(b, git.Options{})
	n := 0
	next := func(b *testing.B) release.Commit {
		b.StopTimer()
		defer b.StartTimer()
		n++
		return r.commit("a", fmt.Sprint(n))
	}
	b.Run("cache", func(b *testing.B) {
		for range b.N {
			if err := c.Fetch(ctx, r.url(), next(b)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("present", func(b *testing.B) {
		head := r.head()
		for range b.N {
			if err := c.Fetch(ctx, r.url(), head); err != nil {
				b.Fatal(err)
			}
		}
	})
	mirror := b.TempDir()
	if out, err := exec.Command("git", "clone", "-q", "--mirror", r.url(), mirror).CombinedOutput(); err != nil {
		b.Fatalf("%v %s", err, out)
	}
	b.Run("git", func(b *testing.B) {
		for range b.N {
			if out, err := exec.Command("git", "-C", mirror, "fetch", "-q", r.url(), string(next(b))).CombinedOutput(); err != nil {
				b.Fatalf("%v %s", err, out)
			}
		}
	})
}
