package blob

import (
	"context"
	"io"
	"io/fs"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// Store is a place for blobs. All methods may be called by many goroutines and by many processes at once.
type Store interface {
	// Put stores everything that r has and returns its digest and size in bytes. An error of r itself is returned with
	// the kind that it has; nothing is stored then.
	Put(ctx context.Context, r io.Reader) (release.Digest, int64, error)

	// Open returns the bytes of a blob and their number. The reader ends in io.EOF only if the bytes have the digest;
	// so what was read is to be believed only after io.EOF.
	Open(ctx context.Context, d release.Digest) (io.ReadCloser, int64, error)

	// Has reports whether a blob is there.
	Has(ctx context.Context, d release.Digest) (bool, error)
}

// missing is the error of a blob that is not in a store.
func missing(d release.Digest, where string) error {
	return fault.New(fault.Invalid, "cannot open blob %s: it is not in %s: %w", d, where, fs.ErrNotExist)
}

// checkDigest refuses what would not name a blob, before it becomes part of a path.
func checkDigest(d release.Digest) error {
	if !d.Valid() {
		return fault.New(fault.Invalid, "cannot use digest %q: expected \"sha256:\" and 64 hexadecimal digits", d)
	}
	return nil
}

// key is where a blob lies below a store's root, with two levels so that no directory grows too large.
func key(d release.Digest) string { return "sha256/" + d.Hex()[:2] + "/" + d.Hex() }
