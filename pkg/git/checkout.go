package git

import (
	"context"
	"os"
	"path/filepath"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// Checkout makes dir a work tree of a commit, which is fetched if need be. dir must not exist, or be empty. The work
// tree is a repository of its own, its HEAD detached at the commit, with the whole history and no network needed: it
// borrows the objects of the mirror. Submodules and large files of git-lfs are not fetched.
func (c *Cache) Checkout(ctx context.Context, url string, commit release.Commit, dir string) error {
	m, err := c.ready(ctx, url, commit)
	if err != nil {
		return err
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return fault.New(fault.Invalid, "cannot check out into %q: %w", dir, err)
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return fault.New(fault.Conflict, "cannot check out into %s: it holds %q and more; expected an empty or a new directory", dir, entries[0].Name())
	}
	r, _ := parseURL(url)
	if err := m.workTree(filepath.Join(dir, ".git"), r.url, commit); err != nil {
		return err
	}
	// The index of a new work tree is empty, so this writes every file and looks at none.
	if _, err := c.run(ctx, call{dir: dir, args: []string{"read-tree", "--reset", "-u", string(commit)}}); err != nil {
		return wrap(err, "cannot check out commit %s of %s", commit.Short(), r.url)
	}
	return nil
}

// Objects is the directory whose objects a checkout of a commit borrows. Whoever is to use git in the checkout must be able
// to read it.
func (c *Cache) Objects(url string, commit release.Commit) (string, error) {
	r, err := parseURL(url)
	if err != nil {
		return "", err
	}
	return c.mirror(r, commit).objects(), nil
}

func (m *mirror) objects() string { return filepath.Join(m.path, "objects") }

// workTree lays out a repository that borrows the mirror's objects.
func (m *mirror) workTree(root, url string, commit release.Commit) error {
	config := "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tlogallrefupdates = true\n"
	if m.format == "sha256" {
		config = "[core]\n\trepositoryformatversion = 1\n\tbare = false\n[extensions]\n\tobjectformat = sha256\n"
	}
	config += "[remote \"origin\"]\n\turl = " + quote(url) + "\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[gc]\n\tauto = 0\n"
	return layOut(root, "objects/info", "refs/heads", "refs/tags", "info",
		[2]string{"objects/info/alternates", m.objects() + "\n"},
		[2]string{"config", config},
		[2]string{"HEAD", string(commit) + "\n"},
	)
}

// quote writes a value of git's configuration. URLs hold no control characters.
func quote(s string) string {
	out := []byte{'"'}
	for i := range len(s) {
		if s[i] == '"' || s[i] == '\\' {
			out = append(out, '\\')
		}
		out = append(out, s[i])
	}
	return string(append(out, '"'))
}
