package bucket

import (
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/sluiceci/sluice/pkg/fault"
)

// CheckName refuses names that some server would take for another name or not at all: empty, too long, with "..", ".",
// "//", control characters, or with a segment of more than 255 bytes.
func CheckName(name string) error {
	if !fs.ValidPath(name) || name == "." || len(name) > 1000 {
		return fault.New(fault.Invalid, "cannot use %q as an object's name: expected a relative path without \".\", \"..\" and \"//\", of at most 1000 bytes", name)
	}
	for segment := range strings.SplitSeq(name, "/") {
		if len(segment) > 255 {
			return fault.New(fault.Invalid, "cannot use %q as an object's name: the segment %.20q… has %d bytes, expected at most 255", name, segment, len(segment))
		}
	}
	for _, r := range name {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return fault.New(fault.Invalid, "cannot use %q as an object's name: it has the character %q, expected printable text", name, r)
		}
	}
	return nil
}
