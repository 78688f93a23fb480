package blob_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/blob/blobtest"
	"github.com/sluiceci/sluice/pkg/blob/bucket"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

func TestDirConforms(t *testing.T) {
	dir := t.TempDir()
	blobtest.Conform(t, blob.Dir(dir))
	if left := leftovers(t, dir); len(left) != 0 {
		t.Errorf("%d temporary files are left", len(left))
	}
}

func TestS3Conforms(t *testing.T) {
	server := blobtest.Serve(t)
	t.Run("whole bucket", func(t *testing.T) {
		s := blob.S3(server.Bucket(t, "blobs", ""))
		if _, err := blob.PutBytes(t.Context(), s, []byte("hello")); err != nil {
			t.Error(err)
		}
	})
	t.Run("below a prefix", func(t *testing.T) {
		server.Bucket(t, "shared", "")
		t.Setenv("AWS_ACCESS_KEY_ID", blobtest.AccessKey)
		t.Setenv("AWS_SECRET_ACCESS_KEY", blobtest.SecretKey)
		s, err := blob.Open(t.Context(), server.URL("shared", "some/where"))
		if err != nil {
			t.Fatal(err)
		}
		blobtest.Conform(t, s)
	})
}

// However a Put into S3 ends, it leaves no temporary object and no unfinished upload behind: they cost money and are not
// seen by those who list.
func TestS3LeavesNothingBehind(t *testing.T) {
	server := blobtest.Serve(t)
	b := server.Bucket(t, "blobs", "p")
	s := blob.S3(b)
	big := blobtest.Random(20 << 20)
	if _, _, err := s.Put(t.Context(), bytes.NewReader(big)); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	if _, _, err := s.Put(t.Context(), io.MultiReader(bytes.NewReader(big), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Errorf("Put = %v, want the error of the source", err)
	}
	err := blob.PutKnown(t.Context(), s, release.DigestOf([]byte("x")), int64(len(big)), bytes.NewReader(big))
	if !fault.Is(err, fault.Invalid) {
		t.Errorf("PutKnown = %v, want kind invalid", err)
	}
	if left := uploads(t, b); len(left) > 0 {
		t.Errorf("unfinished uploads: %q", left)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, _, err := s.Put(ctx, io.MultiReader(bytes.NewReader(big), readFunc(func() { cancel() }), bytes.NewReader(big))); !errors.Is(err, context.Canceled) {
		t.Errorf("Put = %v, want context.Canceled", err)
	}
	// The server may still be writing a part of that when it is told to abort; so Sweep has the last word.
	if err := blob.Sweep(t.Context(), s, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if left := uploads(t, b); len(left) > 0 {
		t.Errorf("unfinished uploads after Sweep: %q", left)
	}
	var names []string
	if err := b.Each(t.Context(), "", func(i bucket.Info) error { names = append(names, i.Name); return nil }); err != nil {
		t.Fatal(err)
	}
	d := release.DigestOf(big)
	if len(names) != 2 || !strings.HasPrefix(names[0], "large/") || names[1] != "sha256/"+d.Hex()[:2]+"/"+d.Hex() {
		t.Errorf("the bucket has %q, want the blob alone, and what it stands for", names)
	}
}

// readFunc is an empty reader that calls a function.
type readFunc func()

func (f readFunc) Read([]byte) (int, error) { f(); return 0, io.EOF }

func TestSweepOfS3(t *testing.T) {
	server := blobtest.Serve(t)
	b := server.Bucket(t, "blobs", "p")
	s := blob.S3(b)
	d, err := blob.PutBytes(t.Context(), s, []byte("kept"))
	if err != nil {
		t.Fatal(err)
	}
	large := blobtest.Random(6 << 20)
	if _, _, err := s.Put(t.Context(), bytes.NewReader(large)); err != nil {
		t.Fatal(err)
	}
	var id string // of the large blob, as if a crash had come before the last step of its Put
	if err := b.Each(t.Context(), "large/", func(i bucket.Info) error { id = i.Name[len("large/"):]; return nil }); err != nil {
		t.Fatal(err)
	}
	lost, early := strings.Repeat("A", 26), strings.Repeat("B", 26) // crashes before the digest stands for them
	for name, text := range map[string]string{
		"pending/" + id: string(release.DigestOf(large)), "pending/" + lost: string(release.DigestOf(large)), "large/" + lost: "whole",
		"pending/" + early: "", "large/" + early: "half", "pending/" + strings.Repeat("C", 26): "",
	} {
		if _, err := b.Put(t.Context(), name, []byte(text), bucket.Write{}); err != nil {
			t.Fatal(err)
		}
	}
	abandon(t, b)
	for _, test := range []struct {
		before           time.Time
		pending, largest int
		uploads          bool
	}{{time.Now().Add(-time.Hour), 4, 3, true}, {time.Now().Add(time.Hour), 0, 1, false}} {
		if err := blob.Sweep(t.Context(), s, test.before); err != nil {
			t.Fatal(err)
		}
		count := map[string]int{}
		for _, prefix := range []string{"pending/", "large/"} {
			if err := b.Each(t.Context(), prefix, func(bucket.Info) error { count[prefix]++; return nil }); err != nil {
				t.Fatal(err)
			}
		}
		if count["pending/"] != test.pending || count["large/"] != test.largest {
			t.Errorf("after Sweep of what is before %s: %v; want %d and %d", test.before, count, test.pending, test.largest)
		}
		if unfinished := uploads(t, b); (len(unfinished) > 0) != test.uploads {
			t.Errorf("after Sweep of what is before %s: unfinished uploads %q", test.before, unfinished)
		}
	}
	for _, d := range []release.Digest{d, release.DigestOf(large)} {
		if _, err := blob.ReadAll(t.Context(), s, d, 10<<20); err != nil {
			t.Errorf("Sweep removed a blob: %v", err)
		}
	}
}

// uploads asks the server which uploads have not ended: what a bucket's owner is billed for. What else the server has on
// its disk is its own affair.
func uploads(t *testing.T, b *bucket.Bucket) []string {
	t.Helper()
	var names []string
	if err := b.EachUpload(t.Context(), func(u bucket.Unfinished) error { names = append(names, u.Name); return nil }); err != nil {
		t.Fatal(err)
	}
	return names
}

// abandon leaves an upload unfinished, as a process does that is killed.
func abandon(t *testing.T, b *bucket.Bucket) {
	t.Helper()
	inside := make(chan struct{})
	killed := make(chan struct{})
	r := io.MultiReader(bytes.NewReader(blobtest.Random(20<<20)), readFunc(func() { close(inside); <-killed }), iotest.ErrReader(io.ErrClosedPipe))
	ended := make(chan struct{})
	go func() { defer close(ended); _ = b.Upload(context.Background(), "abandoned", r, bucket.Write{}) }()
	t.Cleanup(func() { close(killed); <-ended })
	<-inside
}
