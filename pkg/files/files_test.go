package files_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/files"
)

// lay makes files, directories ("a/") and links ("a -> b") and opens the directory that has them.
func lay(t testing.TB, names ...string) *os.Root {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		name, target, link := strings.Cut(name, " -> ")
		at := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(at), 0o700)
		switch {
		case link:
			err = errors.Join(err, os.Symlink(target, at))
		case strings.HasSuffix(name, "/"):
			err = errors.Join(err, os.MkdirAll(at, 0o700))
		default:
			err = errors.Join(err, os.WriteFile(at, []byte("x"), 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root
}

func names(found []files.Found) (out []string) {
	for _, f := range found {
		out = append(out, f.Name)
	}
	return out
}

func TestGlob(t *testing.T) {
	t.Parallel()
	root := lay(t, "a.txt", "dist/a.whl", "dist/b.whl", "dist/deep/er/c.whl", "empty/", "real/x.txt", "link -> real", "out -> /etc", "up -> ../..", "odd[1].txt")
	for pattern, want := range map[string]string{
		"dist/*.whl":         "dist/a.whl dist/b.whl",
		"**/*.whl":           "dist/a.whl dist/b.whl dist/deep/er/c.whl",
		"**/**/**/*.whl":     "dist/a.whl dist/b.whl dist/deep/er/c.whl",
		"dist/{a,b}.whl":     "dist/a.whl dist/b.whl",
		"*/*.txt":            "real/x.txt", // no link is followed
		"link/*.txt":         "link/x.txt", // but in the fixed part
		"out":                "out",
		"empty/**":           "empty",
		"dist/**":            "dist dist/a.whl dist/b.whl dist/deep dist/deep/er dist/deep/er/c.whl",
		"gone/*.txt":         "",
		"a.txt/*":            "",
		"gone.txt":           "",
		`odd\[1\].txt`:       "odd[1].txt",
		"dist/./a.whl":       "dist/a.whl",
		"{dist/deep,real}/*": "dist/deep/er real/x.txt",
	} {
		found, err := files.Glob(t.Context(), root, pattern, files.Limits{})
		if got := strings.Join(names(found), " "); err != nil || got != want {
			t.Errorf("%s finds %q, %v; want %q", pattern, got, err, want)
		}
	}
	for _, pattern := range []string{"../*", "/etc/*", "a[", "", "out/*", "up/*"} {
		if found, err := files.Glob(t.Context(), root, pattern, files.Limits{}); err == nil {
			t.Errorf("%q finds %v", pattern, found)
		}
	}
}

// TestManyStarsLookOnce: the time of a pattern with six ** in a tree of 60 directories grew like a power of its depth.
func TestManyStarsLookOnce(t *testing.T) {
	t.Parallel()
	root := lay(t, strings.Repeat("a/", 60))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, pattern := range []string{strings.Repeat("**/", 6) + "zz", strings.Repeat("**/a/", 30) + "zz"} {
		if found, err := files.Glob(ctx, root, pattern, files.Limits{}); len(found) > 0 || err != nil {
			t.Errorf("%s: %v, %v", pattern, found, err)
		}
	}
}

// TestLimits: too much of anything is an error, and a walk ends with its context.
func TestLimits(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 50 {
		many = append(many, fmt.Sprint(i))
	}
	for name, c := range map[string]struct {
		root   *os.Root
		limits files.Limits
	}{
		"entries": {lay(t, many...), files.Limits{Entries: 49}},
		"depth":   {lay(t, strings.Repeat("a/", 6)), files.Limits{Depth: 5}},
	} {
		if _, err := files.Glob(t.Context(), c.root, "**/z", c.limits); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("enough")
		cancel(why)
		if _, err := files.Glob(ctx, c.root, "**/z", files.Limits{}); !errors.Is(err, why) {
			t.Errorf("%s: cancelled, it gives %v", name, err)
		}
	}
}

// TestNoPipeHoldsUp: only plain files are opened, and opening ends.
func TestNoPipeHoldsUp(t *testing.T) {
	t.Parallel()
	root := lay(t, "plain", "dir/")
	pipe := filepath.Join(root.Name(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"plain": "", "pipe": "a named pipe", "dir": "a directory"} {
		file, _, err := files.Open(root, name)
		if err == nil {
			_ = file.Close()
		}
		_, failed := files.ReadPath(filepath.Join(root.Name(), name), 10)
		for _, err := range []error{err, failed} {
			if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	for name, fits := range map[string]bool{"plain": true, "pipe": false, "../plain": false} {
		if text, err := fs.ReadFile(files.FS(root), name); fits != (err == nil && string(text) == "x") {
			t.Errorf("%s is read as %q, %v", name, text, err)
		}
	}
	if entries, err := fs.ReadDir(files.FS(root), "."); err != nil || len(entries) != 3 {
		t.Errorf("%v, %v", entries, err)
	}
	if _, err := files.ReadPath(filepath.Join(root.Name(), "plain"), 0); !fault.Is(err, fault.Invalid) {
		t.Errorf("a file above the limit gives %v", err)
	}
}

// FuzzGlob: whatever the pattern, what is found is what the matcher says of each name, or the pattern is refused.
func FuzzGlob(f *testing.F) {
	for _, s := range []string{"**/*", "a/{b,c}/**", "?", "a/**/d", "[a-c]/*", "**/**/d", "a/b/**", `\a`} {
		f.Add(s)
	}
	all := []string{"a", "a/b", "a/b/d", "a/c", "d"}
	root := lay(f, "a/b/d", "a/c", "d")
	f.Fuzz(func(t *testing.T, pattern string) {
		if len(pattern) > 200 || strings.Count(pattern, "{") > 4 {
			return
		}
		found, err := files.Glob(t.Context(), root, pattern, files.Limits{})
		if err != nil {
			return
		}
		got := names(found)
		for _, name := range all {
			fits, _ := doublestar.Match(filepath.Clean(pattern), name)
			if fits && pattern == name+"/**" && name == "d" {
				continue // the matcher does not know that d is no directory
			}
			if fits != slices.Contains(got, name) {
				t.Fatalf("%q finds %q, and the matcher says %v of %s", pattern, got, fits, name)
			}
		}
	})
}
