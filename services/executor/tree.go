package executor

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
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
	return fs.WalkDir(source.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil || name == "." {
			return err
		}
		return copyEntry(source, target, filepath.FromSlash(name), entry)
	})
}

func copyEntry(source, target *os.Root, name string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if err != nil {
		return err
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		return target.Mkdir(name, mode.Perm()|0o700)
	case mode&fs.ModeSymlink != 0:
		to, err := source.Readlink(name)
		if err != nil {
			return err
		}
		return target.Symlink(to, name)
	case mode.IsRegular():
		return copyFile(source, target, name, info)
	}
	return nil
}

// copyFile keeps the mode and the time: tools take a newer file for a changed one.
func copyFile(source, target *os.Root, name string, info fs.FileInfo) error {
	in, err := source.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := target.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm()|0o200)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	return target.Chtimes(name, info.ModTime(), info.ModTime())
}

// treeSize is how many bytes the files below a directory take; what cannot be read counts as nothing.
func treeSize(dir string) int64 {
	var size int64
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what is gone takes no room
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			size += occupied(info)
		}
		return nil
	})
	return size
}
