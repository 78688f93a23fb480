package blob

import (
	"context"
	"errors"
	"io"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// knowing is a store that does better when it is told the digest before the bytes.
type knowing interface {
	putKnown(ctx context.Context, d release.Digest, size int64, r io.Reader) error
}

// PutKnown stores bytes whose digest and size the caller knows. If the blob is there already, r is not read. Bytes that
// turn out to be others are never stored under d; the error's kind is Invalid.
func PutKnown(ctx context.Context, s Store, d release.Digest, size int64, r io.Reader) error {
	if has, err := s.Has(ctx, d); has || err != nil {
		return err
	}
	if k, ok := s.(knowing); ok {
		return k.putKnown(ctx, d, size, r)
	}
	got, n, err := s.Put(ctx, r)
	if err != nil {
		return err
	}
	return checkKnown(d, got, size, n)
}

func checkKnown(want, got release.Digest, size, n int64) error {
	if want == got && size == n {
		return nil
	}
	return fault.New(fault.Invalid, "cannot store blob %s of %d bytes: the bytes have digest %s and are %d; they changed after they were hashed",
		want, size, got, n)
}

// Copy puts a blob of one store into another, verified on the way. A blob that is there already is not read.
func Copy(ctx context.Context, to, from Store, d release.Digest) error {
	rc, size, err := from.Open(ctx, d)
	if err != nil {
		return err
	}
	return errors.Join(PutKnown(ctx, to, d, size, rc), rc.Close())
}
