package blob

import (
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"io"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// meter hashes and counts what is read through it, and remembers how its source failed, so that an error of the source
// can be told from an error of the store. It stops when the context ends.
type meter struct {
	ctx    context.Context
	source io.Reader
	sum    hash.Hash
	size   int64
	failed error
}

func newMeter(ctx context.Context, r io.Reader) *meter {
	return &meter{ctx: ctx, source: r, sum: sha256.New()}
}

func (m *meter) Read(p []byte) (int, error) {
	if err := m.ctx.Err(); err != nil {
		m.failed = err
		return 0, err
	}
	n, err := m.source.Read(p)
	m.sum.Write(p[:n])
	m.size += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		m.failed = err
	}
	return n, err
}

func (m *meter) digest() release.Digest { return release.DigestFrom(m.sum.Sum(nil)) }

// verified reads a blob and fails at its end unless the bytes had the digest and the number that was promised.
type verified struct {
	io.ReadCloser
	meter *meter
	want  release.Digest
	size  int64
	where string
}

func verify(ctx context.Context, rc io.ReadCloser, want release.Digest, size int64, where string) io.ReadCloser {
	return &verified{ReadCloser: rc, meter: newMeter(ctx, rc), want: want, size: size, where: where}
}

func (v *verified) Read(p []byte) (int, error) {
	n, err := v.meter.Read(p)
	switch {
	case err == nil:
		return n, nil
	case !errors.Is(err, io.EOF):
		return n, fault.As(fault.Transient, err)
	}
	if got := v.meter.digest(); got != v.want {
		return n, fault.New(fault.Internal,
			"cannot trust blob %s in %s: its %d bytes (expected %d) have digest %s; the store is damaged, remove the blob and make it again",
			v.want, v.where, v.meter.size, v.size, got)
	}
	return n, io.EOF
}
