package publisher

import (
	"cmp"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// inUse marks a temporary file or directory as somebody's. The mark dies with its process.
func inUse(file *os.File) error { return unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB) }

// sweep removes what publishers that were killed left among the temporary files: a large image each time would fill the disk.
// What a publisher that lives has marked stays.
func sweep(temp string) (removed []string) {
	left, err := filepath.Glob(filepath.Join(cmp.Or(temp, os.TempDir()), "publish-*"))
	if err != nil {
		return nil
	}
	for _, name := range left {
		file, err := os.Open(name) //nolint:gosec // a name of ours
		if err != nil {
			continue
		}
		if unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil && os.RemoveAll(name) == nil {
			removed = append(removed, name)
		}
		_ = file.Close()
	}
	return removed
}

const (
	halfWritten = 24 * time.Hour     // no file is written for longer
	keptStaged  = 7 * 24 * time.Hour // what was staged and not committed since belongs to a release that failed; a commit stages again
)

// sweepFolder removes what killed publishers left in a directory of a target, and what was staged and never committed.
func sweepFolder(root *os.Root, dir string, now time.Time) {
	entries, err := fs.ReadDir(root.FS(), dir)
	if err != nil {
		return // what writes next says what is wrong
	}
	for _, entry := range entries {
		age := time.Duration(math.MaxInt64)
		switch {
		case strings.HasPrefix(entry.Name(), ".new-"):
			age = halfWritten
		case dir == ".staged":
			age = keptStaged
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() && now.Sub(info.ModTime()) > age {
			_ = root.Remove(path.Join(dir, entry.Name())) // the next write tries again
		}
	}
}
