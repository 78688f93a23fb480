package publisher

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

type tarEntry struct {
	name, text, link string
	kind             byte
}

func archiveOf(t testing.TB, entries ...tarEntry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		if e.kind == 0 {
			e.kind = tar.TypeReg
		}
		if err := w.WriteHeader(&tar.Header{Name: e.name, Linkname: e.link, Typeflag: e.kind, Mode: 0o644, Size: int64(len(e.text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestHostileLayouts(t *testing.T) {
	t.Parallel()
	blob := func(text string) string { return "blobs/sha256/" + release.DigestOf([]byte(text)).Hex() }
	descriptor := func(text string) string {
		return `{"mediaType":"application/vnd.oci.image.manifest.v1+json","size":1,"digest":"` + string(release.DigestOf([]byte(text))) + `"}`
	}
	index := func(manifests ...string) string {
		return `{"schemaVersion":2,"manifests":[` + strings.Join(manifests, ",") + `]}`
	}
	for name, c := range map[string]struct {
		archive []byte
		want    string // part of the error; empty for none
	}{
		"right":                {archiveOf(t, tarEntry{name: "index.json", text: index(descriptor("{}"))}, tarEntry{name: "./" + blob("{}"), text: "{}"}), ""},
		"extra files":          {archiveOf(t, tarEntry{name: "index.json", text: index(descriptor("{}"))}, tarEntry{name: blob("{}"), text: "{}"}, tarEntry{name: "../../evil", text: "x"}, tarEntry{name: "/evil", text: "x"}), ""},
		"not a tar":            {[]byte(strings.Repeat("hello", 200)), "expected a tar of an OCI image layout"},
		"empty":                {archiveOf(t), "no index.json"},
		"docker's format":      {archiveOf(t, tarEntry{name: "manifest.json", text: "[]"}), "no index.json"},
		"index is a link":      {archiveOf(t, tarEntry{name: "index.json", kind: tar.TypeSymlink, link: "/etc/passwd"}), "no index.json"},
		"blobs is a link":      {archiveOf(t, tarEntry{name: "blobs", kind: tar.TypeSymlink, link: "/tmp"}, tarEntry{name: "index.json", text: index(descriptor("{}"))}), "which the archive does not have"},
		"wrong blob":           {archiveOf(t, tarEntry{name: "index.json", text: index(descriptor("{}"))}, tarEntry{name: blob("{}"), text: "[]"}), "has digest"},
		"no manifest":          {archiveOf(t, tarEntry{name: "index.json", text: index()}), "names 0 images"},
		"two without platform": {archiveOf(t, tarEntry{name: "index.json", text: index(descriptor("a"), descriptor("b"))}), "names 2 images"},
		"bad digest":           {archiveOf(t, tarEntry{name: "index.json", text: index(`{"digest":"sha256:../../../../etc/passwd"}`)}), "cannot read index.json"},
		"bad JSON":             {archiveOf(t, tarEntry{name: "index.json", text: "{"}), "cannot read index.json"},
	} {
		t.Run(name, func(t *testing.T) {
			r := candidate(t, map[string][]byte{"app.oci.tar": c.archive})
			temp := t.TempDir()
			err := unpacked(t.Context(), temp, r.Items[0], false, func(imageLayout) error { return nil })
			if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || !fault.Is(err, fault.Invalid)) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if left, _ := os.ReadDir(temp); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestLayoutLargerThanItsArchive is a sparse file: a small archive that would fill the disk.
func TestLayoutLargerThanItsArchive(t *testing.T) {
	t.Parallel()
	b := archiveOf(t, tarEntry{name: "index.json", text: strings.Repeat(" ", 4096)})
	err := unpackLayout(bytes.NewReader(b), t.TempDir(), release.Artifact{Name: "app.tar", Size: 1024}, false)
	if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "larger than the archive") {
		t.Fatalf("%v", err)
	}
}

func FuzzLayout(f *testing.F) {
	f.Add(archiveOf(f, tarEntry{name: "index.json", text: `{"manifests":[{"digest":"sha256:` + strings.Repeat("ab", 32) + `"}]}`}))
	f.Add(archiveOf(f, tarEntry{name: "../x", text: "y"}, tarEntry{name: "blobs", kind: tar.TypeSymlink, link: "/"}))
	f.Fuzz(func(t *testing.T, b []byte) {
		parent := t.TempDir()
		dir := filepath.Join(parent, "in")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		a := release.Artifact{Name: "app.tar", Size: int64(len(b))}
		if unpackLayout(bytes.NewReader(b), dir, a, false) == nil {
			if l, err := readLayout(dir, a); err == nil {
				_, _, _ = references(l.raw)
				_, _ = l.pushable()
			}
		}
		if entries, _ := os.ReadDir(parent); len(entries) != 1 {
			t.Fatalf("written outside: %v", entries)
		}
	})
}
