package blob

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"time"

	"github.com/sluiceci/sluice/pkg/blob/bucket"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// ObjectStore keeps blobs as objects in an S3 bucket. A blob of any size goes in with at most 64 MiB of memory, and
// without a temporary file.
type ObjectStore struct{ bucket *bucket.Bucket }

// S3 returns the store in a bucket.
func S3(b *bucket.Bucket) *ObjectStore { return &ObjectStore{bucket: b} }

func (s *ObjectStore) String() string { return "bucket " + s.bucket.URL("") }

// Put implements Store. What fits in one part is hashed first and written under its digest; for what does not, see
// putLarge.
func (s *ObjectStore) Put(ctx context.Context, r io.Reader) (release.Digest, int64, error) {
	in := newMeter(ctx, r)
	head, err := readHead(in)
	if err != nil {
		return "", 0, err
	}
	if len(head) < bucket.PartSize {
		return in.digest(), in.size, s.putSmall(ctx, in.digest(), head)
	}
	return s.putLarge(ctx, head, in)
}

// readHead reads up to one part. Most blobs are small: the buffer begins small too.
func readHead(r io.Reader) ([]byte, error) {
	var head []byte
	for _, size := range []int{64 << 10, 1 << 20, bucket.PartSize} {
		larger := make([]byte, size)
		n := copy(larger, head)
		m, err := io.ReadFull(r, larger[n:])
		head = larger[:n+m]
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return head, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return head, nil
}

func (s *ObjectStore) putSmall(ctx context.Context, d release.Digest, b []byte) error {
	_, err := s.bucket.Put(ctx, key(d), b, bucket.Write{Absent: true})
	return unlessThere(err)
}

// unlessThere takes a name that is taken for success: under a digest there is only one thing.
func unlessThere(err error) error {
	if fault.Is(err, fault.Conflict) {
		return nil
	}
	return err
}

// putKnown streams straight to the blob's name; a reader that fails at its end, because the bytes are others, leaves no
// object.
func (s *ObjectStore) putKnown(ctx context.Context, d release.Digest, size int64, r io.Reader) error {
	in := &expected{meter: newMeter(ctx, r), want: d, size: size}
	return unlessThere(s.bucket.Upload(ctx, key(d), in, bucket.Write{Size: size, Absent: true}))
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
	rc, info, err := s.get(ctx, key(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, missing(d, s.bucket.URL(""))
	}
	if err != nil {
		return nil, 0, err
	}
	return verify(ctx, rc, d, info.Size, s.bucket.URL("")), info.Size, nil
}

// get opens an object, or the one that it stands for.
func (s *ObjectStore) get(ctx context.Context, name string) (io.ReadCloser, bucket.Info, error) {
	rc, info, err := s.bucket.Get(ctx, name)
	if err != nil {
		return nil, info, err
	}
	large, ok, err := standsFor(info)
	if !ok {
		return rc, info, err
	}
	_ = rc.Close() // it is empty
	return s.bucket.Get(ctx, large)
}

// Has implements Store.
func (s *ObjectStore) Has(ctx context.Context, d release.Digest) (bool, error) {
	if err := checkDigest(d); err != nil {
		return false, err
	}
	_, has, err := s.bucket.Stat(ctx, key(d))
	return has, err
}

func (s *ObjectStore) openAt(ctx context.Context, d release.Digest) (ReaderAt, int64, error) {
	if err := checkDigest(d); err != nil {
		return nil, 0, err
	}
	info, has, err := s.bucket.Stat(ctx, key(d))
	if err == nil && has {
		if large, ok, wrong := standsFor(info); ok {
			info, has, err = s.bucket.Stat(ctx, large)
		} else {
			err = wrong
		}
	}
	if err != nil {
		return nil, 0, err
	}
	if !has {
		return nil, 0, missing(d, s.bucket.URL(""))
	}
	return &blocks{ctx: ctx, bucket: s.bucket, name: info.Name, size: info.Size}, info.Size, nil
}

func (s *ObjectStore) sweep(ctx context.Context, before time.Time) error {
	if err := s.sweepLarge(ctx, before); err != nil {
		return err
	}
	return s.bucket.Sweep(ctx, before)
}

// readAll reads a small object.
func (s *ObjectStore) readAll(ctx context.Context, name string) ([]byte, error) {
	rc, _, err := s.bucket.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rc.Close() }()
	var b bytes.Buffer
	_, err = b.ReadFrom(io.LimitReader(rc, 1<<10))
	return b.Bytes(), fault.As(fault.Transient, err)
}
