package files

import (
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/sluiceci/sluice/pkg/fault"
)

// Open opens a plain file for reading. What it was opened as is what it is: nothing is looked up twice.
func Open(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	return plain(name, file, err)
}

// OpenPath is Open for a path that whoever runs the program gave.
func OpenPath(path string) (*os.File, fs.FileInfo, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	return plain(path, file, err)
}

// Read reads a plain file of at most limit bytes.
func Read(root *os.Root, name string, limit int64) ([]byte, error) {
	file, info, err := Open(root, name)
	return all(name, file, info, err, limit)
}

// ReadPath is Read for a path that whoever runs the program gave.
func ReadPath(path string, limit int64) ([]byte, error) {
	file, info, err := OpenPath(path)
	return all(path, file, info, err, limit)
}

func all(path string, file *os.File, info fs.FileInfo, err error, limit int64) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	if info.Size() > limit {
		return nil, tooLarge(path, info.Size(), limit)
	}
	text, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = tooLarge(path, int64(len(text)), limit)
	}
	return text, err
}

func tooLarge(path string, size, limit int64) error {
	return fault.New(fault.Invalid, "%s has %d bytes, at most %d are read", path, size, limit)
}

func plain(name string, file *os.File, err error) (*os.File, fs.FileInfo, error) {
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fault.New(fault.Invalid, "%s is %s, expected a plain file", name, kindOf(info.Mode()))
	}
	if err != nil {
		_ = file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}
