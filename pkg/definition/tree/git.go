package tree

import (
	"context"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/sluiceci/sluice/pkg/definition"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/git"
	"github.com/sluiceci/sluice/pkg/release"
)

// Git reads files of commits. A definition is a stranger's text, and what it includes may end up in plans and errors that
// the stranger reads: so it may name no repository but its own and those that are allowed.
type Git struct {
	Cache   *git.Cache
	URL     string         // of the definition's own repository
	Commit  release.Commit // of the definition
	Allowed []string       // globs of the URLs of other repositories
}

// Glob implements definition.Loader.
func (g Git) Glob(ctx context.Context, repo definition.Repo, glob string) ([]string, error) {
	url, commit, err := g.place(repo)
	if err != nil {
		return nil, err
	}
	names, err := g.Cache.ChangedPaths(ctx, url, "", commit)
	if err != nil {
		return nil, err
	}
	return among(names, glob)
}

// Read implements definition.Loader.
func (g Git) Read(ctx context.Context, repo definition.Repo, name string, limit int64) ([]byte, error) {
	url, commit, err := g.place(repo)
	if err != nil {
		return nil, err
	}
	return g.Cache.ReadFile(ctx, url, commit, name, limit)
}

func (g Git) place(repo definition.Repo) (string, release.Commit, error) {
	if repo.URL == "" {
		return g.URL, g.Commit, nil
	}
	if repo.URL == g.URL {
		return repo.URL, repo.At, nil
	}
	for _, glob := range g.Allowed {
		if ok, _ := doublestar.Match(glob, repo.URL); ok {
			return repo.URL, repo.At, nil
		}
	}
	return "", "", fault.New(fault.Denied, "cannot include files of %.200q: the installation allows no definition to; it lists in builder.includes which repositories they may include", repo.URL)
}
