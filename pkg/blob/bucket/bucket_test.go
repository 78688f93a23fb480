package bucket_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceci/sluice/pkg/blob/blobtest"
	"github.com/sluiceci/sluice/pkg/blob/bucket"
	"github.com/sluiceci/sluice/pkg/fault"
)

func TestParseURL(t *testing.T) {
	got, err := bucket.ParseURL("s3://wheels/team/a?endpoint=https://s3.example.com/&region=eu-1&path_style=true")
	want := bucket.Config{Bucket: "wheels", Prefix: "team/a", Endpoint: "https://s3.example.com", Region: "eu-1", PathStyle: true}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func FuzzParseURL(f *testing.F) {
	for _, s := range []string{"s3://b/p?region=r", "s3://b", "s3://u:p@b", "s3://b?endpoint=http://h&path_style=1", "://", "s3://b/%2e%2e/x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		c, err := bucket.ParseURL(raw)
		switch {
		case err != nil && !fault.Is(err, fault.Invalid):
			t.Errorf("ParseURL = %v (%s), want kind invalid", err, fault.Of(err))
		case err == nil && c.Prefix != "" && bucket.CheckName(c.Prefix) != nil:
			t.Errorf("ParseURL took the prefix %q", c.Prefix)
		}
	})
}

func TestCheckName(t *testing.T) {
	for _, name := range []string{"a", "a/b", "a b+c/ü", strings.Repeat("x", 255), "..a", "a..b"} {
		if err := bucket.CheckName(name); err != nil {
			t.Errorf("CheckName(%q) = %v", name, err)
		}
	}
	for _, name := range []string{
		"", ".", "..", "/a", "a/", "a//b", "a/../b", "./a", "a\x00", "a\nb", "\xff", strings.Repeat("x", 256), strings.Repeat("a/", 600) + "a",
	} {
		if err := bucket.CheckName(name); !fault.Is(err, fault.Invalid) {
			t.Errorf("CheckName(%q) = %v, want kind invalid", name, err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	for name, c := range map[string]bucket.Config{"no bucket": {}, "half a key": {Bucket: "b", AccessKey: "a"}} {
		if _, err := bucket.Open(t.Context(), c); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v (%s), want kind invalid", name, err, fault.Of(err))
		}
	}
}

// What a server answers becomes what can be done about it.
func TestKindsOfErrors(t *testing.T) {
	for _, test := range []struct {
		status int
		code   string
		want   fault.Kind
	}{
		{500, "InternalError", fault.Transient},
		{503, "SlowDown", fault.Transient},
		{507, "InsufficientStorage", fault.Transient},
		{429, "TooManyRequests", fault.Transient},
		{404, "NoSuchBucket", fault.Transient},
		{404, "NoSuchKey", fault.Invalid},
		{403, "AccessDenied", fault.Denied},
		{401, "Unauthorized", fault.Denied},
		{400, "InvalidArgument", fault.Invalid},
		{412, "PreconditionFailed", fault.Conflict},
		{409, "ObjectParentIsFile", fault.Conflict},
		{409, "ConditionalRequestConflict", fault.Transient},
		{501, "NotImplemented", fault.Invalid},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(test.status)
			_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code></Error>", test.code)
		}))
		b := at(t, server.URL)
		_, _, err := b.Get(t.Context(), "x")
		if fault.Of(err) != test.want || !strings.Contains(err.Error(), "s3://b/x") {
			t.Errorf("%d %s: %v (%s), want kind %s and the object's name", test.status, test.code, err, fault.Of(err), test.want)
		}
		if missing := errors.Is(err, fs.ErrNotExist); missing != (test.code == "NoSuchKey") {
			t.Errorf("%d %s: is fs.ErrNotExist: %t", test.status, test.code, missing)
		}
		server.Close()
	}
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	if _, err := at(t, server.URL).Put(t.Context(), "x", nil, bucket.Write{}); !fault.Is(err, fault.Transient) {
		t.Errorf("without a server: %v (%s), want kind transient", err, fault.Of(err))
	}
}

func at(t *testing.T, endpoint string) *bucket.Bucket {
	t.Helper()
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	b, err := bucket.Open(t.Context(), bucket.Config{Bucket: "b", Endpoint: endpoint, PathStyle: true, AccessKey: "a", SecretKey: "s"})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestObjects(t *testing.T) {
	server := blobtest.Serve(t)
	b := server.Bucket(t, "objects", "p")
	t.Run("conditions", func(t *testing.T) { conditions(t, b) })
	t.Run("names", func(t *testing.T) { names(t, b) })
	t.Run("upload if absent", func(t *testing.T) { uploadAbsent(t, b) })
	t.Run("wrong key", func(t *testing.T) {
		c := server.Config("objects", "")
		c.SecretKey = "wrong"
		stranger, err := bucket.Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := stranger.Get(t.Context(), "x"); !fault.Is(err, fault.Denied) || strings.Contains(err.Error(), "wrong") {
			t.Errorf("Get with a wrong key = %v (%s), want kind denied", err, fault.Of(err))
		}
	})
	if err := b.Create(t.Context()); err != nil {
		t.Errorf("Create of a bucket that is there = %v", err)
	}
}

func conditions(t *testing.T, b *bucket.Bucket) {
	tag, err := b.Put(t.Context(), "c", []byte("1"), bucket.Write{Absent: true})
	if err != nil || tag == "" {
		t.Fatalf("Put = %q, %v", tag, err)
	}
	if _, err := b.Put(t.Context(), "c", []byte("2"), bucket.Write{Absent: true}); !fault.Is(err, fault.Conflict) {
		t.Errorf("Put of what is there, if absent = %v (%s), want kind conflict", err, fault.Of(err))
	}
	next, err := b.Put(t.Context(), "c", []byte("3"), bucket.Write{Tag: tag})
	if err != nil || next == tag {
		t.Errorf("Put with the tag = %q, %v", next, err)
	}
	if _, err := b.Put(t.Context(), "c", []byte("4"), bucket.Write{Tag: tag}); !fault.Is(err, fault.Conflict) {
		t.Errorf("Put with an old tag = %v (%s), want kind conflict", err, fault.Of(err))
	}
	if text := read(t, b, "c"); text != "3" {
		t.Errorf("the object is %q, want %q", text, "3")
	}
}

func read(t *testing.T, b *bucket.Bucket, name string) string {
	t.Helper()
	rc, info, err := b.Get(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(rc)
	if err := errors.Join(err, rc.Close()); err != nil || int64(len(text)) != info.Size {
		t.Fatalf("read %d bytes, %v; want %d", len(text), err, info.Size)
	}
	return string(text)
}

func names(t *testing.T, b *bucket.Bucket) {
	want := []string{"n/a b+c", "n/deep/er/x%2Fy", "n/ü?&=#"}
	for _, name := range want {
		if err := b.Upload(t.Context(), name, strings.NewReader(name), bucket.Write{MediaType: "text/plain"}); err != nil {
			t.Fatal(err)
		}
		if text := read(t, b, name); text != name {
			t.Errorf("%q is %q", name, text)
		}
	}
	var got []string
	if err := b.Each(t.Context(), "n/", func(i bucket.Info) error { got = append(got, i.Name); return nil }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, name := range append(want, want[0]) { // what is not there is removed already
		if err := b.Remove(t.Context(), name); err != nil {
			t.Error(err)
		}
	}
	if _, has, err := b.Stat(t.Context(), want[0]); has || err != nil {
		t.Errorf("Stat of what was removed = %t, %v", has, err)
	}
	for _, name := range []string{"../x", ""} {
		if err := b.Upload(t.Context(), name, strings.NewReader(""), bucket.Write{}); !fault.Is(err, fault.Invalid) {
			t.Errorf("Upload of %q = %v, want kind invalid", name, err)
		}
	}
}

func uploadAbsent(t *testing.T, b *bucket.Bucket) {
	for _, size := range []int{10, 9 << 20} {
		name := fmt.Sprint("absent/", size)
		u := bucket.Write{Size: int64(size), Absent: true, Notes: map[string]string{"origin": "a test"}}
		if err := b.Upload(t.Context(), name, bytes.NewReader(blobtest.Random(size)), u); err != nil {
			t.Fatal(err)
		}
		if err := b.Upload(t.Context(), name, bytes.NewReader(blobtest.Random(size)), u); !fault.Is(err, fault.Conflict) {
			t.Errorf("Upload of what is there = %v (%s), want kind conflict", err, fault.Of(err))
		}
		if info, has, err := b.Stat(t.Context(), name); !has || err != nil || info.Notes["origin"] != "a test" || info.Size != u.Size {
			t.Errorf("Stat = %+v, %t, %v; want the notes and size of the upload", info, has, err)
		}
	}
}
