package driver

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// scratchDirs are empty for every command.
func scratchDirs() []string {
	var list []string
	for _, dir := range []string{"/tmp", "/var/tmp", "/dev/shm"} {
		if real, err := filepath.EvalSymlinks(dir); err == nil && !slices.Contains(list, real) {
			list = append(list, real)
		}
	}
	return list
}

// hidden lists what is hidden, outer directories first.
func hidden(names []string) []string {
	var list []string
	add := func(name string) {
		if real, err := filepath.EvalSymlinks(name); err == nil && real != "/" && !slices.Contains(scratchDirs(), real) {
			list = append(list, real)
		}
	}
	for _, name := range append([]string{"/run"}, names...) {
		add(name)
		for _, dir := range around(name) {
			add(dir)
		}
	}
	slices.SortFunc(list, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) })
	return slices.Compact(list)
}

// around is where a hidden file lies. What replaces the file by a rename replaces what hides it too, so that its directory is
// hidden, and that of the link that leads to it, unless it is one of the system's.
func around(file string) []string {
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return nil
	}
	if info, err := os.Stat(real); err != nil || info.IsDir() {
		return nil
	}
	return slices.DeleteFunc([]string{filepath.Dir(file), filepath.Dir(real)}, systems)
}

// systems reports whether a directory is not one that somebody made for files of their own.
func systems(dir string) bool {
	parts := strings.Split(dir, "/")
	return len(parts) < 3 || slices.Contains([]string{"/var/lib", "/var/cache", "/etc/ssl", "/etc/pki"}, dir) || slices.Contains([]string{"usr", "bin", "sbin", "lib", "lib32", "lib64", "dev", "proc", "sys"}, parts[1])
}
