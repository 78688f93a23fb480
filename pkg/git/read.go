package git

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// ReadFile returns a file of a commit, which is fetched if need be. A file that is not there gives an error that is
// fs.ErrNotExist; one of more than limit bytes, or no file at all, gives Invalid. Links are followed within the commit.
func (c *Cache) ReadFile(ctx context.Context, url string, commit release.Commit, name string, limit int64) ([]byte, error) {
	if !fs.ValidPath(name) || strings.ContainsFunc(name, func(r rune) bool { return r < 0x20 }) {
		return nil, fault.New(fault.Invalid, "cannot read %q of a commit: expected a path such as \"sluice.yaml\"", name)
	}
	m, err := c.ready(ctx, url, commit)
	if err != nil {
		return nil, err
	}
	object := string(commit) + ":" + name
	out, err := c.run(ctx, call{
		dir: m.path, args: []string{"cat-file", "--batch=%(objecttype) %(objectsize)", "--follow-symlinks"},
		stdin: strings.NewReader(object + "\n"),
	})
	if err != nil {
		return nil, wrap(err, "cannot read %s at commit %s", name, commit.Short())
	}
	return parseObject(out, name, commit, limit)
}

// parseObject reads what cat-file prints: "blob 12", the twelve bytes, and a line feed; or what is the matter.
func parseObject(out []byte, name string, commit release.Commit, limit int64) ([]byte, error) {
	head, rest, _ := bytes.Cut(out, []byte("\n"))
	kind, number, _ := strings.Cut(string(head), " ")
	switch {
	case strings.HasSuffix(string(head), " missing"), kind == "dangling", kind == "notdir":
		return nil, &fault.Error{Kind: fault.Invalid, Err: fmt.Errorf("cannot read %s at commit %s: %w", name, commit.Short(), fs.ErrNotExist)}
	case kind != "blob":
		return nil, fault.New(fault.Invalid, "cannot read %s at commit %s: it is a %s, expected a file", name, commit.Short(), orElse(kind, "nothing"))
	}
	size, err := strconv.ParseInt(number, 10, 64)
	switch {
	case err != nil || size > int64(len(rest)):
		return nil, fault.New(fault.Internal, "cannot read %s at commit %s: git says %q and gives %d bytes", name, commit.Short(), head, len(rest))
	case size > limit:
		return nil, fault.New(fault.Invalid, "cannot read %s at commit %s: it has %d bytes, at most %d are read", name, commit.Short(), size, limit)
	}
	return rest[:size], nil
}

// ChangedPaths lists the files that differ between two commits, both of which are fetched if need be; an empty from
// lists every file of to. For a pull request, from is the MergeBase of its target and its head.
func (c *Cache) ChangedPaths(ctx context.Context, url string, from, to release.Commit) ([]string, error) {
	m, err := c.ready(ctx, url, to)
	if err != nil {
		return nil, err
	}
	args := []string{"ls-tree", "-r", "-z", "--name-only", string(to)}
	if from != "" {
		if _, err := c.ready(ctx, url, from); err != nil {
			return nil, err
		}
		args = []string{"diff-tree", "-r", "-z", "--name-only", "--no-renames", "--no-ext-diff", string(from), string(to)}
	}
	out, err := c.run(ctx, call{dir: m.path, args: args})
	if err != nil {
		return nil, wrap(err, "cannot compare commits %s and %s", from.Short(), to.Short())
	}
	return split(out), nil
}

func split(out []byte) []string {
	var paths []string
	for p := range strings.SplitSeq(string(out), "\x00") {
		if p != "" && path.Clean(p) == p {
			paths = append(paths, p)
		}
	}
	return paths
}

// MergeBase returns the best common ancestor of two commits, both of which are fetched if need be, or "" when they have
// none. A push was forced when MergeBase(before, after) is not before.
func (c *Cache) MergeBase(ctx context.Context, url string, a, b release.Commit) (release.Commit, error) {
	m, err := c.ready(ctx, url, a)
	if err != nil {
		return "", err
	}
	if _, err := c.ready(ctx, url, b); err != nil {
		return "", err
	}
	out, err := c.run(ctx, call{dir: m.path, args: []string{"merge-base", string(a), string(b)}})
	if err != nil && exitCode(err) == 1 {
		return "", nil
	}
	if err != nil {
		return "", wrap(err, "cannot find the common ancestor of %s and %s", a.Short(), b.Short())
	}
	return release.Commit(strings.TrimSpace(string(out))), nil
}
