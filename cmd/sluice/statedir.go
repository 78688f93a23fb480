package main

import (
	"fmt"
	"os"
	"slices"
)

// stateEntries are what a Sluice keeps in its directory: one of them tells that a directory is a Sluice's own.
func stateEntries() []string {
	return []string{"nats", "git", "blobs", "executors", "published", "identity", "reporter.db", "connection.json"}
}

// makeStateDir makes the directory of everything that a Sluice keeps, for its own account only. One that is there already,
// as systemd makes it, is closed to others; one that holds other things is not touched.
func makeStateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("cannot make the state directory: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("cannot use state directory %s: %w", dir, err)
	}
	mode := info.Mode().Perm()
	if mode&0o077 == 0 {
		return nil
	}
	ours, err := ownState(dir)
	if err == nil && ours {
		err = os.Chmod(dir, 0o700)
	}
	switch {
	case err != nil:
		return fmt.Errorf("cannot use state directory %s: its mode is %#o, so other accounts can read what it keeps, and it cannot be changed: %w; "+
			"as its owner run: chmod 700 %[1]s", dir, mode, err)
	case !ours:
		return fmt.Errorf("cannot use state directory %s: its mode is %#o, so other accounts could read what it keeps, and it holds other things; "+
			"name a directory of its own with --dir, or run: chmod 700 %[1]s", dir, mode)
	}
	return nil
}

// ownState reports whether a directory holds nothing, or what a Sluice keeps.
func ownState(dir string) (bool, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false, err
	}
	return len(entries) == 0 || slices.ContainsFunc(entries, func(e os.DirEntry) bool { return slices.Contains(stateEntries(), e.Name()) }), nil
}

// writePrivate writes a file that its owner alone can read, whatever stood there before.
func writePrivate(name string, text []byte) error {
	next := name + ".new"
	if err := os.Remove(next); err != nil && !os.IsNotExist(err) {
		return err
	}
	if err := os.WriteFile(next, text, 0o600); err != nil {
		return err
	}
	return os.Rename(next, name)
}
