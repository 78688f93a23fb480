package exporter

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"golang.org/x/sync/errgroup"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// Several files go at a time, since each waits for a disk or a server, as long as there is room in memory.
const (
	atATime = 8
	room    = 50 << 20 // bytes, of one destination
	largest = 25 << 20 // bytes that a file of any size takes
)

// cost is what it takes in memory to keep a file, in bytes.
func cost(f file) int64 { return min(2*f.size+64<<10, largest) }

// blobFile is a blob under a path.
func (x *exporter) blobFile(path string, d release.Digest, size int64, mediaType string) file {
	return file{path: path, digest: d, size: size, mediaType: mediaType, open: func(ctx context.Context) (io.ReadCloser, error) {
		rc, _, err := x.deps.Blobs.Open(ctx, d)
		return rc, err
	}}
}

// storedBlob is blobFile for a blob whose size is not known.
func (x *exporter) storedBlob(ctx context.Context, path string, d release.Digest, mediaType string) (file, error) {
	rc, size, err := x.deps.Blobs.Open(ctx, d)
	if err != nil {
		return file{}, err
	}
	return x.blobFile(path, d, size, mediaType), rc.Close()
}

// textFile is a small text under a path.
func textFile(path string, text []byte) file {
	return file{
		path: path, digest: release.DigestOf(text), size: int64(len(text)), mediaType: "application/json",
		open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil },
	}
}

// keep writes files below a home.
func (x *exporter) keep(ctx context.Context, home string, files ...file) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atATime)
	for _, f := range files {
		group.Go(func() error { return x.keepOne(ctx, home, f) })
	}
	return group.Wait()
}

func (x *exporter) keepOne(ctx context.Context, home string, f file) error {
	if err := x.room.Acquire(ctx, cost(f)); err != nil {
		return fault.As(fault.Transient, err)
	}
	defer x.room.Release(cost(f))
	if err := x.to.put(ctx, home+"/"+f.path, f); err != nil {
		return fmt.Errorf("cannot keep %s of %s at %s: %w", f.path, home, x.name, err)
	}
	return nil
}
