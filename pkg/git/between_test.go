package git_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/git"
	"github.com/sluiceci/sluice/pkg/release"
)

func TestBetweenListsOneLineOfHistory(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	var line []release.Commit
	for i := range 3 {
		line = append(line, r.commit("a", strconv.Itoa(i)))
	}
	r.git("checkout", "-q", "-b", "side")
	side := r.commit("b", "side")
	r.git("checkout", "-q", "-")
	line = append(line, r.commit("a", "3"))
	r.git("merge", "-q", "--no-ff", "-m", "merge", "side")
	line = append(line, r.head())
	c := newCache(t, git.Options{})
	got, err := c.Between(deadline(t), r.url(), line[0], line[4], 10)
	if err != nil || !slices.Equal(got, line) {
		t.Fatalf("between are %v (%v), expected %v", got, err, line)
	}
	for what, do := range map[string]func() ([]release.Commit, error){
		"too many":    func() ([]release.Commit, error) { return c.Between(deadline(t), r.url(), line[0], line[4], 3) },
		"backwards":   func() ([]release.Commit, error) { return c.Between(deadline(t), r.url(), line[4], line[0], 10) },
		"no ancestor": func() ([]release.Commit, error) { return c.Between(deadline(t), r.url(), side, line[3], 10) },
	} {
		if got, err := do(); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v, %v", what, got, err)
		}
	}
}
