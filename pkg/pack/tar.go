package pack

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/files"
)

func validName(name string) bool { return fs.ValidPath(name) && name != "." }

// Tar writes a directory as a tar stream. Sockets, devices and links that leave the directory are errors of kind Invalid
// that name the path; so is a file that changes while it is read. An error of w is returned as it is.
func Tar(ctx context.Context, w io.Writer, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fault.New(fault.Transient, "cannot pack %s: %w", dir, err)
	}
	defer func() { _ = root.Close() }()
	return tarRoot(ctx, w, root)
}

func tarRoot(ctx context.Context, w io.Writer, root *os.Root) error {
	if err := count(ctx, root, files.Limits{}); err != nil {
		return err
	}
	p := &packer{ctx: ctx, dir: root.Name(), root: root, out: tar.NewWriter(w)}
	// WalkDir visits the names of each directory in their order, so the stream is always the same.
	if err := fs.WalkDir(root.FS(), ".", p.visit); err != nil {
		return err
	}
	return p.out.Close()
}

// count refuses a directory with more entries than can be looked through, before all names of a directory are held to be sorted.
func count(ctx context.Context, root *os.Root, limits files.Limits) error {
	err := files.Walk(ctx, root, ".", limits, func(string, fs.DirEntry) error { return nil })
	if fault.Is(err, fault.Invalid) {
		return fault.New(fault.Invalid, "cannot pack %s: %w", root.Name(), err)
	}
	return ctx.Err() // what else there is, the packing finds and names
}

// Stream is Tar as a reader, which a store can take straight away. Whoever opens it closes it; that ends the packing.
func Stream(ctx context.Context, dir string) io.ReadCloser {
	return streamed(ctx, func(ctx context.Context, w io.Writer) error { return Tar(ctx, w, dir) })
}

// StreamRoot is Stream of a directory that is open, which it closes.
func StreamRoot(ctx context.Context, root *os.Root) io.ReadCloser {
	return streamed(ctx, func(ctx context.Context, w io.Writer) error {
		defer func() { _ = root.Close() }()
		return tarRoot(ctx, w, root)
	})
}

func streamed(ctx context.Context, pack func(context.Context, io.Writer) error) io.ReadCloser {
	ctx, cancel := context.WithCancel(ctx)
	r, w := io.Pipe()
	s := &stream{PipeReader: r, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		_ = w.CloseWithError(pack(ctx, w))
	}()
	return s
}

type stream struct {
	*io.PipeReader
	cancel context.CancelFunc
	done   chan struct{}
}

// Close ends the packing and waits until it has ended.
func (s *stream) Close() error {
	s.cancel()
	err := s.PipeReader.Close()
	<-s.done
	return err
}

type packer struct {
	ctx  context.Context
	dir  string
	root *os.Root
	out  *tar.Writer
}

func (p *packer) visit(name string, entry fs.DirEntry, err error) error {
	switch {
	case err != nil:
		return p.unreadable(name, err)
	case p.ctx.Err() != nil:
		return p.ctx.Err()
	case name == ".":
		return nil
	}
	if err := checkName(name); err != nil {
		return fmt.Errorf("cannot pack %s: %w", p.dir, err)
	}
	info, err := entry.Info()
	if err != nil {
		return p.unreadable(name, err)
	}
	switch info.Mode().Type() {
	case fs.ModeDir:
		return p.out.WriteHeader(header(name+"/", tar.TypeDir, 0o755))
	case fs.ModeSymlink:
		return p.link(name)
	case 0:
		return p.file(name, info)
	default:
		return fault.New(fault.Invalid, "cannot pack %s: %q is a %s, expected a file, a directory or a link", p.dir, name, info.Mode())
	}
}

// header is the same for the same entry, whoever made it and whenever.
func header(name string, kind byte, mode int64) *tar.Header {
	return &tar.Header{Name: name, Typeflag: kind, Mode: mode, ModTime: time.Unix(0, 0)}
}

func (p *packer) link(name string) error {
	target, err := p.root.Readlink(name)
	if err != nil {
		return p.unreadable(name, err)
	}
	if err := checkLink(name, target); err != nil {
		return fmt.Errorf("cannot pack %s: %w", p.dir, err)
	}
	h := header(name, tar.TypeSymlink, 0o777)
	h.Linkname = target
	return p.out.WriteHeader(h)
}

func (p *packer) file(name string, seen fs.FileInfo) error {
	// A pipe that took the file's place meanwhile must not hold us up.
	file, err := p.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return p.unreadable(name, err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return p.unreadable(name, err)
	}
	if !os.SameFile(info, seen) {
		return p.changed(name)
	}
	return p.content(name, file, info)
}

func (p *packer) content(name string, file *os.File, info fs.FileInfo) error {
	mode := int64(0o644)
	if info.Mode()&0o111 != 0 {
		mode = 0o755
	}
	h := header(name, tar.TypeReg, mode)
	h.Size = info.Size()
	if err := p.out.WriteHeader(h); err != nil {
		return err
	}
	in := &source{ctx: p.ctx, r: file}
	n, err := io.CopyBuffer(struct{ io.Writer }{p.out}, in, make([]byte, 256<<10))
	switch {
	case in.failed != nil:
		return p.unreadable(name, in.failed)
	case errors.Is(err, tar.ErrWriteTooLong), err == nil && n < info.Size():
		return p.changed(name)
	}
	return err
}

// unreadable gives what the file system said a kind: a file that nobody may read is the product's fault.
func (p *packer) unreadable(name string, err error) error {
	kind := fault.Transient
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return p.changed(name)
	case errors.Is(err, fs.ErrPermission):
		kind = fault.Invalid
	}
	return fault.New(kind, "cannot pack %s: cannot read %q: %w", p.dir, name, err)
}

func (p *packer) changed(name string) error {
	return fault.New(fault.Invalid, "cannot pack %s: %q changed while it was read; files must not change while they are packed", p.dir, name)
}

// source is a reader that stops with its context and tells its own errors from those of the writer.
type source struct {
	ctx    context.Context
	r      io.Reader
	failed error
}

func (s *source) Read(b []byte) (int, error) {
	if s.failed = s.ctx.Err(); s.failed != nil {
		return 0, s.failed
	}
	n, err := s.r.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		s.failed = err
	}
	return n, err
}
