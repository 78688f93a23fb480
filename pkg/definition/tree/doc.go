// Package tree hands the files that a definition includes to the language: out of a commit (Git), or out of a directory
// of this machine (Dir). It is the only part of reading a definition that does I/O.
package tree

import (
	"cmp"
	"slices"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/sluiceci/sluice/pkg/fault"
)

// maxFound bounds the files that one glob may name.
const maxFound = 1_000

// among lists the names that fit a glob, sorted.
func among(names []string, glob string) ([]string, error) {
	if !doublestar.ValidatePattern(glob) {
		return nil, fault.New(fault.Invalid, "cannot read %q as a glob", glob)
	}
	var out []string
	for _, name := range names {
		if ok, _ := doublestar.Match(glob, name); ok {
			out = append(out, name)
		}
		if len(out) > maxFound {
			return nil, fault.New(fault.Invalid, "cannot include %q: more than %d files fit the glob", glob, maxFound)
		}
	}
	slices.SortFunc(out, cmp.Compare[string])
	return out, nil
}
