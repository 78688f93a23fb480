package executor

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/files"
)

// copyTree copies files, directories and links as they are; what is none of these is left out. What is not there is
// copied as an empty directory. Files are copied by the kernel, and share their blocks where the file system can.
func copyTree(ctx context.Context, from, to string) error {
	if err := os.MkdirAll(to, dirMode); err != nil {
		return err
	}
	source, err := os.OpenRoot(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	target, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer func() { _ = target.Close() }()
	c := copier{source: source, target: target}
	return files.Walk(ctx, source, ".", files.Limits{}, c.entry)
}

// copier copies what is below one open directory to below another.
type copier struct {
	source, target *os.Root
	below          string // of target
	bounded        bool
	left           int64 // bytes, when bounded
}

func (c *copier) entry(name string, _ fs.DirEntry) error {
	info, err := c.source.Lstat(name)
	if err != nil {
		return err
	}
	at := path.Join(c.below, name)
	switch mode := info.Mode(); {
	case mode.IsDir():
		return c.target.Mkdir(at, mode.Perm()|0o700)
	case mode&fs.ModeSymlink != 0:
		to, err := c.source.Readlink(name)
		if err != nil {
			return err
		}
		return c.target.Symlink(to, at)
	case mode.IsRegular():
		return c.file(name, at)
	}
	return nil
}

// file keeps the mode and the time: tools take a newer file for a changed one.
func (c *copier) file(name, at string) error {
	in, info, err := files.Open(c.source, name)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	if c.left -= info.Size(); c.bounded && c.left < 0 {
		return fault.New(fault.Invalid, "%s does not fit in what is left for it", name)
	}
	out, err := c.target.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm()|0o200)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(in, info.Size()))
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	return c.target.Chtimes(at, info.ModTime(), info.ModTime())
}

const (
	// sizing is how long the files of an attempt may be counted.
	sizing = 20 * time.Second
	// sizingAll is how long those of all attempts may be counted between two heartbeats.
	sizingAll = 500 * time.Millisecond
)

// treeSize is how many bytes the files below a directory take; what cannot be read counts as nothing. A tree with more names or
// deeper directories than a walk may see, or that takes too long, is an error, beside the bytes that were found by then.
func treeSize(ctx context.Context, dir string, within time.Duration) (size int64, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, nil //nolint:nilerr // what is gone takes no room
	}
	defer func() { _ = root.Close() }()
	ctx, cancel := context.WithTimeoutCause(ctx, within, fault.New(fault.Invalid, "it takes more than %s to count the files", within))
	defer cancel()
	err = files.Walk(ctx, root, ".", files.Limits{}, func(_ string, entry fs.DirEntry) error {
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			size += occupied(info)
		}
		return nil
	})
	if errors.Is(err, fs.ErrPermission) {
		err = nil
	}
	return size, err
}
