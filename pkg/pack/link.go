package pack

import (
	"path"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
)

// checkLink refuses links that leave the directory or might. What is left is "../" as often as the link is deep, then
// names: as all directories above a link are real, that stays inside whatever other links its names lead over.
func checkLink(name, target string) error {
	if target == "" || path.IsAbs(target) || strings.Contains(target, "\x00") {
		return fault.New(fault.Invalid, "cannot keep link %q to %q: expected a relative target", name, target)
	}
	depth, down := strings.Count(name, "/"), false
	for part := range strings.SplitSeq(target, "/") {
		switch part {
		case "", ".":
		case "..":
			if depth--; depth < 0 || down {
				return fault.New(fault.Invalid, "cannot keep link %q to %q: it leaves the directory, or may", name, target)
			}
		default:
			down = true
		}
	}
	return nil
}

// checkName refuses names that do not lie inside a directory.
func checkName(name string) error {
	const longest, deepest = 4096, 128
	if !validName(name) || len(name) > longest || strings.Count(name, "/") >= deepest {
		return fault.New(fault.Invalid, "cannot use the name %.200q: expected a relative path in UTF-8 without \"..\" and \"//\"", name)
	}
	return nil
}
