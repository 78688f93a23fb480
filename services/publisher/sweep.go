package publisher

import (
	"cmp"
	"os"
	"path/filepath"

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
