package stamp

import (
	"archive/tar"
	"errors"
	"io"
	"path"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
)

// tarOrLayout reads the names first: an OCI layout is told by the file "oci-layout".
func (c *checker) tarOrLayout() error {
	if c.in == "" {
		l, err := c.index()
		if err != nil {
			return err
		}
		if _, ok := l.at["oci-layout"]; ok {
			return c.images(l)
		}
	}
	return c.tar(c.bound(io.NewSectionReader(c.file, 0, c.size)))
}

func (c *checker) tar(r io.Reader) error {
	t := tar.NewReader(r)
	for n := 0; ; n++ {
		h, err := c.next(t, n)
		if errors.Is(err, io.EOF) {
			c.place = c.entries()
			return nil
		}
		if err != nil {
			return err
		}
		name := cleanName(h.Name)
		if h.Typeflag != tar.TypeReg || !c.wanted(name) {
			continue
		}
		if err := c.scan(name, t); err != nil || c.found {
			return err
		}
	}
}

// next is the n-th entry, or io.EOF.
func (c *checker) next(t *tar.Reader, n int) (*tar.Header, error) {
	h, err := t.Next()
	switch {
	case errors.Is(err, io.EOF):
		return nil, io.EOF
	case err != nil:
		return nil, fault.As(fault.Invalid, err)
	case n >= c.limits.entries:
		return nil, fault.New(fault.Invalid, "cannot read more than %d entries of it", c.limits.entries)
	}
	return h, nil
}

func cleanName(name string) string { return strings.TrimPrefix(path.Clean("/"+name), "/") }

// layout says where the files of a tar are.
type layout struct {
	at map[string]span
}

type span struct{ offset, size int64 }

// index notes where the files of an OCI layout begin; the tar itself is skipped through, not read.
func (c *checker) index() (layout, error) {
	l := layout{at: map[string]span{}}
	in := io.NewSectionReader(c.file, 0, c.size)
	t := tar.NewReader(in)
	for n := 0; ; n++ {
		h, err := c.next(t, n)
		if errors.Is(err, io.EOF) {
			return l, nil
		}
		if err != nil {
			return layout{}, err
		}
		// A tar reader reads no further than the header, so the file begins where it stands. That is not so for files with
		// holes, which no layout has.
		offset, err := in.Seek(0, io.SeekCurrent)
		if err != nil {
			return layout{}, err
		}
		name := path.Clean(h.Name) // as the publisher reads it: "/index.json" is no file of a layout
		if h.Typeflag == tar.TypeReg && h.Size <= c.size-offset && inLayout(name) {
			l.at[name] = span{offset, h.Size}
		}
	}
}

func inLayout(name string) bool {
	return name == "oci-layout" || name == "index.json" || strings.HasPrefix(name, "blobs/sha256/")
}
