package git

import (
	"context"
	"strconv"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// Between lists the commits of a line of history from one that is an ancestor to another, both included, oldest first. Of a
// merge the first parent counts: what it brought is one change of this line. More than most is an error.
func (c *Cache) Between(ctx context.Context, url string, from, to release.Commit, most int) ([]release.Commit, error) {
	m, err := c.ready(ctx, url, to)
	if err != nil {
		return nil, err
	}
	if _, err := c.ready(ctx, url, from); err != nil {
		return nil, err
	}
	out, err := c.run(ctx, call{dir: m.path, args: []string{
		"rev-list", "--first-parent", "--reverse", "--max-count=" + strconv.Itoa(most+1), string(from) + ".." + string(to), "--",
	}})
	if err != nil {
		return nil, wrap(err, "cannot list the commits from %s to %s", from.Short(), to.Short())
	}
	commits := []release.Commit{from}
	for _, line := range strings.Fields(string(out)) {
		commits = append(commits, release.Commit(line))
	}
	if len(commits) > most {
		return nil, fault.New(fault.Invalid, "cannot list the commits from %s to %s: there are more than %d; name closer ones", from.Short(), to.Short(), most)
	}
	base, err := c.run(ctx, call{dir: m.path, args: []string{"merge-base", string(from), string(to)}})
	if err != nil && exitCode(err) != 1 {
		return nil, wrap(err, "cannot list the commits from %s to %s", from.Short(), to.Short())
	}
	if strings.TrimSpace(string(base)) != string(from) {
		return nil, fault.New(fault.Invalid, "cannot list the commits from %s to %s: the first is no ancestor of the second", from.Short(), to.Short())
	}
	return commits, nil
}

// Newest lists the last commits of the line of history that ends in one, newest first, at most n. Of a merge the first parent
// counts.
func (c *Cache) Newest(ctx context.Context, url string, head release.Commit, n int) ([]release.Commit, error) {
	m, err := c.ready(ctx, url, head)
	if err != nil {
		return nil, err
	}
	out, err := c.run(ctx, call{dir: m.path, args: []string{"rev-list", "--first-parent", "--max-count=" + strconv.Itoa(n), string(head), "--"}})
	if err != nil {
		return nil, wrap(err, "cannot list the commits before %s", head.Short())
	}
	var commits []release.Commit
	for _, line := range strings.Fields(string(out)) {
		commits = append(commits, release.Commit(line))
	}
	return commits, nil
}
