package blob

import (
	"context"
	"io"

	"github.com/sluiceci/sluice/pkg/blob/bucket"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// ReaderAt reads a blob at any place, as archives need it.
type ReaderAt interface {
	io.ReaderAt
	io.Closer
}

// seekable is a store that can read a blob at any place.
type seekable interface {
	openAt(ctx context.Context, d release.Digest) (ReaderAt, int64, error)
}

// OpenAt opens a blob to be read at any place, and returns its number of bytes. The digest is not checked, because not
// everything is read: what is installed or published is read with Open.
func OpenAt(ctx context.Context, s Store, d release.Digest) (ReaderAt, int64, error) {
	if s, ok := s.(seekable); ok {
		return s.openAt(ctx, d)
	}
	return nil, 0, fault.New(fault.Internal, "cannot open blob %s at any place: the store %T reads from the beginning only", d, s)
}

func (s *Directory) openAt(_ context.Context, d release.Digest) (ReaderAt, int64, error) {
	return s.file(d)
}

const (
	blockSize  = 1 << 20
	keptBlocks = 8
)

// blocks is an object read by ranges, of which the last few are kept: an archive's directory and its entries are read in
// pieces. It is not safe for several goroutines.
type blocks struct {
	ctx    context.Context
	bucket *bucket.Bucket
	name   string
	size   int64
	kept   []block // the most recently fetched last
}

type block struct {
	offset int64
	bytes  []byte
}

func (b *blocks) Close() error { return nil }

// ReadAt implements io.ReaderAt.
func (b *blocks) ReadAt(p []byte, offset int64) (n int, err error) {
	for n < len(p) {
		at := offset + int64(n)
		if at < 0 || at >= b.size {
			return n, io.EOF
		}
		piece, err := b.fetch(at / blockSize * blockSize)
		if err != nil {
			return n, err
		}
		n += copy(p[n:], piece[at%blockSize:])
	}
	return n, nil
}

func (b *blocks) fetch(offset int64) ([]byte, error) {
	for _, k := range b.kept {
		if k.offset == offset {
			return k.bytes, nil
		}
	}
	want := min(blockSize, b.size-offset)
	rc, err := b.bucket.GetRange(b.ctx, b.name, offset, want)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rc.Close() }()
	piece := make([]byte, want)
	if _, err := io.ReadFull(rc, piece); err != nil {
		return nil, fault.New(fault.Transient, "cannot read %s at %d: %w", b.bucket.URL(b.name), offset, err)
	}
	if len(b.kept) == keptBlocks {
		b.kept = b.kept[1:]
	}
	b.kept = append(b.kept, block{offset, piece})
	return piece, nil
}
