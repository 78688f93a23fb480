package git

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// mirror is a bare repository that only this package writes to.
type mirror struct {
	path   string
	format string        // "sha1" or "sha256"
	turn   chan struct{} // holds one token while somebody in this process writes
}

func (m *mirror) ref(commit release.Commit) string { return "refs/sluice/" + string(commit) }

// mark is the file that says that a commit is whole.
func (m *mirror) mark(commit release.Commit) string {
	return filepath.Join(m.path, "sluice", string(commit[:2]), string(commit[2:]))
}

// has reports whether the commit and everything below it are there.
func (m *mirror) has(commit release.Commit) bool {
	_, err := os.Stat(m.mark(commit))
	return err == nil
}

// may reports whether an object could be there at all; it spares a new commit a look by git. Objects of a pack are not
// looked for.
func (m *mirror) may(commit release.Commit) bool {
	_, err := os.Stat(filepath.Join(m.path, "objects", string(commit[:2]), string(commit[2:])))
	packs, _ := filepath.Glob(filepath.Join(m.path, "objects", "pack", "*.pack"))
	return err == nil || len(packs) > 0
}

// whole notes that a commit is there with everything below it: git has said so, and has written it to the disk.
func (m *mirror) whole(commit release.Commit) error {
	err := os.MkdirAll(filepath.Dir(m.mark(commit)), 0o755)
	if err == nil {
		err = os.WriteFile(m.mark(commit), nil, 0o644)
	}
	if err != nil {
		return fault.New(fault.Internal, "cannot note commit %s in a git mirror: %w", commit.Short(), err)
	}
	return nil
}

// lock waits for the right to write. Closing the file gives it back; a git that was given the file keeps it until it ends.
func (m *mirror) lock(ctx context.Context) (*os.File, func(), error) {
	select {
	case m.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, fault.New(fault.Transient, "cannot wait longer for the git mirror %s: %w", m.path, context.Cause(ctx))
	}
	file, err := m.flock(ctx)
	if err != nil {
		<-m.turn
		return nil, nil, err
	}
	return file, func() { _ = file.Close(); <-m.turn }, nil
}

// flock takes the lock that other processes respect. They hold it for the time of a fetch, so asking again every few
// milliseconds costs nothing.
func (m *mirror) flock(ctx context.Context) (*os.File, error) {
	file, err := os.OpenFile(m.path+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fault.New(fault.Internal, "cannot open the lock of a git mirror: %w", err)
	}
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			_ = file.Close()
			return nil, fault.New(fault.Internal, "cannot lock the git mirror %s: %w", m.path, err)
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			_ = file.Close()
			return nil, fault.New(fault.Transient, "cannot wait longer for another process at the git mirror %s: %w", m.path, context.Cause(ctx))
		}
	}
}

// prepare makes the repository, or removes what a killed git left in it. The caller holds the lock.
func (m *mirror) prepare() error {
	if _, err := os.Stat(filepath.Join(m.path, "HEAD")); err == nil {
		return m.tidy()
	}
	config := "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
	if m.format == "sha256" {
		config = "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectformat = sha256\n"
	}
	// HEAD is written last: it is what says that the repository is whole.
	return layOut(m.path, "objects/info", "refs/sluice", "sluice", [2]string{"config", config}, [2]string{"HEAD", "ref: refs/heads/none\n"})
}

// layOut makes directories and files below root, in order: what "git init" does, without a process.
func layOut(root string, parts ...any) error {
	for _, part := range parts {
		var err error
		switch p := part.(type) {
		case string:
			err = os.MkdirAll(filepath.Join(root, filepath.FromSlash(p)), 0o755)
		case [2]string:
			err = os.WriteFile(filepath.Join(root, filepath.FromSlash(p[0])), []byte(p[1]), 0o644)
		}
		if err != nil {
			return fault.New(fault.Internal, "cannot lay out the git repository %s: %w", root, err)
		}
	}
	return nil
}

// tidy removes lock files and half-written packs of a git that was killed. Nobody else writes while the lock is held.
func (m *mirror) tidy() error {
	stale, _ := filepath.Glob(filepath.Join(m.path, "*.lock"))
	packs, _ := filepath.Glob(filepath.Join(m.path, "objects", "pack", "tmp_*"))
	stale = append(stale, packs...)
	err := filepath.WalkDir(filepath.Join(m.path, "refs"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.HasSuffix(path, ".lock") {
			stale = append(stale, path)
		}
		return err
	})
	for _, path := range stale {
		err = errors.Join(err, os.Remove(path))
	}
	if err != nil {
		return fault.New(fault.Internal, "cannot tidy the git mirror %s: %w", m.path, err)
	}
	return nil
}
