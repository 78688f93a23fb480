package executor

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/sluiceci/sluice/pkg/pack"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// maxArtifacts bounds what one attempt may leave: more is a glob gone wild.
const maxArtifacts = 2000

// collect reads the reports and stores the outputs. A command that failed is still asked for its reports, which say
// what failed; its outputs are no artifacts, since nothing may be built or published from them.
func (a *attempt) collect(ctx context.Context, failed error) error {
	if len(a.task.Outputs) == 0 && a.task.Reports == (plan.Reports{}) || ctx.Err() != nil {
		return failed
	}
	root, err := a.openWorkspace()
	if err != nil {
		return orElse(failed, err)
	}
	defer func() { _ = root.Close() }()
	if err := orElse(failed, a.readReports(root, failed)); err != nil {
		return err
	}
	for _, output := range a.task.Outputs {
		if err := a.collectOutput(ctx, root, output); err != nil {
			a.result.Artifacts = nil
			return classify(release.ClassInfra, err)
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

// openWorkspace opens the workspace as a root that no name and no link leads out of. The command may have put something
// else in its place.
func (a *attempt) openWorkspace() (*os.Root, error) {
	info, err := os.Lstat(a.workspace())
	if err != nil || !info.IsDir() {
		return nil, fail(release.ClassCommand, "cannot collect outputs: the command removed its workspace")
	}
	root, err := os.OpenRoot(a.workspace())
	if err != nil {
		return nil, fail(release.ClassInfra, "cannot open the workspace: %w", err)
	}
	return root, nil
}

// matches lists what a glob finds, in the order of names. A directory is left out when something below it matches too.
func matches(root *os.Root, glob string) ([]string, error) {
	clean := path.Clean(glob)
	if !filepath.IsLocal(glob) || clean == "." || !doublestar.ValidatePattern(glob) {
		return nil, fail(release.ClassConfig, "cannot collect %q: expected a glob of paths within the workspace", glob)
	}
	found, err := doublestar.Glob(root.FS(), clean, doublestar.WithFailOnIOErrors(), doublestar.WithNoFollow())
	if err != nil {
		return nil, fail(release.ClassCommand, "cannot look for %q: %w", glob, err)
	}
	slices.Sort(found)
	return slices.DeleteFunc(found, func(name string) bool {
		return slices.ContainsFunc(found, func(other string) bool { return strings.HasPrefix(other, name+"/") })
	}), nil
}

func (a *attempt) collectOutput(ctx context.Context, root *os.Root, output plan.Output) error {
	found, err := matches(root, output.Path)
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
		artifact, err := a.store(ctx, root, name, output)
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
func (a *attempt) store(ctx context.Context, root *os.Root, name string, output plan.Output) (release.Artifact, error) {
	artifact := release.Artifact{
		Name: path.Base(name), Type: output.Type, Task: a.task.ID, Job: a.task.Job, MediaType: output.MediaType,
		Stamped: output.Stamped, StampIn: output.StampIn, Matrix: a.task.Matrix,
	}
	if err := a.search(ctx, root, name); err != nil {
		return artifact, err
	}
	from, directory, err := a.open(ctx, root, name)
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

// open opens a match: a file, or a directory as a tar stream. Links are followed within the workspace only.
func (a *attempt) open(ctx context.Context, root *os.Root, name string) (from io.ReadCloser, directory bool, err error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, false, unusable(root, name, err)
	}
	switch {
	case info.IsDir():
		real, err := filepath.EvalSymlinks(filepath.Join(a.workspace(), name))
		if err != nil {
			return nil, false, unusable(root, name, err)
		}
		return pack.Stream(ctx, real), true, nil
	case !info.Mode().IsRegular():
		return nil, false, fail(release.ClassCommand, "cannot keep %q: it is a %s, expected a file or a directory", name, kindOf(info.Mode()))
	}
	file, err := root.Open(name)
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
