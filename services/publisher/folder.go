package publisher

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// folder is a directory that a target owns. Nothing in it is ever half written: a file is written aside, synced and
// renamed. Names cannot leave it, not even over links (os.Root).
type folder struct {
	path   string
	before func(op, name string) error // tests stop the world here; nil otherwise
}

// newFolder checks an option that names a directory. The definition belongs to the project and the machine does not:
// root says where directories may lie.
func newFolder(setup Setup, option string) (*folder, error) {
	dir := filepath.Clean(setup.Options[option])
	if setup.Root != "" && !filepath.IsAbs(dir) {
		dir = filepath.Join(setup.Root, dir)
	}
	if !filepath.IsAbs(dir) {
		return nil, fault.New(fault.Invalid, "cannot use option %q: found %q, expected an absolute path", option, dir)
	}
	if rel, err := filepath.Rel(setup.Root, dir); setup.Root != "" && (err != nil || !filepath.IsLocal(rel)) {
		return nil, fault.New(fault.Denied, "cannot use option %q: %q is outside the directory that the publisher may write", option, dir)
	}
	return &folder{path: dir}, nil
}

func (f *folder) root() (*os.Root, error) {
	if err := os.MkdirAll(f.path, 0o755); err != nil {
		return nil, diskFault("open", f.path, err)
	}
	root, err := os.OpenRoot(f.path)
	return root, diskFault("open", f.path, err)
}

// with runs fn with the folder open.
func (f *folder) with(op, name string, fn func(*os.Root) error) error {
	root, err := f.root()
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return diskFault(op, name, fn(root))
}

// view reads a file, or returns fs.ErrNotExist.
func (f *folder) view(name string, fn func(io.Reader) error) error {
	return f.with("read", name, func(root *os.Root) error {
		file, err := root.Open(name)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		return fn(file)
	})
}

// read returns a whole small file.
func (f *folder) read(name string, limit int64) (b []byte, err error) {
	err = f.view(name, func(r io.Reader) error {
		b, err = readAtMost(r, limit)
		return err
	})
	return b, err
}

// digest hashes a file.
func (f *folder) digest(name string) (d release.Digest, err error) {
	err = f.view(name, func(r io.Reader) error {
		d, err = digestOf(r)
		return err
	})
	return d, err
}

// has reports whether a file is there.
func (f *folder) has(name string) (found bool, err error) {
	err = f.with("look for", name, func(root *os.Root) error {
		info, err := root.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		found = err == nil && info.Mode().IsRegular()
		return err
	})
	return found, err
}

// write puts a file in its place, whole and on the disk, or not at all.
func (f *folder) write(name string, source io.Reader) error {
	if err := f.stop("write", name); err != nil {
		return err
	}
	return f.with("write", name, func(root *os.Root) error {
		if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
			return err
		}
		sweepFolder(root, path.Dir(name), time.Now())
		aside := path.Join(path.Dir(name), ".new-"+release.Derive(name, time.Now().String())[:12])
		if err := writeSynced(root, aside, source); err != nil {
			_ = root.Remove(aside)
			return err
		}
		return renameSynced(root, aside, name)
	})
}

// move renames a file within the folder.
func (f *folder) move(from, to string) error {
	if err := f.stop("move", to); err != nil {
		return err
	}
	return f.with("move", to, func(root *os.Root) error {
		if err := root.MkdirAll(path.Dir(to), 0o755); err != nil {
			return err
		}
		return renameSynced(root, from, to)
	})
}

func (f *folder) stop(op, name string) error {
	if f.before == nil {
		return nil
	}
	return f.before(op, name)
}

func writeSynced(root *os.Root, name string, source io.Reader) error {
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if _, err = io.Copy(file, source); err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// renameSynced makes the new name survive a power cut too.
func renameSynced(root *os.Root, from, to string) error {
	if err := root.Rename(from, to); err != nil {
		return err
	}
	dir, err := root.Open(path.Dir(to))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// lock keeps every other publisher, in this process or another, from changing the folder until unlock. The lock dies
// with its process.
func (f *folder) lock(ctx context.Context) (unlock func(), err error) {
	root, err := f.root()
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	file, err := root.OpenFile(".lock", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, diskFault("lock", f.path, err)
	}
	if err := flock(ctx, file); err != nil {
		_ = file.Close()
		return nil, fault.New(fault.Transient, "cannot lock %s: another publisher holds it: %w", f.path, err)
	}
	return func() { _ = file.Close() }, nil
}

func flock(ctx context.Context, file *os.File) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// diskFault gives an error of the disk its kind: permissions are for a person, the rest (a full disk, a mount that is
// gone) may pass.
func diskFault(op, name string, err error) error {
	var known *fault.Error
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case errors.Is(err, fs.ErrPermission) || strings.Contains(err.Error(), "escapes from parent"):
		return fault.New(fault.Denied, "cannot %s %s: %w", op, name, err)
	default:
		return fault.New(fault.Transient, "cannot %s %s: %w", op, name, err)
	}
}
