package blob

import (
	"bytes"
	"context"
	"io"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// PutBytes stores a small blob.
func PutBytes(ctx context.Context, s Store, b []byte) (release.Digest, error) {
	d := release.DigestOf(b)
	return d, PutKnown(ctx, s, d, int64(len(b)), bytes.NewReader(b))
}

// ReadAll returns a whole blob, verified. A blob of more than limit bytes is refused before it is read.
func ReadAll(ctx context.Context, s Store, d release.Digest, limit int64) ([]byte, error) {
	rc, size, err := s.Open(ctx, d)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rc.Close() }()
	if size > limit {
		return nil, fault.New(fault.Invalid, "cannot read blob %s: it has %d bytes, expected at most %d", d, size, limit)
	}
	b := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	_, err = b.ReadFrom(io.LimitReader(rc, limit+1))
	return b.Bytes(), err
}
