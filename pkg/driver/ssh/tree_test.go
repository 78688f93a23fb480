package ssh

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func tarOf(t testing.TB, headers ...*tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		if h.Typeflag == tar.TypeReg {
			h.Size = 4
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			_, _ = w.Write([]byte("evil"))
		}
	}
	_ = w.Close()
	return b.Bytes()
}

func TestTreesComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), t.TempDir()
	old := time.Unix(1_000_000_000, 0)
	for name, mode := range map[string]os.FileMode{"a/b/run": 0o755, "a/plain": 0o640, "readonly": 0o444} {
		file := filepath.Join(from, name)
		_ = os.MkdirAll(filepath.Dir(file), 0o755)
		if err := os.WriteFile(file, []byte(name), mode); err != nil {
			t.Fatal(err)
		}
		_ = os.Chtimes(file, old, old)
	}
	_ = os.Symlink("../../outside", filepath.Join(from, "a", "link"))
	_ = os.WriteFile(filepath.Join(to, "mine"), nil, 0o600)
	_ = os.WriteFile(filepath.Join(to, "deleted-there"), nil, 0o600)
	_ = os.MkdirAll(filepath.Join(to, "readonly"), 0o755) // a directory before

	var b bytes.Buffer
	if _, err := send(t.Context(), &b, from); err != nil {
		t.Fatal(err)
	}
	if err := receive(t.Context(), &b, to, names{"deleted-there": {}, "a": {}}); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"a/b/run": 0o755, "a/plain": 0o640, "readonly": 0o444, "mine": 0o600} {
		info, err := os.Stat(filepath.Join(to, name))
		if err != nil || info.Mode() != mode || name != "mine" && !info.ModTime().Equal(old) {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if target, err := os.Readlink(filepath.Join(to, "a", "link")); target != "../../outside" {
		t.Errorf("the link leads to %q, %v", target, err)
	}
	if _, err := os.Stat(filepath.Join(to, "deleted-there")); err == nil {
		t.Error("what the command deleted is still there")
	}
}

func TestHostsCannotWriteElsewhere(t *testing.T) {
	t.Parallel()
	for name, headers := range map[string][]*tar.Header{
		"above":           {{Name: "../x", Typeflag: tar.TypeReg, Mode: 0o644}},
		"absolute":        {{Name: "/tmp/x", Typeflag: tar.TypeReg, Mode: 0o644}},
		"through a link":  {{Name: "l", Typeflag: tar.TypeSymlink, Linkname: ".."}, {Name: "l/x", Typeflag: tar.TypeReg, Mode: 0o644}},
		"a hard link out": {{Name: "x", Typeflag: tar.TypeLink, Linkname: "../secret"}},
	} {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			dir := filepath.Join(parent, "dir")
			_ = os.Mkdir(dir, 0o755)
			_ = os.WriteFile(filepath.Join(parent, "secret"), []byte("secret"), 0o600)
			if err := receive(t.Context(), bytes.NewReader(tarOf(t, headers...)), dir, nil); err == nil {
				t.Error("it is no error")
			}
			if entries, _ := os.ReadDir(parent); len(entries) != 2 {
				t.Errorf("outside there is %v", entries)
			}
		})
	}
	dir := t.TempDir()
	odd := tarOf(t, &tar.Header{Name: "pipe", Typeflag: tar.TypeFifo}, &tar.Header{Name: "disk", Typeflag: tar.TypeBlock})
	if err := receive(t.Context(), bytes.NewReader(odd), dir, nil); err != nil {
		t.Errorf("pipes and devices are left out, but %v", err)
	}
}

func FuzzReceive(f *testing.F) {
	f.Add(tarOf(f, &tar.Header{Name: "a/b", Typeflag: tar.TypeReg, Mode: 0o644}, &tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "/"}))
	f.Add([]byte("no tar"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		parent := t.TempDir()
		dir := filepath.Join(parent, "dir")
		_ = os.Mkdir(dir, 0o755)
		_ = receive(t.Context(), bytes.NewReader(stream), dir, nil)
		if entries, _ := os.ReadDir(parent); len(entries) != 1 {
			t.Errorf("outside there is %v", entries)
		}
	})
}

func FuzzVerdict(f *testing.F) {
	for _, line := range []string{"0 0 12", "gone", "lost 0 3", "-1 0 0", "0 0 99999999999999999999"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		v, err := parseVerdict(line)
		if err == nil && (v.size < 0 || v.hunted < 0) {
			t.Errorf("%q is %+v", line, v)
		}
		if got := readVerdict(strings.NewReader("sh: a complaint\n" + line + "\n")); !strings.Contains(line, "\n") && (got == nil) != (err != nil) {
			t.Errorf("%q is %v, %v", line, got, err)
		}
	})
}
