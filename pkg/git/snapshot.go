package git

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// Snapshot returns a commit of the working directory that holds dir, as it is now: with uncommitted changes and with
// untracked files that are not ignored. The user's index, refs and HEAD stay as they are; the commit, whose parent is
// HEAD, can be fetched from "file://<top of the work tree>". A clean work tree is HEAD itself, and the same files give
// the same commit.
func (c *Cache) Snapshot(ctx context.Context, dir string) (release.Commit, error) {
	s, err := c.open(ctx, dir)
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(filepath.Dir(s.index)) }()
	commit, err := s.commit(ctx)
	if err != nil {
		return "", wrap(err, "cannot take a snapshot of %s", s.top)
	}
	return commit, nil
}

// TopLevel returns the top of the work tree that holds dir.
func (c *Cache) TopLevel(ctx context.Context, dir string) (string, error) {
	out, err := c.run(ctx, call{dir: dir, own: true, args: []string{"rev-parse", "--show-toplevel"}})
	if err != nil {
		return "", wrap(err, "cannot use %s: expected a directory within a git work tree (git init makes one)", dir)
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

// snapshot is a work tree with an index of its own.
type snapshot struct {
	cache *Cache
	top   string
	index string
}

// open copies the user's index, so that files that have not changed since it was written need not be read.
func (c *Cache) open(ctx context.Context, dir string) (*snapshot, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, fault.New(fault.Invalid, "cannot take a snapshot of %s: expected a directory", dir)
	}
	top, err := c.TopLevel(ctx, dir)
	if err != nil {
		return nil, err
	}
	temporary, err := os.MkdirTemp("", "sluice-snapshot-")
	if err != nil {
		return nil, fault.New(fault.Internal, "cannot take a snapshot of %s: %w", top, err)
	}
	s := &snapshot{cache: c, top: top, index: filepath.Join(temporary, "index")}
	if err := s.copyIndex(ctx); err != nil {
		_ = os.RemoveAll(temporary)
		return nil, err
	}
	return s, nil
}

func (s *snapshot) copyIndex(ctx context.Context) error {
	out, err := s.cache.run(ctx, call{dir: s.top, own: true, args: []string{"rev-parse", "--git-path", "index"}})
	if err != nil {
		return wrap(err, "cannot find the index of %s", s.top)
	}
	path := strings.TrimSuffix(string(out), "\n")
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.top, path)
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nothing was ever added
	}
	if err == nil {
		err = os.WriteFile(s.index, data, 0o600)
	}
	if err != nil {
		return fault.New(fault.Internal, "cannot copy the index of %s: %w", s.top, err)
	}
	return nil
}

// git runs a command on the snapshot's own index. The date is fixed: the same files give the same commit.
func (s *snapshot) git(ctx context.Context, args ...string) (string, error) {
	env := []string{
		"GIT_INDEX_FILE=" + s.index, "GIT_AUTHOR_NAME=sluice", "GIT_AUTHOR_EMAIL=sluice@localhost", "GIT_COMMITTER_NAME=sluice",
		"GIT_COMMITTER_EMAIL=sluice@localhost", "GIT_AUTHOR_DATE=@0 +0000", "GIT_COMMITTER_DATE=@0 +0000",
	}
	out, err := s.cache.run(ctx, call{dir: s.top, own: true, env: env, args: args})
	return string(bytes.TrimSpace(out)), err
}

func (s *snapshot) commit(ctx context.Context) (release.Commit, error) {
	if _, err := s.git(ctx, "add", "--all", "--no-warn-embedded-repo"); err != nil {
		return "", err
	}
	tree, err := s.git(ctx, "write-tree")
	if err != nil {
		return "", err
	}
	args := []string{"commit-tree", "--no-gpg-sign", "-m", "sluice: snapshot of the working directory", tree}
	if head, err := s.git(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"); err == nil {
		if committed, err := s.git(ctx, "rev-parse", "HEAD^{tree}"); err == nil && committed == tree {
			return release.Commit(head), nil
		}
		args = append(args, "-p", head)
	}
	made, err := s.git(ctx, args...)
	return release.Commit(made), err
}
