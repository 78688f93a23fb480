package files

import (
	"io/fs"
	"os"
)

// FS is the file system below root in which every file is a plain one: opening another is an error, and takes no time.
func FS(root *os.Root) fs.FS { return plainFS{root} }

type plainFS struct{ root *os.Root }

// Open implements fs.FS.
func (p plainFS) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if info, err := p.root.Stat(name); err == nil && info.IsDir() {
		return p.root.FS().Open(name)
	}
	file, _, err := Open(p.root, name)
	if err != nil {
		return nil, err
	}
	return file, nil
}
