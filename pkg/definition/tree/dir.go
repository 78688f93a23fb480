package tree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/sluiceci/sluice/pkg/definition"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/files"
)

// Dir reads files of a directory, as they are now. No name and no link leads out of it.
type Dir struct {
	Root  string
	Other definition.Loader // of other repositories; nil refuses them
}

// Glob implements definition.Loader.
func (d Dir) Glob(ctx context.Context, repo definition.Repo, glob string) ([]string, error) {
	if repo.URL != "" {
		other, err := d.other(repo)
		if err != nil {
			return nil, err
		}
		return other.Glob(ctx, repo, glob)
	}
	root, err := os.OpenRoot(d.Root)
	if err != nil {
		return nil, fault.New(fault.Invalid, "cannot read %s: %w", d.Root, err)
	}
	defer func() { _ = root.Close() }()
	found, err := files.Glob(ctx, root, glob, files.Limits{})
	if err != nil {
		return nil, fault.New(fault.Invalid, "cannot read the files that fit %q: %w", glob, err)
	}
	var names []string
	for _, f := range found {
		if !f.Directory {
			names = append(names, f.Name)
		}
	}
	return among(names, glob)
}

// Read implements definition.Loader.
func (d Dir) Read(ctx context.Context, repo definition.Repo, name string, limit int64) ([]byte, error) {
	if repo.URL != "" {
		other, err := d.other(repo)
		if err != nil {
			return nil, err
		}
		return other.Read(ctx, repo, name, limit)
	}
	root, err := os.OpenRoot(d.Root)
	if err != nil {
		return nil, fault.New(fault.Invalid, "cannot read %s: %w", d.Root, err)
	}
	defer func() { _ = root.Close() }()
	return read(root, name, limit)
}

func (d Dir) other(repo definition.Repo) (definition.Loader, error) {
	if d.Other == nil {
		return nil, fault.New(fault.Denied, "cannot include files of %.200q: nothing here reads other repositories", repo.URL)
	}
	return d.Other, nil
}

// read opens a plain file only: a pipe or a device would be waited for.
func read(root *os.Root, name string, limit int64) ([]byte, error) {
	text, err := files.Read(root, name, limit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &fault.Error{Kind: fault.Invalid, Err: fmt.Errorf("cannot read %s: %w", name, fs.ErrNotExist)}
	}
	if err != nil {
		return nil, fault.New(fault.Invalid, "cannot read %s: %w", name, err)
	}
	return text, nil
}
