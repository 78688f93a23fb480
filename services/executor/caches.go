package executor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// cached is a cache of a task: where it is kept and where it is laid.
type cached struct {
	name string // of the entry: what the key comes to
	path string // below the workspace
	was  string // what it looked like when it was laid; "" when there was none
}

// layCaches lays the task's caches into the workspace. A cache that is not there, or cannot be laid, only costs time.
func (a *attempt) layCaches(ctx context.Context) error {
	if len(a.task.Caches) == 0 || a.e.config.CacheSize < 0 {
		return nil
	}
	root, err := os.OpenRoot(a.workspace())
	if err != nil {
		return fail(release.ClassInfra, "cannot open the workspace: %w", err)
	}
	defer func() { _ = root.Close() }()
	for _, one := range a.task.Caches {
		c, err := a.keyOf(root, one)
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

// keyOf makes the name of a cache's entry: of its key, the content of its files, whose it is, and whether the change is
// one that may fill what others trust.
func (a *attempt) keyOf(root *os.Root, of plan.Cache) (*cached, error) {
	if !filepath.IsLocal(of.Path) || filepath.Clean(of.Path) == "." || of.Key == "" {
		return nil, fail(release.ClassConfig, "cannot cache %q under key %q: expected a path within the workspace and a key", of.Path, of.Key)
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q %q %t\n", a.plan.Change.Repo, of.Key, filepath.Clean(of.Path), a.plan.Change.Trusted())
	for _, glob := range of.Files {
		found, err := matches(root, glob)
		if err != nil {
			return nil, err
		}
		for _, name := range found {
			if err := hashFile(sum, root, name); err != nil {
				return nil, fail(release.ClassConfig, "cannot make the key of cache %s of file %q: %w", of.Key, name, err)
			}
		}
	}
	return &cached{name: hex.EncodeToString(sum.Sum(nil))[:32], path: filepath.Clean(of.Path)}, nil
}

func hashFile(sum io.Writer, root *os.Root, name string) error {
	info, err := root.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	file, err := root.Open(name)
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
	if parent := filepath.Dir(c.path); parent != "." {
		if err := root.MkdirAll(parent, 0o755); err != nil {
			return err
		}
	}
	to := filepath.Join(a.workspace(), c.path)
	if err := a.e.place.caches.lay(ctx, c.name, to); err != nil {
		return err
	}
	c.was = looks(to)
	return nil
}

// saveCaches keeps what a successful attempt leaves in its caches, unless it is what was there before.
func (a *attempt) saveCaches(ctx context.Context) {
	for _, c := range a.caches {
		from := filepath.Join(a.workspace(), c.path)
		now := looks(from)
		if now == "" || now == c.was {
			continue
		}
		if err := a.e.place.caches.keep(ctx, c.name, from, a.e.config.CacheSize); err != nil {
			a.log.note("cannot keep cache " + c.path + ": " + err.Error())
		}
	}
}

// looks tells apart what a directory has in it: names, modes, sizes and times. "" is a directory that is not there.
func looks(dir string) string {
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return ""
	}
	sum := sha256.New()
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if !info.IsDir() {
			fmt.Fprintf(sum, "%q %s %d %d\n", name, info.Mode(), info.Size(), info.ModTime().UnixNano())
		}
		return nil
	})
	if err != nil {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil))
}
