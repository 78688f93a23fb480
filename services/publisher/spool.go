package publisher

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// digestOf hashes a stream to its end.
func digestOf(r io.Reader) (release.Digest, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, r); err != nil {
		return "", err
	}
	return release.DigestFrom(sum.Sum(nil)), nil
}

// spooled gives fn an item's bytes as a temporary file: zips are read from their end, and an upload states its size
// before it begins.
func spooled(ctx context.Context, temp string, item Item, fn func(*os.File, int64) error) error {
	file, err := os.CreateTemp(temp, "publish-")
	if err != nil {
		return fault.New(fault.Transient, "cannot make a temporary file: %w", err)
	}
	defer func() {
		_ = file.Close()
		_ = os.Remove(file.Name())
	}()
	if err := inUse(file); err != nil {
		return diskFault("lock", file.Name(), err)
	}
	size, err := copyItem(ctx, file, item)
	if err != nil {
		return err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return diskFault("rewind", file.Name(), err)
	}
	return fn(file, size)
}

func copyItem(ctx context.Context, w io.Writer, item Item) (int64, error) {
	rc, err := item.Open(ctx)
	if err != nil {
		return 0, fault.As(fault.Transient, fmt.Errorf("cannot open %q of the candidate: %w", item.Artifact.Name, err))
	}
	defer func() { _ = rc.Close() }()
	n, err := io.Copy(w, rc)
	if err != nil {
		return n, fault.As(fault.Transient, fmt.Errorf("cannot read %q of the candidate: %w", item.Artifact.Name, err))
	}
	return n, nil
}
