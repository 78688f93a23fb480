package exporter

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"golang.org/x/sync/errgroup"

	"github.com/sluiceci/sluice/pkg/release"
)

// small files go several at once, since each waits for a disk or a server; large ones go alone, since each fills buffers.
const (
	small   = 4 << 20 // bytes
	atATime = 8
)

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
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(atATime)
	for _, f := range files {
		if f.size < small {
			group.Go(func() error { return x.keepOne(inner, home, f) })
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, f := range files {
		if f.size >= small {
			if err := x.keepOne(ctx, home, f); err != nil {
				return err
			}
		}
	}
	return nil
}

func (x *exporter) keepOne(ctx context.Context, home string, f file) error {
	if err := x.to.put(ctx, home+"/"+f.path, f); err != nil {
		return fmt.Errorf("cannot keep %s of %s at %s: %w", f.path, home, x.name, err)
	}
	return nil
}
