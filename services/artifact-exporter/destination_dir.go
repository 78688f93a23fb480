package exporter

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
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

// directory is a destination in a file system. A file is written aside, synced and renamed; nothing leaves the directory,
// not even over links that somebody put there (os.Root).
type directory struct{ path string }

// aside holds the files that are being written. No other name begins with a dot.
const aside = ".aside"

func openDirectory(c DestinationConfig, _ secret) (destination, error) {
	dir, err := directoryOf(c.URL)
	if err != nil {
		return nil, err
	}
	return &directory{path: filepath.Clean(dir)}, nil
}

func (d *directory) location(name string) string {
	return filepath.Join(d.path, filepath.FromSlash(name))
}

// with runs fn with the directory open, and gives what the file system says a kind: a disk can be mended.
func (d *directory) with(what, name string, fn func(*os.Root) error) error {
	err := os.MkdirAll(d.path, 0o755)
	if err == nil {
		var root *os.Root
		if root, err = os.OpenRoot(d.path); err == nil {
			err = fn(root)
			_ = root.Close()
		}
	}
	var known *fault.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	return fault.New(fault.Transient, "cannot %s %s: %w", what, d.location(name), err)
}

func (d *directory) put(ctx context.Context, name string, f file) error {
	return d.with("write", name, func(root *os.Root) error {
		info, err := root.Lstat(name)
		switch {
		case err == nil && info.Mode().IsRegular() && info.Size() == f.size:
			return d.same(ctx, root, name, f)
		case err == nil:
			return fault.New(fault.Conflict, "cannot write %s: a %s of %d bytes is there, expected nothing or the file of %d bytes",
				d.location(name), info.Mode().Type(), info.Size(), f.size)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		from, err := f.open(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = from.Close() }()
		return d.write(ctx, root, name, from, root.Rename)
	})
}

// same looks that a file which is there has the bytes that were to be written: the size alone says nothing.
func (d *directory) same(ctx context.Context, root *os.Root, name string, f file) error {
	there, err := root.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = there.Close() }()
	return sameBytes(d.location(name), ended{ctx, there}, f)
}

// sameBytes reads what is there to its end and compares its digest.
func sameBytes(where string, there io.Reader, f file) error {
	sum := sha256.New()
	if _, err := io.Copy(sum, there); err != nil {
		return err
	}
	if got := release.DigestFrom(sum.Sum(nil)); got != f.digest {
		return fault.New(fault.Conflict, "cannot write %s: a file with digest %s is there, expected nothing or the one with %s", where, got, f.digest)
	}
	return nil
}

// write writes a file aside and gives it its name by rename or link.
func (d *directory) write(ctx context.Context, root *os.Root, name string, from io.Reader, commit func(from, to string) error) (err error) {
	if err := makeFolder(root, path.Dir(name)); err != nil {
		return err
	}
	temp, err := newAside(root)
	if err != nil {
		return err
	}
	out, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = root.Remove(temp) }() // after a rename there is nothing to remove
	_, err = io.CopyBuffer(struct{ io.Writer }{out}, struct{ io.Reader }{ended{ctx, from}}, make([]byte, 256<<10))
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	if err := commit(temp, name); err != nil {
		return err
	}
	return syncFolder(root, path.Dir(name))
}

// newAside is a name for something that is being written.
func newAside(root *os.Root) (string, error) {
	return aside + "/" + rand.Text(), makeFolder(root, aside)
}

// ended is a reader that stops with its context.
type ended struct {
	ctx context.Context
	io.Reader
}

func (e ended) Read(p []byte) (int, error) {
	if err := e.ctx.Err(); err != nil {
		return 0, fault.As(fault.Transient, err)
	}
	return e.Reader.Read(p)
}

// makeFolder makes a folder and those above it, durably.
func makeFolder(root *os.Root, name string) error {
	if info, err := root.Stat(name); err == nil && info.IsDir() {
		return nil
	}
	if err := makeFolder(root, path.Dir(name)); err != nil {
		return err
	}
	if err := root.Mkdir(name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncFolder(root, path.Dir(name))
}

func syncFolder(root *os.Root, name string) error {
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func (d *directory) claim(ctx context.Context, name string, text []byte) (now []byte, err error) {
	err = d.with("claim", name, func(root *os.Root) error {
		if now, err = root.ReadFile(name); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		// A link is made only if there is nothing: the first one wins.
		err = d.write(ctx, root, name, strings.NewReader(string(text)), root.Link)
		if err == nil || errors.Is(err, fs.ErrExist) {
			now, err = root.ReadFile(name)
		}
		return err
	})
	return now, err
}

// lead replaces the link by one that leads elsewhere; that happens at once. The lock keeps two exporters from
// asking what is there now and both replacing it.
func (d *directory) lead(ctx context.Context, folder string, to manifest, replaces func([]byte) (bool, error)) error {
	return d.with("lead", folder, func(root *os.Root) error {
		unlock, err := lock(ctx, root)
		if err != nil {
			return err
		}
		defer unlock()
		now, err := root.ReadFile(folder + "/" + manifestFile)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if yes, err := replaces(now); err != nil || !yes {
			return err
		}
		return d.link(root, folder, to.Home)
	})
}

func (d *directory) link(root *os.Root, folder, home string) error {
	if info, err := root.Lstat(folder); err == nil && info.Mode().Type() != fs.ModeSymlink {
		return fault.New(fault.Conflict, "cannot make %s lead to %s: expected a link there or nothing, found a %s; move it away",
			d.location(folder), home, info.Mode())
	}
	temp, err := newAside(root)
	if err != nil {
		return err
	}
	if err := root.Symlink(filepath.FromSlash(home), temp); err != nil {
		return err
	}
	if err := root.Rename(temp, folder); err != nil {
		return errors.Join(err, root.Remove(temp))
	}
	return syncFolder(root, ".")
}

// lock waits for the directory's lock, which ends with its holder.
func lock(ctx context.Context, root *os.Root) (unlock func(), err error) {
	f, err := root.OpenFile(".lock", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil, errors.Join(err, f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fault.As(fault.Transient, ctx.Err()), f.Close())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (d *directory) sweep(_ context.Context, before time.Time) error {
	return d.with("sweep", aside, func(root *os.Root) error {
		left, err := fs.ReadDir(root.FS(), aside)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		for _, entry := range left {
			if info, statErr := entry.Info(); statErr == nil && info.ModTime().Before(before) {
				err = errors.Join(err, root.Remove(aside+"/"+entry.Name()))
			}
		}
		return err
	})
}
