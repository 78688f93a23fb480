package executor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/sluiceci/sluice/pkg/files"
	"github.com/sluiceci/sluice/pkg/pack"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// maxArtifacts bounds what one attempt may leave: more is a glob gone wild.
const maxArtifacts = 2000

// shelf is a workspace that outputs are taken from: the attempt's own, or that of a node.
type shelf struct {
	room   *room
	root   *os.Root
	prefix string // of the names of artifacts, and of metrics: "0-"; the nodes' would be the same
	node   *node  // nil for the attempt's own
}

// collect reads the reports and stores the outputs. A command that failed is still asked for its reports, which say
// what failed; its outputs are no artifacts, since nothing may be built or published from them.
func (a *attempt) collect(ctx context.Context, failed error) error {
	if len(a.task.Outputs) == 0 && a.task.Reports == (plan.Reports{}) || ctx.Err() != nil {
		return failed
	}
	shelves, err := a.openShelves()
	defer closeShelves(shelves)
	if err != nil {
		return orElse(failed, err)
	}
	if len(a.task.Variants) == 0 { // Those of variants were read after each of them.
		failed = orElse(failed, a.readReports(ctx, shelves, failed, ""))
	}
	if failed != nil {
		return failed
	}
	for _, s := range shelves {
		for _, output := range a.task.Outputs {
			if err := a.collectOutput(ctx, s, output); err != nil {
				a.result.Artifacts = nil
				return classify(release.ClassInfra, err)
			}
		}
	}
	return nil
}

func orElse(first, second error) error {
	if first != nil {
		return first
	}
	return second
}

// openShelves opens the workspaces that the command may have left something in: of a gang, those of the nodes that
// succeeded.
func (a *attempt) openShelves() ([]*shelf, error) {
	if len(a.nodes) == 0 {
		root, err := openWorkspace(a.workspace())
		if err != nil {
			return nil, err
		}
		return []*shelf{{room: a.here(), root: root}}, nil
	}
	var shelves []*shelf
	for _, n := range a.nodes {
		if n.lost != nil {
			continue
		}
		root, err := openWorkspace(n.workspace())
		if err != nil {
			return shelves, err
		}
		shelves = append(shelves, &shelf{room: &n.room, root: root, prefix: strconv.Itoa(n.index), node: n})
	}
	return shelves, nil
}

func closeShelves(shelves []*shelf) {
	for _, s := range shelves {
		_ = s.root.Close()
	}
}

// openWorkspace opens a workspace as a root that no name and no link leads out of. The command may have put something
// else in its place.
func openWorkspace(dir string) (*os.Root, error) {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return nil, fail(release.ClassCommand, "cannot collect outputs: the command removed its workspace")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fail(release.ClassInfra, "cannot open the workspace: %w", err)
	}
	return root, nil
}

// globTime is how long the looking for the files of one glob may take: a command can leave trees of any size.
const globTime = time.Minute

// matches lists what a glob finds, in the order of names. A directory is left out when something below it matches too.
func matches(ctx context.Context, root *os.Root, glob string) ([]string, error) {
	if !filepath.IsLocal(glob) || path.Clean(glob) == "." || !doublestar.ValidatePattern(glob) {
		return nil, fail(release.ClassConfig, "cannot collect %q: expected a glob of paths within the workspace", glob)
	}
	limited, cancel := context.WithTimeoutCause(ctx, globTime, fmt.Errorf("it takes more than %s", globTime))
	defer cancel()
	found, err := files.Glob(limited, root, glob, files.Limits{})
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fail(release.ClassCommand, "cannot look for %q: %w", glob, err)
	}
	return lowest(found), nil
}

// lowest leaves out what has something below it.
func lowest(found []files.Found) (names []string) {
	above := map[string]bool{}
	for _, f := range found {
		for dir := path.Dir(f.Name); dir != "." && !above[dir]; dir = path.Dir(dir) {
			above[dir] = true
		}
	}
	for _, f := range found {
		if !above[f.Name] {
			names = append(names, f.Name)
		}
	}
	return names
}

func (a *attempt) collectOutput(ctx context.Context, s *shelf, output plan.Output) error {
	found, err := matches(ctx, s.root, output.Path)
	if err != nil {
		return err
	}
	if len(found) == 0 && !output.Optional {
		return fail(release.ClassCommand, "no file matches %q: the command ended well but did not leave its output %q", output.Path, output.Type)
	}
	if len(found)+len(a.result.Artifacts) > maxArtifacts {
		return fail(release.ClassConfig, "cannot keep the %d files that match %q: expected at most %d artifacts; name the directory "+
			"to keep it as one", len(found), output.Path, maxArtifacts)
	}
	for _, name := range found {
		artifact, err := a.store(ctx, s, name, output)
		if err != nil {
			return err
		}
		if err := a.addArtifact(name, artifact); err != nil {
			return err
		}
	}
	return nil
}

// addArtifact refuses a second artifact of the same type and name with other bytes: whoever takes them lays them side by
// side.
func (a *attempt) addArtifact(from string, artifact release.Artifact) error {
	for _, other := range a.result.Artifacts {
		if other.Type != artifact.Type || other.Name != artifact.Name {
			continue
		}
		if other.Digest == artifact.Digest {
			return nil
		}
		return fail(release.ClassConfig, "cannot keep %q: another file of output %q is named %q too and has other bytes; give them "+
			"different names", from, artifact.Type, artifact.Name)
	}
	a.result.Artifacts = append(a.result.Artifacts, artifact)
	return nil
}

// store puts a match into the blob store, hashed while it is stored.
func (a *attempt) store(ctx context.Context, s *shelf, name string, output plan.Output) (release.Artifact, error) {
	artifact := release.Artifact{
		Name: s.name(name), Type: output.Type, Task: a.task.ID, Job: a.task.Job, MediaType: output.MediaType,
		Stamped: output.Stamped, StampIn: output.StampIn, Matrix: a.task.Matrix,
	}
	if err := a.search(ctx, s, name); err != nil {
		return artifact, err
	}
	from, directory, err := s.open(ctx, name)
	if err != nil {
		return artifact, err
	}
	defer func() { _ = from.Close() }()
	if artifact.Directory = directory; directory {
		artifact.MediaType = "application/x-tar"
	}
	artifact.Digest, artifact.Size, err = a.e.deps.Blobs.Put(ctx, from)
	if err != nil {
		return artifact, classify(release.ClassCommand, err) // What cannot be packed is the command's doing.
	}
	return artifact, nil
}

// name is what an artifact of a match is named: of several nodes' files each by its node.
func (s *shelf) name(match string) string {
	if s.prefix == "" {
		return path.Base(match)
	}
	return s.prefix + "-" + path.Base(match)
}

// open opens a match: a file, or a directory as a tar stream. Links are followed within the workspace only.
func (s *shelf) open(ctx context.Context, name string) (from io.ReadCloser, directory bool, err error) {
	root := s.root
	info, err := root.Stat(name)
	if err != nil {
		return nil, false, unusable(root, name, err)
	}
	switch {
	case info.IsDir():
		dir, err := root.OpenRoot(name)
		if err != nil {
			return nil, false, unusable(root, name, err)
		}
		return pack.StreamRoot(ctx, dir), true, nil
	case !info.Mode().IsRegular():
		return nil, false, fail(release.ClassCommand, "cannot keep %q: it is a %s, expected a file or a directory", name, kindOf(info.Mode()))
	}
	file, _, err := files.Open(root, name)
	if err != nil {
		return nil, false, unusable(root, name, err)
	}
	return file, false, nil
}

func unusable(root *os.Root, name string, err error) error {
	info, statErr := root.Lstat(name)
	if statErr == nil && info.Mode()&fs.ModeSymlink != 0 {
		return fail(release.ClassCommand, "cannot keep %q: it is a link that leaves the workspace or leads nowhere", name)
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		return fail(release.ClassCommand, "cannot keep %q: %w", name, err)
	}
	return fail(release.ClassInfra, "cannot read %q: %w", name, err)
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSocket != 0:
		return "socket"
	case mode&fs.ModeNamedPipe != 0:
		return "named pipe"
	default:
		return "device"
	}
}
