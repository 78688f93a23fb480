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
	"github.com/sluiceci/sluice/pkg/fetch"
	"github.com/sluiceci/sluice/pkg/git"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/wheelfind"
	"github.com/sluiceci/sluice/services/publisher"
)

// dialects is the table of other systems whose files a definition can include.
func dialects() map[string]plan.Dialect {
	return map[string]plan.Dialect{"ray": ray.Dialect{}}
}

// answerers is the table of who answers what dialects ask before they have tasks.
func answerers(wheels wheelfind.Finder) map[string]func(context.Context, string) (string, error) {
	return map[string]func(context.Context, string) (string, error){"ray": wheels.Answer}
}

// finder finds wheels as the installation's builder may fetch.
func (in *installation) finder(cache *git.Cache) wheelfind.Finder {
	return wheelfind.Finder{Config: in.Ray, Git: cache, HTTP: fetch.New(in.Builder.Fetch.Rules, nil), Allowed: in.Builder.Includes}
}

// answered asks what the dialects of a definition must know for a plan that is only shown.
func answered(ctx context.Context, def *definition.Definition, request definition.Request) (map[string]string, error) {
	questions := definition.Questions(def, request)
	if len(questions) == 0 {
		return nil, nil
	}
	out := map[string]string{}
	return out, withFinder(wheelfind.Config{}, func(f wheelfind.Finder) error {
		for _, q := range questions {
			answer := answerers(f)[q.Dialect]
			if answer == nil {
				continue
			}
			text, err := answer(ctx, q.Text)
			if err != nil {
				return err
			}
			out[q.Text] = text
		}
		return nil
	})
}

// withFinder lets a command look for wheels: with git as whoever runs it has it, and anywhere.
func withFinder(config wheelfind.Config, look func(wheelfind.Finder) error) error {
	scratch, err := os.MkdirTemp("", "sluice-wheels-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	cache, err := git.New(scratch, git.Options{})
	if err != nil {
		return err
	}
	return look(wheelfind.Finder{Config: config, Git: cache, Anywhere: true, HTTP: fetch.New(fetch.Rules{Private: true, Files: []string{"/"}}, nil)})
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

// filesOf reads the files of a directory as they are now.
func filesOf(dir string) definition.Loader { return tree.Dir{Root: dir} }

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
