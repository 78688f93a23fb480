package pack

import (
	"archive/tar"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
)

// Limits bound what a tar may unpack to. A zero means the default.
type Limits struct {
	Bytes   int64 // of all files together; 64 GiB
	Entries int   // files, directories and links; one million
}

func (l Limits) orDefault() Limits {
	return Limits{Bytes: cmp.Or(l.Bytes, 64<<30), Entries: cmp.Or(l.Entries, 1_000_000)}
}

// Untar unpacks a tar stream into a directory, which it makes if it is not there. Whatever the stream says, nothing is
// written outside of the directory, no link leads out of it, and what is there already stays as it is. Names that leave,
// links that leave, hard links, devices, a name that comes twice and too much of anything are errors of kind Invalid;
// then the directory holds a part.
//
// The stream is read to its end, so that a reader that checks a digest has had its say when Untar returns nil.
func Untar(ctx context.Context, r io.Reader, dir string, limits Limits) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fault.New(fault.Transient, "cannot unpack into %s: %w", dir, err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fault.New(fault.Transient, "cannot unpack into %s: %w", dir, err)
	}
	defer func() { _ = root.Close() }()
	in := &source{ctx: ctx, r: r}
	u := &unpacker{root: root, in: in, tar: tar.NewReader(in), left: limits.orDefault(), real: map[string]bool{".": true}}
	if err := u.all(); err != nil {
		return fmt.Errorf("cannot unpack into %s: %w", dir, err)
	}
	return nil
}

type unpacker struct {
	root *os.Root
	in   *source
	tar  *tar.Reader
	left Limits
	real map[string]bool // directories that are known not to be links
}

func (u *unpacker) all() error {
	for {
		header, err := u.tar.Next()
		if errors.Is(err, io.EOF) {
			return u.drain()
		}
		if err != nil {
			return u.unreadable(err)
		}
		if u.left.Entries--; u.left.Entries < 0 {
			return fault.New(fault.Invalid, "cannot take more entries: the limit is reached at %q", header.Name)
		}
		if err := u.entry(header); err != nil {
			return err
		}
	}
}

// drain reads what follows the end of the tar: padding, normally.
func (u *unpacker) drain() error {
	const padding = 16 << 20
	n, err := io.CopyN(io.Discard, u.in, padding)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return u.unreadable(err)
	}
	return fault.New(fault.Invalid, "cannot take the tar: more than %d bytes follow its end", n)
}

// unreadable tells a source that failed, whose error stays as it is, from a source that is no tar.
func (u *unpacker) unreadable(err error) error {
	if u.in.failed != nil {
		return u.in.failed
	}
	return fault.New(fault.Invalid, "cannot read the tar: %w", err)
}

func (u *unpacker) entry(h *tar.Header) error {
	if h.Typeflag == tar.TypeXGlobalHeader {
		return nil // "git archive" writes its commit there
	}
	name := strings.TrimSuffix(strings.TrimPrefix(h.Name, "./"), "/")
	if h.Typeflag == tar.TypeDir && (name == "" || name == ".") {
		return nil
	}
	if err := checkName(name); err != nil {
		return err
	}
	if err := u.directory(path.Dir(name)); err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeDir:
		return u.directory(name)
	case tar.TypeSymlink:
		return u.link(name, h.Linkname)
	case tar.TypeReg:
		if sparse(h) {
			return fault.New(fault.Invalid, "cannot take %q: it has holes, expected all bytes of a file in the tar", name)
		}
		return u.file(name, h)
	default:
		return fault.New(fault.Invalid, "cannot take %q: it is of type %q, expected a file, a directory or a symbolic link", name, h.Typeflag)
	}
}

// sparse reports a file whose bytes are not all in the stream: a small tar could fill a disk with it.
func sparse(h *tar.Header) bool {
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return false
}

// directory makes a directory and those above it. A link that leads to a directory is refused: below it a name would
// not be where it says.
func (u *unpacker) directory(name string) error {
	if u.real[name] {
		return nil
	}
	if err := u.directory(path.Dir(name)); err != nil {
		return err
	}
	err := u.root.Mkdir(name, 0o755)
	if errors.Is(err, fs.ErrExist) {
		info, statErr := u.root.Lstat(name)
		if statErr == nil && !info.IsDir() {
			return fault.New(fault.Invalid, "cannot make directory %q: a %s is there", name, info.Mode().Type())
		}
		err = statErr
	}
	if err != nil {
		return fault.New(fault.Transient, "cannot make directory %q: %w", name, err)
	}
	u.real[name] = true
	return nil
}

func (u *unpacker) link(name, target string) error {
	if err := checkLink(name, target); err != nil {
		return err
	}
	return unwritable(name, u.root.Symlink(target, name))
}

func (u *unpacker) file(name string, h *tar.Header) error {
	if u.left.Bytes -= h.Size; h.Size < 0 || u.left.Bytes < 0 {
		return fault.New(fault.Invalid, "cannot take %q: with its %d bytes there are more than the limit", name, h.Size)
	}
	mode := fs.FileMode(0o644)
	if h.Mode&0o111 != 0 {
		mode = 0o755
	}
	file, err := u.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return unwritable(name, err)
	}
	out := &sink{w: file}
	_, err = io.CopyBuffer(out, struct{ io.Reader }{u.tar}, make([]byte, 256<<10))
	closed := file.Close()
	if err != nil && out.failed == nil {
		return u.unreadable(err)
	}
	return unwritable(name, errors.Join(out.failed, closed))
}

// sink tells errors of the disk from errors of the stream.
type sink struct {
	w      io.Writer
	failed error
}

func (s *sink) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	s.failed = err
	return n, err
}

func unwritable(name string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrExist):
		return fault.New(fault.Invalid, "cannot write %q: it is there already; expected each name once and an empty directory", name)
	default:
		return fault.New(fault.Transient, "cannot write %q: %w", name, err)
	}
}
