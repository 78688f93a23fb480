package stamp

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/test/property"
)

const (
	commit  = release.Commit("4f2a9c1d00112233445566778899aabbccddeeff")
	another = release.Commit("0123456789012345678901234567890123456789")
	digest  = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" // 64 digits: no commit
)

// entry is one file of an archive.
type entry struct{ name, text string }

func zipOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, e := range entries {
		w, err := z.Create(e.name)
		if err == nil {
			_, err = w.Write([]byte(e.text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func tarOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		err := w.WriteHeader(&tar.Header{Name: e.name, Size: int64(len(e.text)), Mode: 0o644})
		if err == nil {
			_, err = w.Write([]byte(e.text))
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

func gzipOf(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, err := z.Write(b)
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// image is one image of a layout: what its label and its annotation say.
type image struct{ label, annotation string }

// layoutOf writes an OCI layout of an index of an index of images.
func layoutOf(t testing.TB, images ...image) []byte {
	t.Helper()
	l := []entry{{"./oci-layout", `{"imageLayoutVersion":"1.0.0"}`}}
	put := func(v any) map[string]any {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		d := release.DigestOf(b)
		l = append(l, entry{"./blobs/sha256/" + d.Hex(), string(b)})
		return map[string]any{"digest": d, "size": len(b)}
	}
	var all []any
	for i, im := range images {
		config := put(map[string]any{"architecture": i, "config": map[string]any{"Labels": map[string]string{revision: im.label}}})
		all = append(all, put(map[string]any{"config": config, "annotations": map[string]string{revision: im.annotation}}))
	}
	attestation := put(map[string]any{"config": put(map[string]any{}), "attests": true})
	attestation["annotations"] = map[string]string{reference: "attestation-manifest"}
	inner := put(map[string]any{"manifests": append(all, attestation)})
	index, _ := json.Marshal(map[string]any{"manifests": []any{inner}})
	return tarOf(t, append(l, entry{"index.json", string(index)})...)
}

// memory is an artifact in memory that fails with err, if that is set, beyond its first 600 bytes.
type memory struct {
	*bytes.Reader
	err    error
	closed bool
}

func (m *memory) Close() error { m.closed = true; return nil }

func (m *memory) ReadAt(p []byte, off int64) (int, error) {
	if m.err != nil && off+int64(len(p)) > 600 {
		return 0, m.err
	}
	return m.Reader.ReadAt(p, off)
}

func opener(b []byte) func() (File, int64, error) {
	return func() (File, int64, error) { return &memory{Reader: bytes.NewReader(b)}, int64(len(b)), nil }
}

func TestCheck(t *testing.T) {
	stamped, unstamped := entry{"demo/_commit.py", `commit = "` + string(commit) + `"`}, entry{"demo/__init__.py", "pass"}
	wrong := entry{"demo/_commit.py", `commit = "` + string(another) + `"`}
	c, o := string(commit), string(another)
	for name, test := range map[string]struct {
		bytes []byte
		in    string
		says  string // in the error; empty if the stamp is there
	}{
		"wheel":                             {zipOf(t, unstamped, stamped), "", ""},
		"wheel, entry named":                {zipOf(t, unstamped, stamped), "**/_commit.py", ""},
		"wheel without":                     {zipOf(t, unstamped), "", "looked in all of its 1 entries and found no commit"},
		"wheel with another":                {zipOf(t, unstamped, wrong), "", o + ` in "demo/_commit.py"`},
		"wheel with it in another place":    {zipOf(t, stamped, entry{"a/METADATA", o}), "*/METADATA", `its 1 entries that match "*/METADATA" and found another commit, ` + o},
		"wheel without the place":           {zipOf(t, stamped), "*/METADATA", `no entry that matches "*/METADATA", but ["demo/_commit.py"]`},
		"wheel with a short commit":         {zipOf(t, entry{"v", c[:12]}), "", "found no commit"},
		"wheel with digests":                {zipOf(t, entry{"RECORD", "sha256=" + digest}), "", "found no commit"},
		"empty zip":                         {zipOf(t), "", "its 0 entries and found no commit"},
		"half a zip":                        {zipOf(t, stamped)[:100], "", "cannot read it as a zip"},
		"tar":                               {tarOf(t, unstamped, stamped), "", ""},
		"tar, entry named":                  {tarOf(t, unstamped, entry{"./x/COMMIT", c}), "x/COMMIT", ""},
		"tar without":                       {tarOf(t, unstamped, wrong), "", "found another commit, " + o},
		"half a tar":                        {tarOf(t, entry{"a", strings.Repeat("x", 5000)})[:2000], "", "unexpected EOF"},
		"tar.gz":                            {gzipOf(t, tarOf(t, unstamped, stamped)), "", ""},
		"tar.gz, entry named":               {gzipOf(t, tarOf(t, unstamped, stamped)), "demo/_commit.py", ""},
		"tar.gz without":                    {gzipOf(t, tarOf(t, wrong)), "", o + ` in "demo/_commit.py"`},
		"gzip":                              {gzipOf(t, []byte(c)), "", ""},
		"gzip without":                      {gzipOf(t, []byte(o)), "", "its unpacked bytes and found another commit, " + o},
		"half a gzip":                       {gzipOf(t, []byte(c))[:20], "", "unexpected EOF"},
		"gzip, entry named":                 {gzipOf(t, []byte(c)), "x", "what is no tar"},
		"program":                           {append([]byte("\x7fELF\x00abc"), c...), "", ""},
		"program without":                   {[]byte("\x7fELF" + o + "\x00"), "", "its bytes and found another commit, " + o},
		"program, entry named":              {[]byte("\x7fELF" + c), "x", "neither a zip nor a tar"},
		"empty file":                        {nil, "", "found no commit"},
		"image, label":                      {layoutOf(t, image{label: c}), "", ""},
		"image, annotation":                 {layoutOf(t, image{annotation: c}), "", ""},
		"image, two platforms":              {layoutOf(t, image{label: c}, image{annotation: c}), "", ""},
		"image without":                     {layoutOf(t, image{}), "", "annotation " + revision + " of its images and found no commit"},
		"image, another":                    {layoutOf(t, image{label: o}), "", "found another commit, " + o},
		"image, one platform without":       {layoutOf(t, image{label: c}, image{label: o}), "", "found another commit, " + o},
		"layout without images":             {layoutOf(t), "", "cannot find an image"},
		"layout without index":              {tarOf(t, entry{"oci-layout", "{}"}), "", "index.json is not in it"},
		"layout with a missing manifest":    {tarOf(t, entry{"oci-layout", "{}"}, entry{"index.json", `{"manifests":[{"digest":"sha256:` + digest + `"}]}`}), "", digest + " is not in it"},
		"layout with a damaged manifest":    {tarOf(t, entry{"oci-layout", "{}"}, entry{"blobs/sha256/" + digest, "{}"}, entry{"index.json", `{"manifests":[{"digest":"sha256:` + digest + `"}]}`}), "", "have digest"},
		"layout whose index is no JSON":     {tarOf(t, entry{"oci-layout", "{}"}, entry{"index.json", `[`}), "", "index.json"},
		"layout with the commit in a layer": {tarOf(t, entry{"oci-layout", c}, entry{"index.json", `{"manifests":[]}`}), "", "cannot find an image"},
		"bad glob":                          {zipOf(t, stamped), "[", "no glob"},
	} {
		t.Run(name, func(t *testing.T) {
			a := release.Artifact{Name: "demo.bin", StampIn: test.in}
			err := Check(t.Context(), a, opener(test.bytes), commit)
			switch {
			case test.says == "" && err != nil:
				t.Errorf("Check = %v, want nil", err)
			case test.says == "":
			case !fault.Is(err, fault.Invalid):
				t.Errorf("Check = %v (%s), want an error of kind invalid", err, fault.Of(err))
			case !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), "demo.bin"):
				t.Errorf("Check = %v\nwant it to name demo.bin and to say %q", err, test.says)
			}
		})
	}
}

func TestCheckRefusesWhatIsNoCommit(t *testing.T) {
	for _, c := range []release.Commit{"", "4f2a9c1d", "HEAD", release.Commit(strings.Repeat("0", 40))} {
		if err := Check(t.Context(), release.Artifact{}, nil, c); !fault.Is(err, fault.Invalid) {
			t.Errorf("Check of commit %q = %v, want an error of kind invalid", c, err)
		}
	}
}

// An artifact that cannot be read says nothing about its stamp: such an error must never be taken for a missing stamp.
func TestReadingFails(t *testing.T) {
	broken := errors.New("connection reset")
	big := strings.Repeat("x", 100_000)
	for name, b := range map[string][]byte{
		"zip": zipOf(t, entry{"a", string(rnd(10_000))}), "tar": tarOf(t, entry{"a", big}), "tar.gz": gzipOf(t, tarOf(t, entry{"a", string(rnd(10_000))})),
		"file": []byte(big), "image": layoutOf(t, image{}),
	} {
		file := &memory{Reader: bytes.NewReader(b), err: broken}
		err := Check(t.Context(), release.Artifact{Name: "a"}, func() (File, int64, error) { return file, int64(len(b)), nil }, commit)
		if !errors.Is(err, broken) || !fault.Is(err, fault.Transient) {
			t.Errorf("%s: Check = %v (%s), want the error of reading, kind transient", name, err, fault.Of(err))
		}
		if !file.closed {
			t.Errorf("%s: the artifact was left open", name)
		}
	}
	gone := fault.New(fault.Denied, "no")
	err := Check(t.Context(), release.Artifact{}, func() (File, int64, error) { return nil, 0, gone }, commit)
	if !errors.Is(err, gone) || !fault.Is(err, fault.Denied) {
		t.Errorf("Check = %v, want the error of open", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Check(ctx, release.Artifact{}, opener([]byte("x")), commit); !fault.Is(err, fault.Transient) {
		t.Errorf("Check = %v, want the end of the context", err)
	}
}

func rnd(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}

func TestBounds(t *testing.T) {
	zeros := strings.Repeat("\x00", 1<<20)
	small := limits{unpacked: 1 << 20, directory: 100_000, entries: 3, document: 500, documents: 3}
	many := make([]entry, 2000)
	for i := range many {
		many[i].name = fmt.Sprint("entry", i)
	}
	for name, test := range map[string]struct {
		bytes []byte
		says  string
	}{
		"zip bomb":          {zipOf(t, entry{"a", zeros}, entry{"b", zeros}), "unpacks to more than"},
		"gzip bomb":         {gzipOf(t, []byte(zeros+zeros)), "unpacks to more than"},
		"tar bomb":          {gzipOf(t, tarOf(t, entry{"a", zeros}, entry{"b", zeros})), "unpacks to more than"},
		"many zip entries":  {zipOf(t, many...), "its directory has more than"},
		"many tar entries":  {tarOf(t, many...), "more than 3 entries"},
		"large document":    {tarOf(t, entry{"oci-layout", ""}, entry{"index.json", zeros}), "has 1048576 bytes"},
		"too many children": {layoutOf(t, image{}, image{label: "2"}, image{label: "3"}), "more than 3"},
	} {
		file := &watched{ctx: t.Context(), ReaderAt: bytes.NewReader(test.bytes)}
		err := check(file, int64(len(test.bytes)), release.Artifact{Name: "a"}, commit, small)
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: check = %v, want an error that says %q", name, err, test.says)
		}
	}
}

// However a stream is cut into reads, the commit is found, and so is another commit that stands alone.
func TestSearchFindsAnywhere(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		before := rapid.StringMatching(`[ -~]{0,200}`).Draw(t, "before")
		fill := strings.Repeat("-", rapid.SampledFrom([]int{0, 1, 64<<10 - 300, 64<<10 - 60, 64<<10 - 20, 64 << 10}).Draw(t, "fill"))
		after := rapid.SampledFrom([]string{"", "z", "\n", "abc", digest}).Draw(t, "after")
		r := iotest.HalfReader(strings.NewReader(fill + before + string(commit) + after))
		if found, _, err := newSearch(commit).scan(r); !found || err != nil {
			t.Errorf("found = %t, %v", found, err)
		}
		r = strings.NewReader(fill + digest + "." + before + "-" + string(another) + rapid.SampledFrom([]string{"", "z"}).Draw(t, "end"))
		if found, other, err := newSearch(commit).scan(iotest.OneByteReader(r)); found || other != another || err != nil {
			t.Errorf("found = %t, other = %q, %v; want other %s", found, other, err, another)
		}
		r = strings.NewReader(fill + before + "g" + digest + "-" + string(another) + "0" + after)
		if found, other, err := newSearch(commit).scan(r); found || other != "" || err != nil {
			t.Errorf("found = %t, other = %q, %v; want neither of the longer runs", found, other, err)
		}
	})
}

func FuzzCheck(f *testing.F) {
	stamped := entry{"a/COMMIT", string(commit)}
	for _, b := range [][]byte{
		zipOf(f, stamped), tarOf(f, stamped), gzipOf(f, tarOf(f, stamped)), layoutOf(f, image{label: string(commit)}), []byte(commit), nil,
		layoutOf(f, image{annotation: string(another)}, image{}),
	} {
		f.Add(b, "")
		f.Add(b, "**/COMMIT")
	}
	small := limits{unpacked: 1 << 20, directory: 100_000, entries: 1000, document: 100_000, documents: 100}
	f.Fuzz(func(t *testing.T, b []byte, in string) {
		a := release.Artifact{Name: "a", StampIn: in}
		err := check(&watched{ctx: t.Context(), ReaderAt: bytes.NewReader(b)}, int64(len(b)), a, commit, small)
		if err != nil && !fault.Is(err, fault.Invalid) {
			t.Errorf("check = %v (%s): bytes that can be read are stamped, or invalid", err, fault.Of(err))
		}
	})
}

func ExampleCheck() {
	wheel := []byte("no wheel, but it was built from " + another)
	open := func() (File, int64, error) {
		return &memory{Reader: bytes.NewReader(wheel)}, int64(len(wheel)), nil
	}
	a := release.Artifact{Name: "demo-1.0-py3-none-any.whl"}
	fmt.Println(Check(context.Background(), a, open, commit))
	fmt.Println(Check(context.Background(), a, open, another))
	// Output:
	// cannot take demo-1.0-py3-none-any.whl for commit 4f2a9c1d00112233445566778899aabbccddeeff: looked in its bytes and found another commit, 0123456789012345678901234567890123456789; build it so that it carries the commit ($SLUICE_COMMIT)
	// <nil>
}

var _ io.ReaderAt = (*memory)(nil)
