package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sluiceci/sluice/pkg/files"
)

// cacheStore keeps directories by name, the least recently used go first. An entry is a directory that never changes:
// "<name>.<when it was made>.<bytes>". It appears and disappears in one step, by renaming, so that whoever is killed half
// way leaves nothing that another could take for a whole one. Who reads an entry holds a lock on it.
type cacheStore struct {
	dir string
	mu  sync.Mutex // evicting
}

type cacheEntry struct {
	dir  string
	name string
	made int64
	size int64
	used time.Time
}

const cacheTemporary = "new-"

// openCaches makes the directory and removes what was being written when an earlier executor ended. What another executor
// is writing is locked, or very new.
func openCaches(dir string) (*cacheStore, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	left, err := filepath.Glob(filepath.Join(dir, cacheTemporary+"*"))
	for _, one := range left {
		if info, gone := os.Lstat(one); gone != nil || time.Since(info.ModTime()) < cacheFresh {
			continue
		}
		if lock, busy := lockEntry(one, syscall.LOCK_EX); busy == nil {
			err = errors.Join(err, removeAll(one), lock.Close())
		}
	}
	return &cacheStore{dir: dir}, err
}

// cacheFresh is how old something half written must be to count as left behind.
const cacheFresh = 10 * time.Second

// lay copies the newest entry of a name to a new directory of a root, if there is one.
func (s *cacheStore) lay(ctx context.Context, name string, root *os.Root, to string) (laid bool, err error) {
	for _, entry := range s.entries(name) {
		lock, err := lockEntry(entry.dir, syscall.LOCK_SH)
		if err != nil {
			continue // It was evicted just now.
		}
		err = copyEntry(ctx, entry.dir, root, to)
		now := time.Now()
		_ = os.Chtimes(entry.dir, now, now) // An entry that looks unused is evicted earlier, and no more.
		_ = lock.Close()
		if err != nil {
			return false, errors.Join(err, root.RemoveAll(to))
		}
		return true, nil
	}
	return false, nil
}

func copyEntry(ctx context.Context, entry string, root *os.Root, to string) error {
	source, err := os.OpenRoot(entry)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	if err := root.Mkdir(to, dirMode); err != nil {
		return err
	}
	c := copier{source: source, target: root, below: to}
	return files.Walk(ctx, source, ".", cacheLimits(), c.entry)
}

// fill copies an open directory to a new one, as far as it has no more bytes than it was measured to have.
func fill(ctx context.Context, from *os.Root, to string, limit int64) error {
	if err := os.Mkdir(to, dirMode); err != nil {
		return err
	}
	target, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer func() { _ = target.Close() }()
	c := copier{source: from, target: target, bounded: true, left: limit}
	return files.Walk(ctx, from, ".", cacheLimits(), c.entry)
}

// keep copies a directory of so many bytes into a new entry, then evicts what is too much, older entries of the name first.
func (s *cacheStore) keep(ctx context.Context, name string, from *os.Root, size, limit int64) error {
	if size > limit {
		return fmt.Errorf("it has %d bytes, and all caches together may have %d", size, limit)
	}
	fresh, err := os.MkdirTemp(s.dir, cacheTemporary)
	if err != nil {
		return err
	}
	lock, err := lockEntry(fresh, syscall.LOCK_SH)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	inner := filepath.Join(fresh, "entry")
	if err := fill(ctx, from, inner, limit); err != nil {
		return errors.Join(err, removeAll(fresh))
	}
	final := filepath.Join(s.dir, name+"."+strconv.FormatInt(time.Now().UnixNano(), 10)+"."+strconv.FormatInt(size, 10))
	if err := errors.Join(os.Rename(inner, final), removeAll(fresh)); err != nil {
		return err
	}
	return s.evict(limit)
}

// evict removes older entries of the same name, then the least recently used until the rest fits.
func (s *cacheStore) evict(limit int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	entries := s.entries("")
	slices.SortFunc(entries, func(a, b cacheEntry) int {
		return cmp.Or(b.used.Compare(a.used), cmp.Compare(b.made, a.made))
	})
	newest := map[string]int64{}
	for _, e := range entries {
		newest[e.name] = max(newest[e.name], e.made)
	}
	var total int64
	var failed error
	for _, e := range entries {
		if total += e.size; e.made == newest[e.name] && total <= limit {
			continue
		}
		total -= e.size
		failed = errors.Join(failed, s.remove(e))
	}
	return failed
}

// remove takes an entry away unless somebody reads it; then the next eviction does.
func (s *cacheStore) remove(e cacheEntry) error {
	lock, err := lockEntry(e.dir, syscall.LOCK_EX)
	if err != nil {
		return nil //nolint:nilerr // it is in use, or gone
	}
	defer func() { _ = lock.Close() }()
	trash, err := os.MkdirTemp(s.dir, cacheTemporary)
	if err != nil {
		return err
	}
	return errors.Join(os.Rename(e.dir, filepath.Join(trash, "entry")), removeAll(trash))
}

// lockEntry locks a directory that is still where it was.
func lockEntry(dir string, how int) (*os.File, error) {
	file, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		return nil, err
	}
	held, err := file.Stat()
	if err == nil {
		var there fs.FileInfo
		if there, err = os.Lstat(dir); err == nil && !os.SameFile(held, there) {
			err = fs.ErrNotExist
		}
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// entries lists the entries of a name, or all, the newest first.
func (s *cacheStore) entries(name string) []cacheEntry {
	listed, _ := os.ReadDir(s.dir) // A directory that cannot be read has no caches.
	var list []cacheEntry
	for _, one := range listed {
		e, ok := parseEntry(one.Name())
		if !ok || name != "" && e.name != name {
			continue
		}
		info, err := one.Info()
		if err != nil {
			continue
		}
		e.dir, e.used = filepath.Join(s.dir, one.Name()), info.ModTime()
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b cacheEntry) int { return cmp.Compare(b.made, a.made) })
	return list
}

func parseEntry(name string) (cacheEntry, bool) {
	parts := strings.Split(name, ".")
	if len(parts) != 3 || parts[0] == "" {
		return cacheEntry{}, false
	}
	made, err := strconv.ParseInt(parts[1], 10, 64)
	size, wrong := strconv.ParseInt(parts[2], 10, 64)
	return cacheEntry{name: parts[0], made: made, size: size}, err == nil && wrong == nil && size >= 0
}
