package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// Standing is what a remote says of one of its refs and a commit.
type Standing struct {
	Head  release.Commit // that the ref leads to now; empty when there is no such ref
	Holds bool           // the commit is the head, or an ancestor of it
}

// Confirm fetches a commit and asks the remote, now, how it stands to a ref. The common case, the head of a branch that was
// just pushed, takes the one git process that fetching the commit takes anyway.
func (c *Cache) Confirm(ctx context.Context, url string, commit release.Commit, ref string) (Standing, error) {
	if !release.ValidRef(ref) {
		return Standing{}, fault.New(fault.Invalid, "cannot ask for ref %q: expected a full name such as \"refs/heads/master\"", ref)
	}
	var out Standing
	err := c.look(ctx, url, commit, ref, func(ctx context.Context, f fetching) (err error) {
		out, err = f.standing(ctx, ref)
		return err
	})
	return out, err
}

// Branches fetches a commit and lists the branches that lead to it at the remote now, by their full names.
func (c *Cache) Branches(ctx context.Context, url string, commit release.Commit) ([]string, error) {
	var out []string
	err := c.look(ctx, url, commit, "refs/heads/*", func(ctx context.Context, f fetching) (err error) {
		out, err = f.branches(ctx)
		return err
	})
	return out, err
}

// look fetches a commit, then asks under the lock of its mirror.
func (c *Cache) look(ctx context.Context, url string, commit release.Commit, ref string, ask func(context.Context, fetching) error) error {
	r, err := parseURL(url)
	if err != nil {
		return err
	}
	if !commit.Valid() {
		return fault.New(fault.Invalid, "cannot fetch commit %q of %s: expected 40 or 64 hexadecimal digits", commit, r.url)
	}
	m := c.mirror(r, commit)
	for range 2 {
		if err := c.locked(ctx, r, m, commit, ask); err != nil || m.has(commit) {
			return err
		}
		if _, err := c.ready(ctx, url, commit, ref); err != nil {
			return err
		}
	}
	return fault.New(fault.Internal, "cannot find commit %s in its git mirror after it was fetched", commit.Short())
}

func (c *Cache) locked(ctx context.Context, r remote, m *mirror, commit release.Commit, ask func(context.Context, fetching) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.options.FetchTimeout)
	defer cancel()
	held, unlock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := m.prepare(); err != nil {
		return err
	}
	return ask(ctx, fetching{cache: c, remote: r, mirror: m, commit: commit, call: call{dir: m.path, held: held}})
}

// standing fetches a ref, and the commit with it when it is not there yet. Each ref has a copy whose name is derived from
// its own: copies with the names themselves would be in each other's way when branch a gives way to branch a/b.
func (f fetching) standing(ctx context.Context, ref string) (Standing, error) {
	name := "refs/confirmed/" + release.Derive("ref", ref)[:16]
	spec := "+" + ref + ":" + name
	err := errNotThere
	if !f.mirror.has(f.commit) {
		if err = f.ask(ctx, spec, "+"+string(f.commit)+":"+f.mirror.ref(f.commit)); err == nil {
			f.keep(ctx)
			err = f.mirror.whole(f.commit)
		}
	}
	if errors.Is(err, errNotThere) { // the commit was there, or the remote lacks one of both or gives out no single commits
		err = f.ask(ctx, spec)
	}
	if errors.Is(err, errNotThere) {
		return Standing{}, nil
	}
	if err != nil {
		return Standing{}, f.told(err)
	}
	if head := f.mirror.copied(name); head == f.commit {
		return Standing{Head: head, Holds: true}, f.mirror.whole(f.commit)
	}
	return f.compare(ctx, name)
}

// compare is standing where the ref leads to another commit, or to a tag object.
func (f fetching) compare(ctx context.Context, name string) (Standing, error) {
	k := f.call
	k.args = []string{"rev-parse", "--verify", "--quiet", name + "^{commit}"}
	out, err := f.cache.run(ctx, k)
	if err != nil && exitCode(err) > 0 {
		return Standing{}, nil // a tag of something else than a commit leads to none
	}
	if err != nil {
		return Standing{}, wrap(err, "cannot find the commit of a ref")
	}
	s := Standing{Head: release.Commit(strings.TrimSpace(string(out)))}
	if !f.mirror.has(f.commit) {
		if !f.whole(ctx) {
			return s, nil
		}
		if err := f.mirror.whole(f.commit); err != nil {
			return s, err
		}
	}
	k.args = []string{"merge-base", "--is-ancestor", string(f.commit), string(s.Head)}
	switch _, err = f.cache.run(ctx, k); {
	case err == nil:
		s.Holds = true
	case exitCode(err) != 1:
		return s, wrap(err, "cannot compare commit %s with the head of a branch", f.commit.Short())
	}
	return s, nil
}

// branches copies every branch of the remote, forgets those that are gone, and lists those that lead to the commit.
func (f fetching) branches(ctx context.Context) ([]string, error) {
	const copies = "refs/branches/"
	if err := f.askWith(ctx, []string{"--prune"}, "+refs/heads/*:"+copies+"*"); err != nil && !errors.Is(err, errNotThere) {
		return nil, f.told(err)
	}
	if !f.mirror.has(f.commit) {
		if !f.whole(ctx) {
			return nil, nil
		}
		if err := f.mirror.whole(f.commit); err != nil {
			return nil, err
		}
	}
	k := f.call
	k.args = []string{"for-each-ref", "--format=%(refname)", "--contains=" + string(f.commit), copies}
	out, err := f.cache.run(ctx, k)
	if err != nil {
		return nil, wrap(err, "cannot find the branches that lead to commit %s", f.commit.Short())
	}
	var refs []string
	for _, name := range strings.Fields(string(out)) {
		refs = append(refs, "refs/heads/"+strings.TrimPrefix(name, copies))
	}
	return refs, nil
}

// copied is the object that a ref of the mirror has. Nothing ever packs the refs: they are files.
func (m *mirror) copied(name string) release.Commit {
	text, err := os.ReadFile(filepath.Join(m.path, filepath.FromSlash(name)))
	if err != nil {
		return ""
	}
	return release.Commit(strings.TrimSpace(string(text)))
}
