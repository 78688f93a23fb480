package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestStateDirIsPrivate(t *testing.T) {
	for _, one := range []struct {
		name  string
		entry string // in it already
		mode  os.FileMode
		want  string
	}{
		{"as systemd makes it", "", 0o755, ""},
		{"of an earlier start", "nats", 0o755, ""},
		{"open to a group", "blobs", 0o750, ""},
		{"private", "photos", 0o700, ""},
		{"somebody's things", "photos", 0o755, "it holds other things; name a directory of its own with --dir, or run: chmod 700 "},
	} {
		t.Run(one.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "state")
			must(t, os.Mkdir(dir, 0o700))
			if one.entry != "" {
				must(t, os.Mkdir(filepath.Join(dir, one.entry), 0o755))
			}
			must(t, os.Chmod(dir, one.mode))
			err := makeStateDir(dir)
			info, statErr := os.Stat(dir)
			must(t, statErr)
			switch {
			case one.want == "" && (err != nil || info.Mode().Perm() != 0o700):
				t.Errorf("mode %o, %v", info.Mode().Perm(), err)
			case one.want != "" && (err == nil || !strings.Contains(err.Error(), one.want) || info.Mode().Perm() != one.mode):
				t.Errorf("mode %o, %v", info.Mode().Perm(), err)
			}
		})
	}
}

func TestConnectionFileIsPrivate(t *testing.T) {
	name := filepath.Join(t.TempDir(), "connection.json")
	must(t, os.WriteFile(name, []byte("old"), 0o644))
	must(t, writePrivate(name, []byte("new")))
	info, err := os.Stat(name)
	if text, _ := os.ReadFile(name); err != nil || info.Mode().Perm() != 0o600 || string(text) != "new" {
		t.Errorf("mode %v, %q, %v", info.Mode(), text, err)
	}
}
