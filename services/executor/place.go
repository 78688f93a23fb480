package executor

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// place is the executor's directory. The name of a workspace says which attempt it belongs to, so that making it is
// also the record of having the attempt in hand.
type place struct {
	attempts string
	spool    string
	lock     *os.File
}

// openPlace makes the directory and locks it against another executor.
func openPlace(dir string) (*place, error) {
	p := &place{attempts: filepath.Join(dir, "attempts"), spool: filepath.Join(dir, "spool")}
	for _, one := range []string{p.attempts, p.spool} {
		if err := os.MkdirAll(one, 0o700); err != nil {
			return nil, fault.New(fault.Transient, "cannot make the executor's directory: %w", err)
		}
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fault.New(fault.Transient, "cannot lock the executor's directory: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = lock.Close()
		return nil, fault.New(fault.Transient, "cannot lock %s: %w; another executor works there, give this one its own directory", dir, err)
	}
	p.lock = lock
	return p, nil
}

func (p *place) close() { _ = p.lock.Close() }

// attempt is the directory of an attempt. None of the three parts can hold a dot.
func (p *place) attempt(ref event.AttemptRef) string {
	return filepath.Join(p.attempts, string(ref.Run)+"."+string(ref.Task)+"."+strconv.Itoa(int(ref.Attempt)))
}

// leftovers lists the attempts that have a workspace, and what else lies there.
func (p *place) leftovers() (attempts []event.AttemptRef, others []string, err error) {
	entries, err := os.ReadDir(p.attempts)
	if err != nil {
		return nil, nil, fault.New(fault.Transient, "cannot list workspaces: %w", err)
	}
	for _, entry := range entries {
		if ref, ok := parseAttempt(entry.Name()); ok {
			attempts = append(attempts, ref)
		} else {
			others = append(others, filepath.Join(p.attempts, entry.Name()))
		}
	}
	return attempts, others, nil
}

func parseAttempt(name string) (event.AttemptRef, bool) {
	parts := strings.Split(name, ".")
	if len(parts) != 3 || !release.Token(parts[0]) || !release.Token(parts[1]) {
		return event.AttemptRef{}, false
	}
	n, err := strconv.ParseInt(parts[2], 10, 32)
	return event.AttemptRef{Run: release.RunID(parts[0]), Task: release.TaskID(parts[1]), Attempt: int32(n)}, err == nil && n > 0
}

// remove removes a workspace, also one whose directories forbid it, as Go's module cache does.
func (p *place) remove(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	// WalkDir visits a directory after it was made readable here, since its entries are read later.
	_ = filepath.WalkDir(dir, func(name string, entry fs.DirEntry, _ error) error {
		if entry != nil && entry.IsDir() {
			_ = os.Chmod(name, 0o700) // what remains forbidden is told by the second try
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// free is the disk space for new workspaces, in bytes.
func (p *place) free() (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(p.attempts, &s); err != nil {
		return 0, os.NewSyscallError("statfs", err)
	}
	return int64(s.Bavail) * int64(s.Bsize), nil
}
