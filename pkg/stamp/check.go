package stamp

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// File is an open artifact.
type File interface {
	io.ReaderAt
	io.Closer
}

// limits bound what is read of one artifact.
type limits struct {
	unpacked  int64 // bytes of all entries that are looked at, unpacked
	directory int64 // bytes of a zip's directory
	entries   int   // of a tar
	document  int64 // bytes of one JSON document of an OCI layout
	documents int   // of an OCI layout
}

func defaults() limits {
	return limits{unpacked: 4 << 30, directory: 16 << 20, entries: 1_000_000, document: 4 << 20, documents: 1000}
}

// Check returns nil if the artifact carries the commit. If it does not, the error has the kind Invalid and says where
// was looked, what was expected and which other commit stands there. An error of reading keeps its kind.
func Check(ctx context.Context, a release.Artifact, open func() (File, int64, error), commit release.Commit) error {
	if !commit.Valid() {
		return fault.New(fault.Invalid, "cannot check the stamp of %s: commit is %q, expected 40 hexadecimal digits", a.Name, commit)
	}
	if !doublestar.ValidatePattern(a.StampIn) {
		return fault.New(fault.Invalid, "cannot check the stamp of %s: %q is no glob of entries", a.Name, a.StampIn)
	}
	file, size, err := open()
	if err != nil {
		return fmt.Errorf("cannot check the stamp of %s: %w", a.Name, err)
	}
	defer func() { _ = file.Close() }()
	return check(&watched{ctx: ctx, ReaderAt: file}, size, a, commit, defaults())
}

func check(file *watched, size int64, a release.Artifact, commit release.Commit, l limits) error {
	c := &checker{file: file, size: size, in: a.StampIn, search: newSearch(commit), limits: l, left: l.unpacked}
	err := c.look()
	switch {
	case file.failed != nil:
		// Whatever was concluded from half an artifact does not count.
		return fmt.Errorf("cannot check the stamp of %s: %w", a.Name, fault.As(fault.Transient, file.failed))
	case err != nil:
		return fmt.Errorf("cannot check the stamp of %s: %w", a.Name, err)
	case !c.found:
		return fault.New(fault.Invalid, "cannot take %s for commit %s: %s; build it so that it carries the commit ($SLUICE_COMMIT)",
			a.Name, commit, c.missing())
	}
	return nil
}

// checker looks through one artifact.
type checker struct {
	file   *watched
	size   int64
	in     string // glob of entries
	search *search
	limits limits
	left   int64 // bytes that may still be unpacked

	found  bool   // the commit is there
	place  string // where was looked, for people
	looked int    // entries that were looked at
	seen   []string
	other  release.Commit // stands where the commit should
	where  string         // the entry with other
}

// look goes by the first bytes: names lie.
func (c *checker) look() error {
	head := make([]byte, 512)
	n, err := c.file.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	head = head[:n]
	switch {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")):
		return c.zip()
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		return c.gzip()
	case isTar(head):
		return c.tarOrLayout()
	case c.in != "":
		return fault.New(fault.Invalid, "cannot look for entries %q: it is neither a zip nor a tar", c.in)
	}
	c.place = "its bytes"
	return c.entry("", io.NewSectionReader(c.file, 0, c.size))
}

func isTar(head []byte) bool { return len(head) == 512 && string(head[257:262]) == "ustar" }

func (c *checker) gzip() error {
	z, err := gzip.NewReader(bufio.NewReaderSize(io.NewSectionReader(c.file, 0, c.size), 256<<10))
	if err != nil {
		return fault.New(fault.Invalid, "cannot read it as gzip: %w", err)
	}
	in := bufio.NewReaderSize(c.bound(z), 64<<10)
	head, _ := in.Peek(512)
	if isTar(head) {
		return c.tar(in)
	}
	if c.in != "" {
		return fault.New(fault.Invalid, "cannot look for entries %q: it is gzip of what is no tar", c.in)
	}
	c.place = "its unpacked bytes"
	return c.scan("", in)
}

// wanted reports whether an entry is one to look at, and remembers some names for the error.
func (c *checker) wanted(name string) bool {
	if c.in == "" || doublestar.MatchUnvalidated(c.in, name) {
		c.looked++
		return true
	}
	if len(c.seen) < 5 {
		c.seen = append(c.seen, name)
	}
	return false
}

// entry looks at one entry, within the bound of all.
func (c *checker) entry(name string, r io.Reader) error { return c.scan(name, c.bound(r)) }

func (c *checker) scan(name string, r io.Reader) error {
	found, other, err := c.search.scan(r)
	c.found = c.found || found
	if c.other == "" && other != "" {
		c.other, c.where = other, name
	}
	if err != nil {
		return unreadable(name, err)
	}
	return nil
}

func unreadable(name string, err error) error {
	if name == "" {
		return fault.As(fault.Invalid, fmt.Errorf("cannot read it: %w", err))
	}
	return fault.As(fault.Invalid, fmt.Errorf("cannot read its entry %q: %w", name, err))
}

// missing says what was found instead of the commit.
func (c *checker) missing() string {
	switch {
	case c.in != "" && c.looked == 0:
		return fmt.Sprintf("it has no entry that matches %q, but %q", c.in, c.seen)
	case c.other == "":
		return fmt.Sprintf("looked in %s and found no commit", c.place)
	case c.where != "":
		return fmt.Sprintf("looked in %s and found another commit, %s in %q", c.place, c.other, c.where)
	default:
		return fmt.Sprintf("looked in %s and found another commit, %s", c.place, c.other)
	}
}

// entries says where was looked, when that was an archive's entries.
func (c *checker) entries() string {
	if c.in == "" {
		return fmt.Sprintf("all of its %d entries", c.looked)
	}
	return fmt.Sprintf("its %d entries that match %q", c.looked, c.in)
}

// bound makes a reader fail when more than what is left would be unpacked.
func (c *checker) bound(r io.Reader) io.Reader { return &bounded{r: r, c: c} }

type bounded struct {
	r io.Reader
	c *checker
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.c.left -= int64(n); b.c.left < 0 {
		return 0, fault.New(fault.Invalid, "it unpacks to more than %d bytes: name the entry that carries the commit (stamp_in)", b.c.limits.unpacked)
	}
	return n, err
}

// watched remembers how reading the artifact failed: then it says nothing about the stamp. It stops with its context.
type watched struct {
	ctx context.Context
	io.ReaderAt
	failed error
}

// ReadAt implements io.ReaderAt.
func (w *watched) ReadAt(p []byte, off int64) (int, error) {
	if err := w.ctx.Err(); err != nil {
		w.failed = err
		return 0, err
	}
	if off < 0 {
		return 0, io.ErrUnexpectedEOF // a zip may say so; that is not the store's failure
	}
	n, err := w.ReaderAt.ReadAt(p, off)
	if err != nil && !errors.Is(err, io.EOF) {
		w.failed = err
	}
	return n, err
}
