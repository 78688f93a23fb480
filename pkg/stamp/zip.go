package stamp

import (
	"archive/zip"
	"io"

	"github.com/sluiceci/sluice/pkg/fault"
)

func (c *checker) zip() error {
	directory := &capped{ReaderAt: c.file, left: c.limits.directory}
	z, err := zip.NewReader(directory, c.size)
	switch {
	case directory.over:
		return fault.New(fault.Invalid, "cannot read it as a zip: its directory has more than %d bytes", c.limits.directory)
	case err != nil:
		return fault.New(fault.Invalid, "cannot read it as a zip: %w", err)
	}
	directory.off = true
	for _, f := range z.File {
		if !f.Mode().IsRegular() || !c.wanted(f.Name) {
			continue
		}
		if err := c.zipped(f); err != nil || c.found {
			return err
		}
	}
	c.place = c.entries()
	return nil
}

func (c *checker) zipped(f *zip.File) error {
	r, err := f.Open()
	if err != nil {
		return unreadable(f.Name, err)
	}
	defer func() { _ = r.Close() }()
	return c.entry(f.Name, r)
}

// capped bounds what is read of a zip's directory, because all of it is held in memory.
type capped struct {
	io.ReaderAt
	left int64
	over bool
	off  bool // the directory has been read
}

// ReadAt implements io.ReaderAt.
func (c *capped) ReadAt(p []byte, offset int64) (int, error) {
	if c.off {
		return c.ReaderAt.ReadAt(p, offset)
	}
	if c.left -= int64(len(p)); c.left < 0 {
		c.over = true
		return 0, io.ErrUnexpectedEOF
	}
	return c.ReaderAt.ReadAt(p, offset)
}
