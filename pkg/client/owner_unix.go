//go:build unix

package client

import (
	"io/fs"
	"os"
	"syscall"
)

// ownable says that files have owners and modes here.
const ownable = true

// owned reports whether a file is the user's own. The superuser may use anybody's.
func owned(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && (int(stat.Uid) == os.Geteuid() || os.Geteuid() == 0)
}
