package blob

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"time"

	"github.com/sluiceci/sluice/pkg/blob/bucket"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// ObjectStore keeps blobs as objects in an S3 bucket. It needs at most 64 MiB of memory for each blob that goes in, of
// any size, and no temporary file.
type ObjectStore struct{ bucket *bucket.Bucket }

// S3 returns the store in a bucket.
func S3(b *bucket.Bucket) *ObjectStore { return &ObjectStore{bucket: b} }

func (s *ObjectStore) String() string { return "bucket " + s.bucket.URL("") }

// Put implements Store. What fits in one part is hashed first and written under its digest. What is larger is written
// aside while it is hashed, because an upload must be named before it begins, and then moved by the server.
func (s *ObjectStore) Put(ctx context.Context, r io.Reader) (release.Digest, int64, error) {
	in := newMeter(ctx, r)
	head := bytes.NewBuffer(nil)
	if _, err := io.CopyN(head, in, bucket.PartSize); err != nil && !errors.Is(err, io.EOF) {
		return "", 0, err
	}
	if head.Len() < bucket.PartSize {
		return in.digest(), in.size, s.putSmall(ctx, in.digest(), head.Bytes())
	}
	aside := "tmp/put-" + rand.Text()
	if err := s.bucket.Upload(ctx, aside, io.MultiReader(head, in), bucket.Upload{}); err != nil {
		return "", 0, err
	}
	return in.digest(), in.size, s.move(ctx, aside, in.digest(), in.size)
}

func (s *ObjectStore) putSmall(ctx context.Context, d release.Digest, b []byte) error {
	_, err := s.bucket.Put(ctx, key(d), b, "", bucket.Condition{Absent: true})
	if fault.Is(err, fault.Conflict) {
		return nil // it is there already
	}
	return err
}

// move gives an object that was written aside its name. Whatever happens, it goes from where it was.
func (s *ObjectStore) move(ctx context.Context, aside string, d release.Digest, size int64) error {
	has, err := s.Has(ctx, d)
	if err == nil && !has {
		err = s.bucket.Copy(ctx, aside, key(d), size)
	}
	later, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
	defer cancel()
	// If this fails the blob is stored all the same, and Sweep removes what stayed.
	_ = s.bucket.Remove(later, aside)
	return err
}

// putKnown streams straight to the blob's name; a reader that fails at its end, because the bytes are others, leaves no
// object.
func (s *ObjectStore) putKnown(ctx context.Context, d release.Digest, size int64, r io.Reader) error {
	in := &expected{meter: newMeter(ctx, r), want: d, size: size}
	return s.bucket.Upload(ctx, key(d), in, bucket.Upload{Size: size})
}

// expected reads bytes that should have a digest and fails at their end if they have not.
type expected struct {
	*meter
	want release.Digest
	size int64
}

func (e *expected) Read(p []byte) (int, error) {
	n, err := e.meter.Read(p)
	if errors.Is(err, io.EOF) {
		if wrong := checkKnown(e.want, e.digest(), e.size, e.meter.size); wrong != nil {
			return n, wrong
		}
	}
	return n, err
}

// Open implements Store.
func (s *ObjectStore) Open(ctx context.Context, d release.Digest) (io.ReadCloser, int64, error) {
	if err := checkDigest(d); err != nil {
		return nil, 0, err
	}
	rc, info, err := s.bucket.Get(ctx, key(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, missing(d, s.bucket.URL(""))
	}
	if err != nil {
		return nil, 0, err
	}
	return verify(ctx, rc, d, info.Size, s.bucket.URL("")), info.Size, nil
}

// Has implements Store.
func (s *ObjectStore) Has(ctx context.Context, d release.Digest) (bool, error) {
	if err := checkDigest(d); err != nil {
		return false, err
	}
	_, has, err := s.bucket.Stat(ctx, key(d))
	return has, err
}

func (s *ObjectStore) sweep(ctx context.Context, before time.Time) error {
	if err := s.bucket.RemoveBefore(ctx, "tmp/", before); err != nil {
		return err
	}
	return s.bucket.Sweep(ctx, before)
}
