package ssh

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/files"
)

// names are entries of a tree.
type names map[string]struct{}

// send writes a directory as a tar stream: what is there, with modes, times and links as they are. Sockets, pipes and
// devices are left out. It says what it sent.
func send(ctx context.Context, w io.Writer, dir string) (names, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fault.New(fault.Transient, "cannot send %s: %w", dir, err)
	}
	defer func() { _ = root.Close() }()
	if err := files.Walk(ctx, root, ".", files.Limits{}, func(string, fs.DirEntry) error { return nil }); err != nil { // it holds few names at once
		kind := fault.Transient
		if fault.Is(err, fault.Invalid) {
			kind = fault.Invalid
		}
		return nil, fault.New(kind, "cannot send %s: %w", dir, err)
	}
	out, sent := tar.NewWriter(w), names{}
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || ctx.Err() != nil || name == "." {
			return errors.Join(err, ctx.Err())
		}
		sent[name] = struct{}{}
		return sendEntry(out, root, name, entry)
	})
	if err != nil {
		return nil, fault.New(fault.Transient, "cannot send %s: %w", dir, err)
	}
	return sent, out.Close()
}

func sendEntry(out *tar.Writer, root *os.Root, name string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if err != nil {
		return err
	}
	target := ""
	switch info.Mode().Type() {
	case fs.ModeDir, 0:
	case fs.ModeSymlink:
		if target, err = root.Readlink(name); err != nil {
			return err
		}
	default:
		return nil
	}
	header, err := tar.FileInfoHeader(info, target)
	if err != nil {
		return err
	}
	header.Name, header.Uid, header.Gid, header.Uname, header.Gname = name, 0, 0, "", ""
	if info.IsDir() {
		header.Name += "/"
		header.Mode |= 0o700
	}
	if err := out.WriteHeader(header); err != nil || !info.Mode().IsRegular() {
		return err
	}
	file, err := root.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	_, err = io.CopyN(out, file, info.Size())
	return err
}

// receive writes a tar stream that the host sends over a directory, and removes what was sent there and did not come back.
// The host is not believed: nothing is written outside of the directory, and links are made but never followed out of it.
// What is no file, directory or link is left out.
func receive(ctx context.Context, r io.Reader, dir string, sent names) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fault.New(fault.Transient, "cannot receive into %s: %w", dir, err)
	}
	defer func() { _ = root.Close() }()
	came, err := receiveAll(ctx, root, r)
	if err != nil {
		return fault.New(fault.Transient, "cannot receive into %s: %w", dir, err)
	}
	for name := range sent {
		if _, ok := came[name]; !ok {
			err = errors.Join(err, root.RemoveAll(name))
		}
	}
	return err
}

func receiveAll(ctx context.Context, root *os.Root, r io.Reader) (names, error) {
	in, came := tar.NewReader(r), names{}
	for {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			_, err = io.Copy(io.Discard, r) // the padding
			return came, err
		}
		if err = errors.Join(err, ctx.Err()); err == nil {
			err = receiveEntry(root, header, in, came)
		}
		if err != nil {
			return nil, err
		}
	}
}

// receiveEntry makes one entry. A name that leaves the directory is an error of os.Root.
func receiveEntry(root *os.Root, header *tar.Header, content io.Reader, came names) error {
	name := path.Clean(strings.TrimPrefix(header.Name, "./"))
	if name == "." {
		return nil
	}
	if !fs.ValidPath(name) || strings.Count(name, "/") > files.MaxDepth {
		return fault.New(fault.Invalid, "the host sends %.200q: expected a path inside of the directory, at most %d deep", header.Name, files.MaxDepth)
	}
	if len(came) >= files.MaxEntries {
		return fault.New(fault.Invalid, "the host sends more than %d files", files.MaxEntries)
	}
	if err := makeWay(root, name, header.Typeflag == tar.TypeDir); err != nil {
		return err
	}
	came[name] = struct{}{}
	mode := fs.FileMode(header.Mode) & fs.ModePerm
	switch header.Typeflag {
	case tar.TypeDir:
		return makeDir(root, name, mode|0o700)
	case tar.TypeReg:
		return receiveFile(root, header, name, mode, content)
	case tar.TypeSymlink:
		return root.Symlink(header.Linkname, name)
	case tar.TypeLink:
		return root.Link(path.Clean(strings.TrimPrefix(header.Linkname, "./")), name)
	}
	return nil
}

// makeWay removes what is in the way of an entry. A directory that is to be one stays.
func makeWay(root *os.Root, name string, dir bool) error {
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return root.MkdirAll(path.Dir(name), 0o755)
	case err != nil || dir && info.IsDir():
		return err
	}
	return root.RemoveAll(name)
}

func makeDir(root *os.Root, name string, mode fs.FileMode) error {
	err := root.Mkdir(name, mode)
	if errors.Is(err, fs.ErrExist) {
		err = root.Chmod(name, mode)
	}
	return err
}

func receiveFile(root *os.Root, header *tar.Header, name string, mode fs.FileMode, content io.Reader) error {
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode|0o200)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	err = errors.Join(err, file.Chmod(mode), file.Close())
	if err != nil {
		return err
	}
	return root.Chtimes(name, header.ModTime, header.ModTime)
}
