package files

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/sluiceci/sluice/pkg/fault"
)

// maxFound bounds what a glob finds.
const maxFound = 100_000

// Found is a name that a glob fits.
type Found struct {
	Name      string
	Directory bool
}

// Glob lists what a doublestar pattern fits below root, in the order of names. Links are followed in the fixed part that the
// pattern begins with, and nowhere else.
func Glob(ctx context.Context, root *os.Root, pattern string, limits Limits) ([]Found, error) {
	pattern = path.Clean(pattern)
	if pattern == "." || !fs.ValidPath(pattern) || !doublestar.ValidatePattern(pattern) {
		return nil, fault.New(fault.Invalid, "expected a glob of paths below the directory, found %q", pattern)
	}
	if !strings.ContainsAny(pattern, `*?[{\`) {
		return literal(root, pattern)
	}
	base, rest := doublestar.SplitPattern(pattern)
	if info, err := root.Stat(base); errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil, nil
	}
	g := globbing{base: base, rest: rest, deep: strings.Contains(rest, "**"), levels: strings.Count(rest, "/")}
	if rest == "**" && base != "." {
		g.found = append(g.found, Found{base, true})
	}
	if err := Walk(ctx, root, base, limits, g.visit); err != nil {
		return nil, err
	}
	slices.SortFunc(g.found, func(a, b Found) int { return strings.Compare(a.Name, b.Name) })
	return g.found, nil
}

func literal(root *os.Root, name string) ([]Found, error) {
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return []Found{{name, info.IsDir()}}, nil
}

type globbing struct {
	base, rest string
	deep       bool // rest has **
	levels     int  // of directories that rest can reach, unless it is deep
	found      []Found
}

func (g *globbing) visit(name string, entry fs.DirEntry) error {
	below := name
	if g.base != "." {
		below = strings.TrimPrefix(name, g.base+"/")
	}
	if doublestar.MatchUnvalidated(g.rest, below) {
		g.found = append(g.found, Found{name, entry.IsDir()})
	}
	switch {
	case len(g.found) > maxFound:
		return fault.New(fault.Invalid, "more than %d files fit the glob", maxFound)
	case entry.IsDir() && !g.deep && strings.Count(below, "/") >= g.levels:
		return fs.SkipDir
	}
	return nil
}
