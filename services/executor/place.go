package executor

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// place is the executor's directory. The name of a workspace says which attempt it belongs to, so that making it is
// also the record of having the attempt in hand.
type place struct {
	attempts string
	records  string // what is left to do of attempts, a file for each
	spool    string
	step     string // the script for steps
	caches   *cacheStore
	lock     *os.File
	spares   spares
}

// openPlace makes the directory and locks it against another executor.
func openPlace(dir, caches string) (*place, error) {
	p := &place{
		attempts: filepath.Join(dir, "attempts"), records: filepath.Join(dir, "records"), spool: filepath.Join(dir, "spool"),
	}
	p.spares.dir = filepath.Join(dir, "spares")
	for _, one := range []string{p.attempts, p.records, p.spool, p.spares.dir} {
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
	if err := p.furnish(dir, caches); err != nil {
		p.close()
		return nil, fault.New(fault.Transient, "cannot make the executor's directory: %w", err)
	}
	return p, nil
}

// furnish puts what all attempts share into the executor's directory.
func (p *place) furnish(dir, caches string) error {
	if caches == "" {
		caches = filepath.Join(dir, "caches")
	}
	var err error
	if p.caches, err = openCaches(caches); err != nil {
		return err
	}
	p.step = filepath.Join(dir, stepName)
	return giveStepper(dir)
}

func (p *place) close() {
	for _, dir := range p.spares.all() {
		_ = os.RemoveAll(dir)
	}
	_ = p.lock.Close()
}

// leftovers lists the attempts that have a workspace, and what else lies there.
func (p *place) leftovers() (attempts []event.AttemptRef, others []string, err error) {
	entries, err := os.ReadDir(p.attempts)
	if err != nil {
		return nil, nil, fault.New(fault.Transient, "cannot list workspaces: %w", err)
	}
	spares, err := os.ReadDir(p.spares.dir)
	if err != nil {
		return nil, nil, fault.New(fault.Transient, "cannot list spare workspaces: %w", err)
	}
	for _, entry := range spares {
		others = append(others, filepath.Join(p.spares.dir, entry.Name()))
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

// make makes the directory of an attempt with an empty workspace and room for its artifacts in it, or takes a spare one.
func (p *place) make(dir string) error {
	if spare, ok := p.spares.take(); ok {
		return moveDir(spare, dir)
	}
	if err := os.Mkdir(dir, dirMode); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(dir, artifactsName), dirMode); err != nil {
		return err
	}
	return os.Mkdir(filepath.Join(dir, workName), dirMode)
}

const dirMode = 0o700

// remove removes the directory of an attempt. One that is as it was made is kept for another attempt: making and
// removing three directories costs more than all else that Sluice does for a short task.
func (p *place) remove(dir string) error {
	if untouched(dir) {
		if spare := p.spares.next(); moveDir(dir, spare) == nil {
			p.spares.add(spare)
			return nil
		}
	}
	return removeAll(dir)
}

// moveDir is os.Rename without its look at the new name, which costs as much again: nothing is there.
func moveDir(from, to string) error { return os.NewSyscallError("rename", syscall.Rename(from, to)) }

// untouched reports whether a directory holds an empty workspace, no artifacts and nothing else, with the modes that they
// had.
func untouched(dir string) bool {
	return onlyHolds(dir, artifactsName, workName) && onlyHolds(filepath.Join(dir, workName)) && onlyHolds(filepath.Join(dir, artifactsName))
}

func onlyHolds(dir string, names ...string) bool {
	info, err := os.Lstat(dir)
	if err != nil || info.Mode() != fs.ModeDir|dirMode {
		return false
	}
	found, err := os.ReadDir(dir)
	return err == nil && slices.EqualFunc(found, names, func(e fs.DirEntry, name string) bool { return e.Name() == name })
}

// spares are directories that were made and are empty.
type spares struct {
	dir   string
	mu    sync.Mutex
	count int
	list  []string
}

func (s *spares) take() (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) == 0 {
		return "", false
	}
	last := s.list[len(s.list)-1]
	s.list = s.list[:len(s.list)-1]
	return last, true
}

func (s *spares) next() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	return filepath.Join(s.dir, strconv.Itoa(s.count))
}

func (s *spares) add(dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, dir)
}

func (s *spares) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list
}

// removeAll removes also what lies in directories that forbid it, as Go's module cache does.
func removeAll(dir string) error {
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
