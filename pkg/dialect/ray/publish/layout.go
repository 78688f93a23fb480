package publish

import (
	"path"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// Place says of what a file is.
type Place struct {
	Branch string
	Commit release.Commit
	OS     string // of a jar
	Job    string // of a log
}

// Path is where a file goes in the artifact store, by Ray's word for the destination.
func (p Place) Path(destination, file string) (string, error) {
	var parts []string
	switch destination {
	case "wheels":
		parts = []string{"latest"}
	case "branch_wheels":
		parts = []string{p.Branch, string(p.Commit)}
	case "jars":
		parts = []string{"jars", "latest", p.OS}
	case "branch_jars":
		parts = []string{"jars", p.Branch, string(p.Commit), p.OS}
	case "logs":
		parts = []string{"bazel_events", p.Branch, string(p.Commit), p.Job}
	default:
		return "", fault.New(fault.Invalid, "cannot upload to %q: expected wheels, branch_wheels, jars, branch_jars or logs", destination)
	}
	for _, part := range append(parts, file) {
		if part == "" || part != path.Clean(part) || strings.HasPrefix(part, "/") || strings.HasPrefix(part, "..") || strings.ContainsAny(part, "\\\x00") {
			return "", fault.New(fault.Invalid, "cannot upload %q to %s: %q is no part of a path", file, destination, part)
		}
	}
	if strings.Contains(file, "/") {
		return "", fault.New(fault.Invalid, "cannot upload %q to %s: expected the name of a file", file, destination)
	}
	return path.Join(append(parts, file)...), nil
}

// UploadTries is how often an upload is tried while the other side says that the fault is its own.
const UploadTries = 5

// Uploaded looks at the answer to an upload. Anything but 2xx is an error: one of the store's own is worth another try,
// until there were enough.
func Uploaded(status, try int) error {
	switch {
	case status >= 200 && status < 300:
		return nil
	case status >= 500 && try < UploadTries:
		return fault.New(fault.Transient, "cannot upload: the store answered %d to try %d of %d", status, try, UploadTries)
	case status == 401 || status == 403:
		return fault.New(fault.Denied, "cannot upload: the store answered %d; ask for credentials again", status)
	default:
		return fault.New(fault.Invalid, "cannot upload: the store answered %d to try %d, expected 2xx", status, try)
	}
}
