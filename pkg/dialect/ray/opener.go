package ray

import (
	"bytes"
	"io/fs"
	"time"
)

// opener is a file system of which files can be opened by name, and nothing else.
type opener func(name string) ([]byte, error)

// Open implements fs.FS.
func (open opener) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	content, err := open(name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &opened{bytes.NewReader(content), name, int64(len(content))}, nil
}

// opened is a file with its content, and its own fs.FileInfo.
type opened struct {
	*bytes.Reader
	name string
	size int64
}

func (f *opened) Stat() (fs.FileInfo, error) { return f, nil }
func (f *opened) Close() error               { return nil }
func (f *opened) Name() string               { return f.name }
func (f *opened) Size() int64                { return f.size }
func (f *opened) Mode() fs.FileMode          { return 0o444 }
func (f *opened) ModTime() time.Time         { return time.Time{} }
func (f *opened) IsDir() bool                { return false }
func (f *opened) Sys() any                   { return nil }
