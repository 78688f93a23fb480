package main

import (
	"context"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/sluiceci/sluice/pkg/definition"
	"github.com/sluiceci/sluice/pkg/definition/tree"
	"github.com/sluiceci/sluice/pkg/dialect/ray"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/git"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/services/publisher"
)

// dialects is the table of other systems whose files a definition can include.
func dialects() map[string]plan.Dialect {
	return map[string]plan.Dialect{"ray": ray.Dialect{}}
}

// targetOptions are what a definition may say of each kind of target.
func targetOptions() map[string][]definition.TargetOption {
	out := map[string][]definition.TargetOption{}
	for _, kind := range publisher.Kinds() {
		for _, o := range kind.Options {
			out[kind.Name] = append(out[kind.Name], definition.TargetOption{Name: o.Name, Required: o.Required, Secret: o.Secret})
		}
	}
	return out
}

// here reads the files of a directory as they are now.
func here(dir string) definition.Loader { return tree.Dir{Root: dir} }

// includeTimeout bounds the reading of all that a definition includes.
const includeTimeout = 5 * time.Minute

// loadDefinition reads a definition with what it includes. Who runs this command may read whatever repository git lets
// them read.
func loadDefinition(ctx context.Context, name string, text []byte, own definition.Loader) (*definition.Definition, error) {
	ctx, cancel := context.WithTimeout(ctx, includeTimeout)
	defer cancel()
	scratch, err := os.MkdirTemp("", "sluice-include-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	return definition.Load(ctx, name, text, definition.Options{
		Loader:   &anywhere{scratch: scratch, own: own},
		Dialects: dialects(), Targets: targetOptions(),
	})
}

// anywhere reads its own files and any repository; git is only looked for when there is one to read.
type anywhere struct {
	own     definition.Loader
	scratch string
	cache   *git.Cache
}

func (a *anywhere) open(repo definition.Repo) (definition.Loader, error) {
	if repo.URL == "" {
		return a.own, nil
	}
	if a.cache == nil {
		cache, err := git.New(a.scratch, git.Options{})
		if err != nil {
			return nil, err
		}
		a.cache = cache
	}
	return tree.Git{Cache: a.cache, URL: repo.URL, Commit: repo.At}, nil
}

// Glob implements definition.Loader.
func (a *anywhere) Glob(ctx context.Context, repo definition.Repo, glob string) ([]string, error) {
	at, err := a.open(repo)
	if err != nil {
		return nil, err
	}
	return at.Glob(ctx, repo, glob)
}

// Read implements definition.Loader.
func (a *anywhere) Read(ctx context.Context, repo definition.Repo, name string, limit int64) ([]byte, error) {
	at, err := a.open(repo)
	if err != nil {
		return nil, err
	}
	return at.Read(ctx, repo, name, limit)
}

// Glob makes the files of a revision a definition.Loader.
func (r checkout) Glob(ctx context.Context, _ definition.Repo, glob string) ([]string, error) {
	out, err := gitIn(ctx, r.dir, "ls-tree", "-r", "-z", "--name-only", string(r.commit))
	if err != nil {
		return nil, err
	}
	names := strings.Split(string(out), "\x00")
	return slices.DeleteFunc(names, func(name string) bool {
		ok, _ := doublestar.Match(glob, name)
		return !ok || name == ""
	}), nil
}

// Read makes the files of a revision a definition.Loader.
func (r checkout) Read(ctx context.Context, _ definition.Repo, name string, limit int64) ([]byte, error) {
	text, found, err := r.read(ctx, path.Clean(name))
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, fs.ErrNotExist
	case int64(len(text)) > limit:
		return nil, fault.New(fault.Invalid, "cannot read %s: it has %d bytes, at most %d are read", name, len(text), limit)
	}
	return text, nil
}
