package publisher

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

func TestParseDistribution(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]distribution{
		"demo-1.0-py3-none-any.whl":                            {Project: "demo", Name: "demo", Version: "1.0", FileType: "bdist_wheel", Python: "py3"},
		"Demo_Pkg-1.0+cu121-cp312-cp312-manylinux_2_17_x.whl":  {Project: "demo-pkg", Name: "Demo_Pkg", Version: "1.0+cu121", FileType: "bdist_wheel", Python: "cp312"},
		"demo.x-1!2.0rc1-1build-cp39-abi3-linux_x86_64.whl":    {Project: "demo-x", Name: "demo.x", Version: "1!2.0rc1", FileType: "bdist_wheel", Python: "cp39"},
		"demo_pkg-1.0.tar.gz":                                  {Project: "demo-pkg", Name: "demo_pkg", Version: "1.0", FileType: "sdist", Python: "source"},
		"ray-3.0.0.dev0-cp310-cp310-manylinux2014_x86_64.whl":  {Project: "ray", Name: "ray", Version: "3.0.0.dev0", FileType: "bdist_wheel", Python: "cp310"},
		"old-name-with-dashes-2.tar.gz":                        {Project: "old-name-with-dashes", Name: "old-name-with-dashes", Version: "2", FileType: "sdist", Python: "source"},
		"a-1-py2.py3-none-any.whl":                             {Project: "a", Name: "a", Version: "1", FileType: "bdist_wheel", Python: "py2.py3"},
		"demo-1.0-cp313-cp313-macosx_11_0_arm64.whl":           {Project: "demo", Name: "demo", Version: "1.0", FileType: "bdist_wheel", Python: "cp313"},
		"demo-1.0-cp313-cp313-musllinux_1_2_x86_64.none-x.whl": {},
		"demo.whl": {}, "demo-1.0.zip": {}, "-1.0-py3-none-any.whl": {}, "demo-1.0-py3-none-any.WHL": {}, "../demo-1.0.tar.gz": {}, "": {},
	} {
		got, err := parseDistribution(name)
		if want == (distribution{}) {
			if !fault.Is(err, fault.Invalid) {
				t.Errorf("%q: took %+v, want invalid", name, got)
			}
			continue
		}
		want.File = name
		if err != nil || got != want {
			t.Errorf("%q: got %+v, %v, want %+v", name, got, err, want)
		}
	}
}

func TestMetadataOfSourceDistribution(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file string
		text string
		want string
	}{
		"right":           {"demo-1.0/PKG-INFO", "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n", ""},
		"another project": {"demo-1.0/PKG-INFO", "Metadata-Version: 2.1\nName: other\nVersion: 1.0\n", "its metadata say other 1.0"},
		"another version": {"demo-1.0/PKG-INFO", "Name: demo\nVersion: 1.1\n", "its metadata say demo 1.1"},
		"none":            {"demo-1.0/README", "hello", "no NAME-VERSION/PKG-INFO"},
	} {
		file, size := sdist(t, c.file, c.text)
		d, err := parseDistribution("demo-1.0.tar.gz")
		check(t, err)
		_, err = readMetadata(d, file, size)
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || !fault.Is(err, fault.Invalid)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func sdist(t *testing.T, name, text string) (*os.File, int64) {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	check(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}))
	_, err := io.WriteString(w, text)
	check(t, err)
	check(t, w.Close())
	check(t, z.Close())
	return temporary(t, b.Bytes())
}

func temporary(t testing.TB, b []byte) (*os.File, int64) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return file, int64(len(b))
}

func TestUploadFormCarriesTheMetadata(t *testing.T) {
	t.Parallel()
	w := pypiWorld(t, false)
	check(t, publish(t, w, candidate(t, w.release(t, "one"))))
	form := w.front.next.(*pypiServer).forms["Demo_Pkg-1.0-py3-none-any.whl"]
	for field, want := range map[string]string{
		"name": "Demo_Pkg", "version": "1.0", "filetype": "bdist_wheel", "pyversion": "py3", "requires_python": ">=3.8",
		"classifiers": "Topic :: A|Topic :: B", "metadata_version": "2.1", "description": "It says one.\n",
	} {
		if got := strings.Join(form[field], "|"); got != want {
			t.Errorf("%s is %q, want %q", field, got, want)
		}
	}
}

func FuzzDistribution(f *testing.F) {
	f.Add("demo-1.0-py3-none-any.whl")
	f.Add("demo-1.0.tar.gz")
	f.Fuzz(func(t *testing.T, name string) {
		d, err := parseDistribution(name)
		if err != nil {
			return
		}
		if d.Project == "" || d.Version == "" || strings.ContainsAny(d.Project+d.Version, "/\\ \x00") || normalise(d.Project) != d.Project {
			t.Fatalf("%q: %+v", name, d)
		}
	})
}

func FuzzMetadata(f *testing.F) {
	f.Add([]byte("Name: demo\nVersion: 1.0\n more\n\nbody"), true)
	f.Fuzz(func(t *testing.T, text []byte, zipped bool) {
		m := parseMetadata(text)
		for _, field := range m.Fields {
			if strings.Contains(field.Name, "\n") {
				t.Fatalf("a name of two lines: %q", field.Name)
			}
		}
		file, size := temporary(t, text)
		for _, d := range []distribution{{FileType: "bdist_wheel"}, {FileType: "sdist"}} {
			_, _ = readMetadata(d, file, size) // must end, and not panic
		}
	})
}

func TestSimplePagesSayTheSameInBothForms(t *testing.T) {
	t.Parallel()
	page := simplePage{Name: "demo"}
	page.add(simpleFile{
		Filename: "demo-1.0-py3-none-any.whl", URL: "../../files/ab/demo-1.0-py3-none-any.whl", RequiresPython: ">=3.8,<4",
		Hashes: map[string]string{"sha256": strings.Repeat("ab", 32)}, CoreMetadata: map[string]any{"sha256": strings.Repeat("cd", 32)}, Yanked: "broken & bad",
	}, "1.0")
	page.add(simpleFile{Filename: "demo-0.9+local.tar.gz", URL: "../../files/cd/demo-0.9+local.tar.gz", Hashes: map[string]string{"sha256": strings.Repeat("01", 32)}}, "0.9")
	asJSON, err := page.json()
	check(t, err)
	asHTML, err := page.html()
	check(t, err)
	fromJSON, err := parseSimpleJSON(asJSON)
	check(t, err)
	fromHTML, err := parseSimpleHTML(asHTML)
	check(t, err)
	for i, want := range page.Files {
		for form, got := range map[string]simpleFile{"json": fromJSON.Files[i], "html": fromHTML.Files[i]} {
			if got.Filename != want.Filename || got.URL != want.URL || got.digest() != want.digest() || got.RequiresPython != want.RequiresPython ||
				got.MetadataDigest() != want.MetadataDigest() || (got.YankedReason() == nil) != (want.YankedReason() == nil) {
				t.Errorf("%s: got %+v, want %+v", form, got, want)
			}
		}
	}
	again, err := fromJSON.json()
	check(t, err)
	if !bytes.Equal(again, asJSON) {
		t.Errorf("written again:\n%s\nwant\n%s", again, asJSON)
	}
}

func FuzzSimplePage(f *testing.F) {
	f.Add([]byte(`<a href="x.whl#sha256=ab" data-requires-python="&gt;3">x.whl</a>`))
	f.Add([]byte(`{"meta":{"api-version":"1.0"},"name":"x","files":[{"filename":"x.whl","url":"x","hashes":{"sha256":"ab"},"yanked":true,"core-metadata":{}}]}`))
	f.Fuzz(func(_ *testing.T, b []byte) {
		for _, parse := range []func([]byte) (simplePage, error){parseSimpleHTML, parseSimpleJSON} {
			page, err := parse(b)
			if err != nil {
				continue
			}
			_, _ = page.holds("here", release.Artifact{Name: "x.whl", Digest: release.DigestOf(b)})
			_, _ = page.html()
			_, _ = page.json()
		}
	})
}
