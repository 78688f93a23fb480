package blob

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// Directory keeps blobs as files. A blob is written aside, synced and renamed, so it survives a power cut once Put has
// returned, and nothing half written is ever seen under a digest.
type Directory struct{ path string }

// Dir returns the store in a directory, which the first Put makes if it is not there.
func Dir(path string) *Directory { return &Directory{path: path} }

func (s *Directory) String() string { return "directory " + s.path }

// Put implements Store. A blob that is there already is written again: that heals a damaged one, and costs no more than
// finding out that it is whole.
func (s *Directory) Put(ctx context.Context, r io.Reader) (release.Digest, int64, error) {
	in := newMeter(ctx, r)
	temp, err := s.writeAside(in)
	if in.failed != nil {
		return "", 0, in.failed
	}
	if err == nil {
		err = s.commit(temp, filepath.Join(s.path, key(in.digest())))
	}
	if err != nil {
		return "", 0, fault.New(fault.Transient, "cannot store blob in %s: %w", s.path, err)
	}
	return in.digest(), in.size, nil
}

// writeAside copies r into a temporary file and syncs it. On an error nothing is left.
func (s *Directory) writeAside(r io.Reader) (name string, err error) {
	dir := filepath.Join(s.path, "tmp")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	file, err := os.CreateTemp(dir, "put-")
	if err != nil {
		return "", err
	}
	defer func() {
		err = errors.Join(err, file.Close())
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()
	if _, err := io.CopyBuffer(file, struct{ io.Reader }{r}, make([]byte, 256<<10)); err != nil {
		return "", err
	}
	if err := file.Chmod(0o444); err != nil {
		return "", err
	}
	return file.Name(), file.Sync()
}

// commit gives a temporary file its name and makes the name durable.
func (s *Directory) commit(temp, final string) error {
	err := os.Rename(temp, final)
	if errors.Is(err, fs.ErrNotExist) {
		if err = s.makeShelf(filepath.Dir(final)); err == nil {
			err = os.Rename(temp, final)
		}
	}
	if err == nil {
		return syncDir(filepath.Dir(final))
	}
	_ = os.Remove(temp)
	return err
}

// makeShelf makes sha256/ab and the directories above it, and makes their names durable.
func (s *Directory) makeShelf(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, parent := range []string{filepath.Dir(dir), s.path, filepath.Dir(s.path)} {
		if err := syncDir(parent); err != nil {
			return err
		}
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Open implements Store.
func (s *Directory) Open(ctx context.Context, d release.Digest) (io.ReadCloser, int64, error) {
	file, size, err := s.file(d)
	if err != nil {
		return nil, 0, err
	}
	return verify(ctx, file, d, size, s.path), size, nil
}

func (s *Directory) file(d release.Digest) (*os.File, int64, error) {
	if err := checkDigest(d); err != nil {
		return nil, 0, err
	}
	file, err := os.Open(filepath.Join(s.path, key(d)))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, 0, missing(d, s.path)
	case err != nil:
		return nil, 0, fault.New(fault.Transient, "cannot open blob %s: %w", d, err)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, 0, fault.New(fault.Transient, "cannot open blob %s: %w", d, errors.Join(err, file.Close()))
	}
	return file, info.Size(), nil
}

// Has implements Store.
func (s *Directory) Has(_ context.Context, d release.Digest) (bool, error) {
	if err := checkDigest(d); err != nil {
		return false, err
	}
	_, err := os.Stat(filepath.Join(s.path, key(d)))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fault.New(fault.Transient, "cannot look for blob %s: %w", d, err)
	}
	return true, nil
}

// sweep removes the temporary files that crashes left behind.
func (s *Directory) sweep(_ context.Context, before time.Time) error {
	entries, err := os.ReadDir(filepath.Join(s.path, "tmp"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		info, statErr := entry.Info()
		if statErr == nil && info.ModTime().Before(before) {
			err = errors.Join(err, os.Remove(filepath.Join(s.path, "tmp", entry.Name())))
		}
	}
	if err != nil {
		return fault.New(fault.Transient, "cannot sweep %s: %w", s.path, err)
	}
	return nil
}
