package pack

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/files"
	"github.com/sluiceci/sluice/pkg/release"
)

// lay makes files in a new directory; a name that ends in "/" is a directory, a text "-> x" a link to x, and "!" before
// a text makes the file executable.
func lay(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o750)
		target, isLink := strings.CutPrefix(text, "-> ")
		text, isProgram := strings.CutPrefix(text, "!")
		switch {
		case strings.HasSuffix(name, "/"):
			err = errors.Join(err, os.MkdirAll(path, 0o700))
		case isLink:
			err = errors.Join(err, os.Symlink(target, path))
		case isProgram:
			err = errors.Join(err, os.WriteFile(path, []byte(text), 0o711))
		default:
			err = errors.Join(err, os.WriteFile(path, []byte(text), 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// look is the opposite of lay.
func look(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		info, err := entry.Info()
		switch {
		case err != nil:
			return err
		case info.IsDir():
			files[name+"/"] = ""
		case info.Mode().Type() == fs.ModeSymlink:
			target, _ := os.Readlink(path)
			files[name] = "-> " + target
		default:
			text, err := os.ReadFile(path)
			if info.Mode()&0o111 != 0 {
				text = append([]byte("!"), text...)
			}
			files[name] = string(text)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func packed(t testing.TB, dir string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Tar(t.Context(), &b, dir); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestRoundTrip(t *testing.T) {
	files := map[string]string{
		"a.txt": "hello", "empty": "", "bin/": "", "bin/run": "!#!/bin/sh\n", "deep/": "", "deep/er/": "", "deep/er/up": "-> ../../a.txt",
		"here": "-> ./a.txt", "dangling": "-> not/there", "dir": "-> deep/er", "hollow/": "", "a b ü\\\n": "odd",
		strings.Repeat("long/", 30): "", strings.Repeat("long/", 30) + strings.Repeat("n", 200): "far down",
	}
	for i := range 30 { // every directory on the way is an entry
		files[strings.Repeat("long/", i+1)] = ""
	}
	dir := t.TempDir()
	if err := Untar(t.Context(), bytes.NewReader(packed(t, lay(t, files))), dir, Limits{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(files, look(t, dir)); diff != "" {
		t.Error(diff)
	}
}

// TestTarCountsFirst: a directory with too many names is refused before they are held in memory.
func TestTarCountsFirst(t *testing.T) {
	root, err := os.OpenRoot(lay(t, map[string]string{"a": "1", "b": "2", "c/d": "3"}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	for most, want := range map[int]bool{3: false, 4: true} {
		if err := count(t.Context(), root, files.Limits{Entries: most}); (err == nil) != want || err != nil && !fault.Is(err, fault.Invalid) {
			t.Errorf("4 entries where %d are allowed: %v", most, err)
		}
	}
	deep := t.TempDir()
	if err := os.MkdirAll(filepath.Join(deep, strings.Repeat("a/", files.MaxDepth+5)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Tar(t.Context(), io.Discard, deep); !fault.Is(err, fault.Invalid) {
		t.Errorf("a directory that is too deep: %v", err)
	}
}

func TestTarIsTheSameForTheSameFiles(t *testing.T) {
	files := map[string]string{"b": "2", "a": "1", "c/d": "!3", "l": "-> c/d"}
	one, two := lay(t, files), lay(t, files)
	old := time.Now().Add(-time.Hour)
	for _, err := range []error{
		os.Chtimes(filepath.Join(two, "a"), old, old),
		os.Chmod(filepath.Join(two, "a"), 0o664),
		os.Chmod(filepath.Join(two, "c"), 0o755),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	got := release.DigestOf(packed(t, one))
	if again := release.DigestOf(packed(t, two)); again != got {
		t.Errorf("digests %s and %s of the same files", got, again)
	}
	// Candidates name directories by this digest: it must not depend on the version of anything.
	if want := release.Digest("sha256:d2684ce0a1485e601e25d5a6e0e165be28a6ef74cea3b80848e75b5f5bc7ff4d"); got != want {
		t.Errorf("digest is %s, want %s", got, want)
	}
}

func TestTarRefuses(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"a link up":              {"l": "-> ../x"},
		"a link up from below":   {"d/l": "-> ../../x"},
		"an absolute link":       {"l": "-> /etc/passwd"},
		"a link down and up":     {"d/e/f": "", "l": "-> d/../../x"},
		"a link over a link":     {"d/e/": "", "d/s": "-> ..", "l": "-> d/s/../x"},
		"a name that is no text": {"\xff\xfe": ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := Tar(t.Context(), io.Discard, lay(t, files))
			if !fault.Is(err, fault.Invalid) {
				t.Errorf("Tar = %v (%s), want an error of kind invalid", err, fault.Of(err))
			}
		})
	}
}

func TestTarRefusesWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Tar(t.Context(), io.Discard, dir); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), `"pipe"`) {
		t.Errorf("Tar of a pipe = %v, want an error that names it", err)
	}
	dir = t.TempDir()
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if err := Tar(t.Context(), io.Discard, dir); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), `"socket"`) {
		t.Errorf("Tar of a socket = %v, want an error that names it", err)
	}
}

func TestTarReturnsTheWritersError(t *testing.T) {
	full := fault.New(fault.Transient, "disk full")
	r, w := io.Pipe()
	_ = r.CloseWithError(full)
	if err := Tar(t.Context(), w, lay(t, map[string]string{"a": "1"})); !errors.Is(err, full) {
		t.Errorf("Tar = %v, want the writer's error", err)
	}
}

func TestStream(t *testing.T) {
	dir := lay(t, map[string]string{"a": strings.Repeat("x", 1<<20)})
	s := Stream(t.Context(), dir)
	got, err := io.ReadAll(s)
	if err := errors.Join(err, s.Close()); err != nil || !bytes.Equal(got, packed(t, dir)) {
		t.Errorf("read %d bytes, %v; want what Tar writes", len(got), err)
	}
	unread := Stream(t.Context(), dir)
	if err := unread.Close(); err != nil { // must end the packing rather than hang
		t.Error(err)
	}
	refused := Stream(t.Context(), lay(t, map[string]string{"l": "-> /"}))
	defer func() { _ = refused.Close() }()
	if _, err := io.ReadAll(refused); !fault.Is(err, fault.Invalid) {
		t.Errorf("read = %v, want the error of Tar", err)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b := packed(t, lay(t, map[string]string{"a": "1"}))
	cancel()
	if err := Tar(ctx, io.Discard, t.TempDir()); !errors.Is(err, context.Canceled) {
		t.Errorf("Tar = %v, want context.Canceled", err)
	}
	if err := Untar(ctx, bytes.NewReader(b), t.TempDir(), Limits{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Untar = %v, want context.Canceled", err)
	}
}

// made writes a tar that Tar never would.
func made(t testing.TB, headers ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len("content"))
		}
		err := w.WriteHeader(&h)
		if h.Typeflag == tar.TypeReg && err == nil {
			_, err = w.Write([]byte("content"))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func file(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644} }

func folder(name string) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeDir, Mode: 0o755}
}

func link(name, target string) tar.Header {
	return tar.Header{Name: name, Linkname: target, Typeflag: tar.TypeSymlink, Mode: 0o777}
}

func hostile() map[string][]tar.Header {
	return map[string][]tar.Header{
		"absolute":                 {file("/etc/passwd")},
		"up":                       {file("../x")},
		"up from below":            {file("a/../../x")},
		"down and up":              {file("a/../x")},
		"doubled slash":            {file("a//x")},
		"no name":                  {file(".")},
		"link up":                  {link("l", "../x")},
		"link far up":              {link("a/l", "../../x")},
		"absolute link":            {link("l", "/etc")},
		"link down and up":         {link("l", "a/../../x")},
		"empty link":               {link("l", "")},
		"file below a link":        {folder("d/"), link("l", "d"), file("l/x")},
		"link below a link":        {folder("d/e/f/"), link("d/e/f/top", "../../.."), link("d/e/f/top/out", "../../../x")},
		"folder over a link":       {folder("d/"), link("l", "d"), folder("l/")},
		"file over a link":         {link("l", "x"), file("l")},
		"file twice":               {file("x"), file("x")},
		"link over a file":         {file("x"), link("x", "y")},
		"file as a folder":         {file("x"), file("x/y")},
		"hard link":                {file("x"), {Name: "y", Linkname: "x", Typeflag: tar.TypeLink}},
		"hard link out":            {{Name: "y", Linkname: "../../etc/passwd", Typeflag: tar.TypeLink}},
		"device":                   {{Name: "null", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}},
		"pipe":                     {{Name: "pipe", Typeflag: tar.TypeFifo}},
		"a name of 5000 bytes":     {file(strings.Repeat("abcdefghi/", 500) + "x")},
		"a path of 200 levels":     {file(strings.Repeat("a/", 200) + "x")},
		"more entries than 10":     {file("1"), file("2"), file("3"), file("4"), file("5"), file("6"), file("7"), file("8"), file("9"), file("10"), file("11")},
		"more bytes than 70 of 10": {file("1"), file("2"), file("3"), file("4"), file("5"), file("6"), file("7"), file("8"), file("9"), file("10"), folder("d/"), file("d/11")},
	}
}

func TestUntarRefuses(t *testing.T) {
	for name, headers := range hostile() {
		t.Run(name, func(t *testing.T) {
			outside := t.TempDir()
			dir := filepath.Join(outside, "a", "b")
			err := Untar(t.Context(), bytes.NewReader(made(t, headers...)), dir, Limits{Entries: 10, Bytes: 70})
			if !fault.Is(err, fault.Invalid) {
				t.Errorf("Untar = %v (%s), want an error of kind invalid", err, fault.Of(err))
			}
			contained(t, outside, dir)
		})
	}
}

// contained fails unless everything below outside lies in dir and no link leads out of it.
func contained(t testing.TB, outside, dir string) {
	t.Helper()
	err := filepath.WalkDir(outside, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		inside := path == dir || strings.HasPrefix(path, dir+"/")
		if !inside && !strings.HasPrefix(dir, path) {
			t.Errorf("%s was written outside of %s", path, dir)
		}
		if entry.Type() == fs.ModeSymlink {
			if to, err := filepath.EvalSymlinks(path); err == nil && to != dir && !strings.HasPrefix(to, dir+"/") {
				t.Errorf("link %s leads to %s", path, to)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestUntarTakesWhatIsHarmless(t *testing.T) {
	b := made(t,
		tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": "4f2a"}, Format: tar.FormatPAX},
		folder("./"), folder("./d/"), file("./d/x"), folder("d/"), file("implied/y"), link("l", "./d//x"))
	dir := t.TempDir()
	if err := Untar(t.Context(), bytes.NewReader(b), dir, Limits{}); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"d/": "", "d/x": "content", "implied/": "", "implied/y": "content", "l": "-> ./d//x"}
	if diff := cmp.Diff(want, look(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func TestUntarReadsToTheEnd(t *testing.T) {
	damaged := fault.New(fault.Internal, "wrong digest")
	r := io.MultiReader(bytes.NewReader(made(t, file("x"))), failing{damaged})
	if err := Untar(t.Context(), r, t.TempDir(), Limits{}); !errors.Is(err, damaged) {
		t.Errorf("Untar = %v, want what the reader says at its end", err)
	}
	cut := made(t, file("x"))[:515]
	if err := Untar(t.Context(), bytes.NewReader(cut), t.TempDir(), Limits{}); !fault.Is(err, fault.Invalid) {
		t.Errorf("Untar of half a tar = %v, want an error of kind invalid", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func FuzzUntar(f *testing.F) {
	for _, headers := range hostile() {
		f.Add(made(f, headers...))
	}
	f.Add(packed(f, lay(f, map[string]string{"a": "1", "b/c": "!2", "l": "-> b/c"})))
	f.Fuzz(func(t *testing.T, b []byte) {
		outside := t.TempDir()
		dir := filepath.Join(outside, "a", "b")
		err := Untar(t.Context(), bytes.NewReader(b), dir, Limits{Bytes: 1 << 20, Entries: 100})
		contained(t, outside, dir)
		if err != nil {
			return
		}
		// What was taken can be packed again: both sides have the same rules.
		if err := Tar(t.Context(), io.Discard, dir); err != nil {
			t.Errorf("Tar of what Untar took: %v", err)
		}
	})
}
