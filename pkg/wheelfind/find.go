// Package wheelfind asks git and servers what pkg/dialect/ray/wheels needs to know to say which wheels are under test and
// where they are. It decides nothing itself: what is asked, in which order, and what an answer means stands there.
package wheelfind

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/sluiceci/sluice/pkg/dialect/ray/outcome"
	"github.com/sluiceci/sluice/pkg/dialect/ray/wheels"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/fetch"
	"github.com/sluiceci/sluice/pkg/git"
	"github.com/sluiceci/sluice/pkg/release"
)

// Config is where an installation finds what Ray's builds leave.
type Config struct {
	Wheels       string            `yaml:"wheels"`        // URL below which wheels of branches are: /BRANCH/COMMIT/FILE
	PullRequests string            `yaml:"pull_requests"` // the same of pull requests: /COMMIT/tmp/artifacts/.whl/FILE
	Repositories map[string]string `yaml:"repositories"`  // a repository's URL → where git reads it instead: a mirror
}

// Where Ray's own builds leave their wheels.
const (
	rayWheels       = "https://s3-us-west-2.amazonaws.com/ray-wheels"
	rayPullRequests = "https://ray-ci-artifact-pr-public.s3.amazonaws.com"
)

const versionLimit = 1 << 20 // bytes of the file that tells the version

// Finder finds wheels.
type Finder struct {
	Config Config
	Git    *git.Cache
	HTTP   *fetch.Client

	// Anywhere lets git read whatever repository is named. Without it only Ray's, its forks, those of Config.Repositories, and
	// those that Allowed names by globs: whoever can push a branch chooses what is asked for, and the builder may read more
	// than they.
	Anywhere bool
	Allowed  []string
}

// forks are the repositories that users of Ray's forge fork its own to.
var forks = regexp.MustCompile(`^https://github\.com/[A-Za-z0-9_.-]+/ray\.git$`)

// allowed refuses a repository that nobody but the builder may be able to read.
func (f Finder) allowed(r wheels.Repo, ci wheels.CI) error {
	_, mirrored := f.Config.Repositories[r.URL]
	checkedOut, err := wheels.CheckedOut(ci.Branch, ci.PullRequestRepo)
	if f.Anywhere || mirrored || forks.MatchString(r.URL) || err == nil && checkedOut.URL == r.URL {
		return nil
	}
	for _, glob := range f.Allowed {
		if ok, _ := doublestar.Match(glob, r.URL); ok {
			return nil
		}
	}
	return outcome.Raise("ReleaseTestCLIError", "cannot look for wheels in %s: the installation names it neither in builder.includes nor in ray.repositories", r.URL)
}

func (f Finder) buckets() wheels.Buckets {
	return wheels.Buckets{
		Wheels:       strings.TrimSuffix(cmp.Or(f.Config.Wheels, rayWheels), "/"),
		PullRequests: strings.TrimSuffix(cmp.Or(f.Config.PullRequests, rayPullRequests), "/"),
	}
}

func (f Finder) remote(r wheels.Repo) string { return cmp.Or(f.Config.Repositories[r.URL], r.URL) }

// Find says which wheels are meant, and where they are or will be.
func (f Finder) Find(ctx context.Context, want wheels.Wanted) (*wheels.Found, error) {
	ask, err := wheels.Parse(want.Spec, want.CI)
	if err != nil {
		return nil, err
	}
	if ask.Kind != wheels.ByURL && ask.Kind != wheels.ByFile {
		err = f.allowed(ask.Repo, want.CI)
	}
	if err == nil {
		ask, err = f.settle(ctx, ask)
	}
	if err != nil {
		return nil, err
	}
	found := &wheels.Found{Spec: want.Spec, Kind: ask.Kind, Repo: ask.Repo.URL, Branch: ask.Repo.Branch}
	switch ask.Kind {
	case wheels.ByURL:
		return found, f.byURL(ctx, ask.URL, want, found)
	case wheels.ByFile:
		address := (&url.URL{Scheme: "file", Path: ask.Path}).String()
		return found, named(address, want, found)
	case wheels.ByBranch:
		err = f.byBranch(ctx, ask, want, found)
	case wheels.ByHead:
		found.Commit, err = f.head(ctx, ask.Repo)
	default:
		found.Commit = ask.Commit
	}
	if err != nil {
		return nil, err
	}
	return found, f.byCommit(ctx, ask.Repo, want, found)
}

// settle ends the doubt whether 40 digits are a commit or a branch.
func (f Finder) settle(ctx context.Context, ask wheels.Ask) (wheels.Ask, error) {
	if !ask.Doubt {
		return ask, nil
	}
	name := "refs/heads/" + string(ask.Commit)
	refs, err := f.Git.LsRemote(ctx, f.remote(ask.Repo), name)
	if err != nil {
		return ask, err
	}
	_, branch := refs[name]
	if !branch {
		return ask.Settle(true, false) // whether there is such a commit is seen when its version is read
	}
	err = f.Git.Fetch(ctx, f.remote(ask.Repo), ask.Commit)
	return ask.Settle(err == nil, true)
}

func (f Finder) head(ctx context.Context, r wheels.Repo) (release.Commit, error) {
	ref := "refs/heads/" + r.Branch
	refs, err := f.Git.LsRemote(ctx, f.remote(r), ref)
	if err != nil {
		return "", err
	}
	if refs[ref] == "" {
		return "", outcome.Raise("RayWheelsNotFoundError", "cannot find wheels of branch %s: %s has no such branch", r.Branch, r.URL)
	}
	return refs[ref], nil
}

// byCommit reads the version at the commit, of which the names of the wheels are made.
func (f Finder) byCommit(ctx context.Context, r wheels.Repo, want wheels.Wanted, found *wheels.Found) error {
	if found.Version == "" {
		version, err := f.version(ctx, r, found.Commit)
		if err != nil {
			return err
		}
		found.Version = version
	}
	for _, text := range want.Pythons {
		python, err := wheels.ParsePython(text)
		if err != nil {
			return err
		}
		found.Wheels = append(found.Wheels, wheels.Wheel{Python: text, URL: f.buckets().Address(r, found.Commit, found.Version, python)})
	}
	return nil
}

func (f Finder) version(ctx context.Context, r wheels.Repo, commit release.Commit) (string, error) {
	var problem error
	for _, name := range []string{"python/ray/__init__.py", "python/ray/_version.py"} {
		text, err := f.Git.ReadFile(ctx, f.remote(r), commit, name, versionLimit)
		if errors.Is(err, fs.ErrNotExist) {
			problem = err
			continue
		}
		if err != nil {
			return "", err
		}
		version, err := wheels.VersionIn(string(text))
		if err == nil {
			return version, nil
		}
		problem = err
	}
	return "", problem
}

// byBranch looks for the newest commit of a branch that has a wheel for the first Python.
func (f Finder) byBranch(ctx context.Context, ask wheels.Ask, want wheels.Wanted, found *wheels.Found) error {
	python, err := firstPython(want)
	if err != nil {
		return err
	}
	head, err := f.head(ctx, ask.Repo)
	if err != nil {
		return err
	}
	commits, err := f.Git.Newest(ctx, f.remote(ask.Repo), head, wheels.Depth)
	if err != nil {
		return err
	}
	search, versions := wheels.Search{Repo: ask.Repo}, map[release.Commit]string{}
	for _, commit := range commits {
		if versions[commit], err = f.version(ctx, ask.Repo, commit); err != nil {
			return err
		}
		search.Candidates = append(search.Candidates, wheels.Candidate{
			Commit: commit, URL: f.buckets().Address(ask.Repo, commit, versions[commit], python),
		})
	}
	for {
		next, there, err := search.Next()
		if err != nil {
			return err
		}
		if there {
			found.Commit, found.Version = next.Commit, versions[next.Commit]
			return nil
		}
		exists, err := f.HTTP.Exists(ctx, next.URL)
		if err != nil {
			return err
		}
		search.Exists = append(search.Exists, exists)
	}
}

func firstPython(want wheels.Wanted) (wheels.Python, error) {
	if len(want.Pythons) == 0 {
		return wheels.Python{}, fault.New(fault.Invalid, "cannot look for wheels: no version of Python is named")
	}
	return wheels.ParsePython(want.Pythons[0])
}

// byURL takes a URL as it is, or where it leads to.
func (f Finder) byURL(ctx context.Context, address string, want wheels.Wanted, found *wheels.Found) error {
	final, err := f.HTTP.Locate(ctx, address)
	if err != nil && !fault.Is(err, fault.Transient) {
		return err
	}
	if err == nil {
		address = final
	}
	return named(address, want, found)
}

// named makes the wheels of one URL: its name says the Python and the version, and its folders at times the commit.
func named(address string, want wheels.Wanted, found *wheels.Found) error {
	found.Repo, found.Branch, found.Commit = "", "", wheels.CommitOf(address)
	if parts := strings.SplitN(path.Base(address), "-", 3); len(parts) == 3 && strings.HasSuffix(address, ".whl") {
		found.Version = parts[1]
	}
	for _, text := range want.Pythons {
		python, err := wheels.ParsePython(text)
		if err != nil {
			return err
		}
		one, warning := wheels.ForPython(address, python)
		if warning != "" {
			found.Warnings = append(found.Warnings, warning)
		}
		found.Wheels = append(found.Wheels, wheels.Wheel{Python: text, URL: one})
	}
	return nil
}

// Answer answers the question of a plan.
func (f Finder) Answer(ctx context.Context, question string) (string, error) {
	want, err := wheels.ParseWanted(question)
	if err != nil {
		return "", err
	}
	found, err := f.Find(ctx, want)
	var verdict *outcome.Error
	if errors.As(err, &verdict) { // asking again is for whoever starts the next run
		return "", fault.New(fault.Invalid, "%s", verdict)
	}
	if err != nil {
		return "", err
	}
	return found.Answer(), nil
}
