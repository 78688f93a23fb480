package git

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// Fetch makes a commit of the repository at url present in the cache, with its whole history. A commit that is there
// already needs no network; callers that want the same one at the same time share a fetch. refs, such as
// "refs/pull/7/head", are where to look when the remote does not give out single commits; every ref is, after them.
func (c *Cache) Fetch(ctx context.Context, url string, commit release.Commit, refs ...string) error {
	_, err := c.ready(ctx, url, commit, refs...)
	return err
}

// fetch takes the mirror's lock, so whoever waited for it finds the commit there.
func (c *Cache) fetch(ctx context.Context, r remote, m *mirror, commit release.Commit, refs []string) error {
	for _, ref := range refs {
		if err := checkRef(ref); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, c.options.FetchTimeout)
	defer cancel()
	held, unlock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if m.has(commit) {
		return nil
	}
	if err := m.prepare(); err != nil {
		return err
	}
	f := fetching{cache: c, remote: r, mirror: m, commit: commit, call: call{dir: m.path, held: held}}
	if m.may(commit) && f.whole(ctx) {
		return m.whole(commit)
	}
	if err := f.get(ctx, refs); err != nil {
		return err
	}
	f.keep(ctx)
	return m.whole(commit)
}

// fetching is one fetch into a mirror whose lock is held.
type fetching struct {
	cache  *Cache
	remote remote
	mirror *mirror
	commit release.Commit
	call   call
}

// get asks for the commit by name first, which costs least, then for the refs named by the caller, then for all.
func (f fetching) get(ctx context.Context, refs []string) error {
	err := f.ask(ctx, "+"+string(f.commit)+":"+f.mirror.ref(f.commit))
	if err == nil || !errors.Is(err, errNotThere) {
		return f.told(err)
	}
	for _, some := range [][]string{refs, {"refs/*"}} {
		if len(some) == 0 {
			continue
		}
		if err := f.ask(ctx, mirrored(some)...); err != nil && !errors.Is(err, errNotThere) {
			return f.told(err)
		}
		if f.whole(ctx) {
			return nil
		}
	}
	return f.absent()
}

// mirrored are the refspecs that copy refs to where no other ref of the mirror is.
func mirrored(refs []string) []string {
	specs := make([]string, 0, len(refs))
	for _, ref := range refs {
		specs = append(specs, "+"+ref+":"+strings.Replace(ref, "refs/", "refs/remote/", 1))
	}
	slices.Sort(specs)
	return slices.Compact(specs)
}

// ask runs one git fetch.
func (f fetching) ask(ctx context.Context, specs ...string) error {
	return f.askWith(ctx, nil, specs...)
}

func (f fetching) askWith(ctx context.Context, flags []string, specs ...string) error {
	k := f.call
	k.remote = &f.remote
	k.args = append([]string{
		"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--force", "--no-show-forced-updates",
	}, flags...)
	k.args = append(append(k.args, "--", f.remote.url), specs...)
	_, err := f.cache.run(ctx, k)
	if err != nil && ctx.Err() != nil {
		return errors.Join(err, f.mirror.tidy())
	}
	return err
}

// whole reports whether the commit and everything below it are in the mirror already, by way of another ref or of a
// fetch that was killed when all was done but the note.
func (f fetching) whole(ctx context.Context) bool {
	k := f.call
	k.args = []string{"rev-list", "--objects", "--quiet", string(f.commit), "--not", "--all"}
	_, err := f.cache.run(ctx, k)
	return err == nil
}

func (f fetching) told(err error) error {
	if err == nil {
		return nil
	}
	return wrap(err, "cannot fetch commit %s of %s", f.commit.Short(), f.remote.url)
}

// absent is the error for a commit that the remote does not have; see the package comment for its kind.
func (f fetching) absent() error {
	key := f.remote.url + " " + string(f.commit)
	if since := f.cache.sinceMissing(key); since >= f.cache.options.MissingFor {
		return fault.New(fault.Invalid, "cannot fetch commit %s of %s: the remote has had no such commit for %s; it was pushed over, or belongs to another repository",
			f.commit, f.remote.url, since.Round(time.Second))
	}
	return fault.Later(2*time.Second, "cannot fetch commit %s of %s: no ref of the remote leads to it (yet)", f.commit, f.remote.url)
}
