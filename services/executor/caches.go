package executor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/sluiceci/sluice/pkg/files"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// cached is a cache of a task: where it is kept and where it is laid.
type cached struct {
	own      string // name of the entry that is read first, and written
	fallback string // name of the entry that is read when there is none; "" for none
	path     string // below the workspace
	was      string // what it looked like when it was laid; "" when there was none
}

// layCaches lays the task's caches into the workspace. A cache that is not there, or cannot be laid, only costs time. The
// workspace stays open: what the command puts in its place is not looked at when the caches are kept.
func (a *attempt) layCaches(ctx context.Context) error {
	if len(a.task.Caches) == 0 || a.e.config.CacheSize < 0 {
		return nil
	}
	root, err := os.OpenRoot(a.workspace())
	if err != nil {
		return fail(release.ClassInfra, "cannot open the workspace: %w", err)
	}
	a.cacheRoot = root
	for _, one := range a.task.Caches {
		c, err := a.keyOf(ctx, root, one)
		if err != nil {
			return err
		}
		a.caches = append(a.caches, c)
		if err := a.layCache(ctx, root, c); err != nil {
			a.log.note("cannot use cache " + one.Key + ": " + err.Error())
		}
	}
	return nil
}

// keyOf makes the names of a cache's entries: of its key, the content of its files, whose it is, and who may have written it.
func (a *attempt) keyOf(ctx context.Context, root *os.Root, of plan.Cache) (*cached, error) {
	if !filepath.IsLocal(of.Path) || filepath.Clean(of.Path) == "." || of.Key == "" {
		return nil, fail(release.ClassConfig, "cannot cache %q under key %q: expected a path within the workspace and a key", of.Path, of.Key)
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q %q\n", a.plan.Change.Repo, of.Key, filepath.Clean(of.Path))
	for _, glob := range of.Files {
		found, err := matches(ctx, root, glob)
		if err != nil {
			return nil, err
		}
		for _, name := range found {
			if err := hashFile(sum, root, name); err != nil {
				return nil, fail(release.ClassConfig, "cannot make the key of cache %s of file %q: %w", of.Key, name, err)
			}
		}
	}
	content := sum.Sum(nil)
	own, fallback := writers(a.plan)
	c := &cached{own: entryName(content, own), path: path.Clean(filepath.ToSlash(of.Path))}
	if fallback != "" {
		c.fallback = entryName(content, fallback)
	}
	return c, nil
}

// releaseWriters are the runs of changes that may be released: whatever they leave, a release may be made of.
const releaseWriters = "release"

// writers tells by whom the entries were written that a run may read: by runs like itself first, which are those that it
// writes for, and then by releases. A release reads nothing that anything but a release wrote.
func writers(p *plan.Plan) (own, fallback string) {
	if p.Trust == release.TrustRelease {
		return releaseWriters, ""
	}
	trust := p.Trust
	if !trust.Covers(release.TrustTrusted) {
		trust = release.TrustUntrusted
	}
	return fmt.Sprintf("%s %q %q", trust, p.Change.Ref, p.Change.HeadRepo), releaseWriters
}

func entryName(content []byte, writers string) string {
	sum := sha256.Sum256(append(append([]byte(nil), content...), writers...))
	return hex.EncodeToString(sum[:])[:32]
}

func hashFile(sum io.Writer, root *os.Root, name string) error {
	if info, err := root.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil // a directory that the glob fits too
	}
	file, info, err := files.Open(root, name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	fmt.Fprintf(sum, "%q %d\n", name, info.Size())
	_, err = io.Copy(sum, file)
	return err
}

// layCache copies an entry into the workspace: what the task does to it there reaches nobody else.
func (a *attempt) layCache(ctx context.Context, root *os.Root, c *cached) error {
	if _, err := root.Lstat(c.path); err == nil {
		return nil // The commit has something there.
	}
	if parent := path.Dir(c.path); parent != "." {
		if err := root.MkdirAll(parent, 0o755); err != nil {
			return err
		}
	}
	store := a.e.place.caches
	laid, err := store.lay(ctx, c.own, root, c.path)
	if err == nil && !laid && c.fallback != "" {
		laid, err = store.lay(ctx, c.fallback, root, c.path)
	}
	if laid {
		c.was, _, _ = looks(ctx, root, c.path)
	}
	return err
}

// saveCaches keeps what a successful attempt leaves in its caches, unless it is what was there before.
func (a *attempt) saveCaches(ctx context.Context) {
	for _, c := range a.caches {
		if err := a.saveCache(ctx, c); err != nil && !errors.Is(err, fs.ErrNotExist) {
			a.log.note("cannot keep cache " + c.path + ": " + err.Error())
		}
	}
}

func (a *attempt) saveCache(ctx context.Context, c *cached) error {
	now, size, err := looks(ctx, a.cacheRoot, c.path)
	if err != nil || now == c.was {
		return err
	}
	from, err := a.cacheRoot.OpenRoot(c.path)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	return a.e.place.caches.keep(ctx, c.own, from, size, a.e.config.CacheSize)
}

// closeCaches ends the look into the workspace.
func (a *attempt) closeCaches() {
	if a.cacheRoot != nil {
		_ = a.cacheRoot.Close()
	}
}

// looks tells apart what a directory has in it: names, modes, sizes and times; and how much room that takes.
func looks(ctx context.Context, root *os.Root, dir string) (look string, size int64, err error) {
	if info, err := root.Lstat(dir); err != nil || !info.IsDir() {
		return "", 0, fs.ErrNotExist
	}
	var all [sha256.Size]byte // of all names, in whatever order they come
	err = files.Walk(ctx, root, dir, cacheLimits(), func(name string, entry fs.DirEntry) error {
		info, err := root.Lstat(name)
		if err != nil || info.IsDir() {
			return err
		}
		if info.Mode().IsRegular() {
			size += occupied(info)
		}
		one := sha256.Sum256(fmt.Appendf(nil, "%q %s %d %d", name, info.Mode(), info.Size(), info.ModTime().UnixNano()))
		for i := range all {
			all[i] ^= one[i]
		}
		return nil
	})
	return hex.EncodeToString(all[:]), size, err
}

// cacheLimits bound what one cache has in it.
func cacheLimits() files.Limits { return files.Limits{Entries: 500_000} }
