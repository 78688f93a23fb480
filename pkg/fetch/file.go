package fetch

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
)

// openFile opens a file of this machine, below a directory that the rules name. No link leads out of there.
func (c *Client) openFile(u *url.URL, most int64) (*Body, error) {
	name := filepath.Clean(filepath.FromSlash(u.Path))
	for _, dir := range c.rules.Files {
		below, err := filepath.Rel(dir, name)
		if err != nil || !filepath.IsLocal(below) || u.Host != "" {
			continue
		}
		return openBelow(dir, below, most)
	}
	return nil, fault.New(fault.Denied, "cannot fetch %.200q: the installation names no directory for file:// that holds it (builder.fetch.files)", u.Path)
}

func openBelow(dir, name string, most int64) (*Body, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fault.New(fault.Transient, "cannot open the directory of files: %w", err)
	}
	defer func() { _ = root.Close() }()
	// What is no file, a named pipe for instance, must not be waited for.
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil, absence("no such file")
	}
	if err != nil {
		return nil, fault.New(fault.Denied, "cannot open it: %w", err)
	}
	info, err := file.Stat()
	switch {
	case err != nil:
		err = fault.New(fault.Transient, "cannot look at it: %w", err)
	case !info.Mode().IsRegular():
		err = fault.New(fault.Invalid, "it is no file")
	case info.Size() > most:
		err = tooLarge(most)
	default:
		ctx, cancel := context.WithCancelCause(context.Background())
		body := &bounded{body: file, left: most, most: most, silence: time.Hour, ctx: ctx, cancel: cancel}
		return &Body{ReadCloser: body, From: "file://" + filepath.ToSlash(filepath.Join(dir, name)), Size: info.Size()}, nil
	}
	_ = file.Close()
	return nil, err
}
