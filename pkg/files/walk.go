package files

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/sluiceci/sluice/pkg/fault"
)

// Limits bound a walk.
type Limits struct {
	Entries int // names seen; MaxEntries when 0
	Depth   int // directories within each other; MaxDepth when 0
}

// The bounds of a walk for which nothing else is said.
const (
	MaxEntries = 1_000_000
	MaxDepth   = 250
)

func (l Limits) orDefault() Limits {
	if l.Entries == 0 {
		l.Entries = MaxEntries
	}
	if l.Depth == 0 {
		l.Depth = MaxDepth
	}
	return l
}

// batch is how many names of a directory are read at once: a directory may have millions.
const batch = 1_000

// Walk visits what is below a directory of root, each directory before what is in it, in no order. Links are visited and not
// followed. A visit may return fs.SkipDir for a directory that is not to be entered.
func Walk(ctx context.Context, root *os.Root, from string, limits Limits, visit func(name string, entry fs.DirEntry) error) error {
	w := walker{ctx: ctx, root: root, left: limits.orDefault(), most: limits.orDefault().Entries, visit: visit, waiting: []string{from}}
	for len(w.waiting) > 0 {
		last := len(w.waiting) - 1
		dir := w.waiting[last]
		w.waiting = w.waiting[:last]
		if err := w.directory(dir); err != nil && (dir == from || !errors.Is(err, fs.ErrNotExist)) {
			return err
		}
	}
	return nil
}

type walker struct {
	ctx     context.Context //nolint:containedctx // lives as long as one call of Walk
	root    *os.Root
	left    Limits
	most    int // entries
	visit   func(string, fs.DirEntry) error
	waiting []string
}

func (w *walker) directory(name string) error {
	if name != "." && strings.Count(name, "/") >= w.left.Depth {
		return fault.New(fault.Invalid, "more than %d directories lie within each other", w.left.Depth)
	}
	dir, err := w.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	for {
		entries, err := dir.ReadDir(batch)
		for _, entry := range entries {
			if err := w.entry(path.Join(name, entry.Name()), entry); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (w *walker) entry(name string, entry fs.DirEntry) error {
	if w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	if w.left.Entries--; w.left.Entries < 0 {
		return fault.New(fault.Invalid, "there are too many files to look through, expected at most %d", w.most)
	}
	err := w.visit(name, entry)
	switch {
	case errors.Is(err, fs.SkipDir):
		return nil
	case err == nil && entry.IsDir():
		w.waiting = append(w.waiting, name)
	}
	return err
}
