package executor

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/pack"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// layInputs lays the artifacts that the task takes into inputs/<job>/<name>, verified by digest on the way. The
// directory of a job is there even when it is empty.
func (a *attempt) layInputs(ctx context.Context) error {
	if len(a.task.Inputs) == 0 {
		return nil
	}
	if err := a.fetchInputs(ctx); err != nil {
		return err
	}
	if err := os.Mkdir(a.inputs(), 0o755); err != nil {
		return fail(release.ClassInfra, "cannot make the inputs' directory: %w", err)
	}
	root, err := os.OpenRoot(a.inputs())
	if err != nil {
		return fail(release.ClassInfra, "cannot open the inputs' directory: %w", err)
	}
	defer func() { _ = root.Close() }()
	laid := map[string]release.Artifact{}
	for _, input := range a.task.Inputs {
		artifacts, err := a.chosen(input)
		if err != nil {
			return err
		}
		if err := makeJob(root, input.Job); err != nil {
			return err
		}
		for _, artifact := range artifacts {
			if err := a.layOnce(ctx, root, laid, input.Job, artifact); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxInputs bounds the list of inputs that stands in a blob, in bytes.
const maxInputs = 64 << 20

// fetchInputs reads the list of what the attempt was given, where a message could not hold it.
func (a *attempt) fetchInputs(ctx context.Context) error {
	if a.data.InputsIn == "" {
		return nil
	}
	text, err := blob.ReadAll(ctx, a.e.deps.Blobs, a.data.InputsIn, maxInputs)
	if err != nil {
		return fail(release.ClassInfra, "cannot read the list of inputs: %w", err)
	}
	if err := json.Unmarshal(text, &a.data.Inputs); err != nil {
		return fail(release.ClassInfra, "cannot read the list of inputs in blob %s: %w", a.data.InputsIn, err)
	}
	if got := event.InputsOf(a.data.Inputs); got != a.data.Fingerprint() {
		return fail(release.ClassInfra, "cannot use the list of inputs in blob %s: it is not the one that the attempt was given", a.data.InputsIn)
	}
	return nil
}

func makeJob(root *os.Root, job string) error {
	if !plainName(job) {
		return fail(release.ClassConfig, "cannot lay inputs of job %q: expected a plain name", job)
	}
	if err := root.Mkdir(job, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return fail(release.ClassInfra, "cannot make the directory of inputs of job %s: %w", job, err)
	}
	return nil
}

// chosen lists the artifacts that an input names. An output that the plan promises and that nobody produced is an
// error: missing is not passing.
func (a *attempt) chosen(input plan.Input) ([]release.Artifact, error) {
	var list []release.Artifact
	for _, from := range input.From {
		found := false
		for _, produced := range a.data.Inputs {
			if produced.Task != from {
				continue
			}
			for _, artifact := range produced.Artifacts {
				if input.Type == "" || artifact.Type == input.Type {
					found = true
					list = append(list, artifact)
				}
			}
		}
		if !found && a.promised(from, input.Type) {
			return nil, fail(release.ClassSetup, "cannot lay inputs of job %s: task %s left no artifact %q", input.Job, from, input.Type)
		}
	}
	return list, nil
}

// promised reports whether the plan says that a task leaves an artifact of a type (empty: of any).
func (a *attempt) promised(id release.TaskID, kind string) bool {
	task, ok := a.plan.Task(id)
	return ok && slices.ContainsFunc(task.Outputs, func(o plan.Output) bool {
		return !o.Optional && (kind == "" || o.Type == kind)
	})
}

// layOnce lays an artifact unless the same bytes are there under its name. Other bytes under one name are an error that
// names both tasks: which of them the command would see must not be left to chance.
func (a *attempt) layOnce(ctx context.Context, root *os.Root, laid map[string]release.Artifact, job string, artifact release.Artifact) error {
	if !plainName(artifact.Name) {
		return fail(release.ClassConfig, "cannot lay artifact %q of task %s: expected a plain file name", artifact.Name, artifact.Task)
	}
	name := filepath.Join(job, artifact.Name)
	if other, taken := laid[name]; taken {
		if other.Digest == artifact.Digest {
			return nil
		}
		return fail(release.ClassConfig, "cannot lay input %s: task %s made it with digest %s and task %s with %s; "+
			"give the outputs different names, for example with a value of the matrix", name, other.Task, other.Digest, artifact.Task, artifact.Digest)
	}
	laid[name] = artifact
	if artifact.Directory {
		return a.unpack(ctx, name, artifact)
	}
	return a.write(ctx, root, name, artifact)
}

func (a *attempt) unpack(ctx context.Context, name string, artifact release.Artifact) error {
	from, _, err := a.e.deps.Blobs.Open(ctx, artifact.Digest)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	return pack.Untar(ctx, from, filepath.Join(a.inputs(), name), pack.Limits{})
}

func (a *attempt) write(ctx context.Context, root *os.Root, name string, artifact release.Artifact) error {
	from, _, err := a.e.deps.Blobs.Open(ctx, artifact.Digest)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fail(release.ClassInfra, "cannot write input %s: %w", name, err)
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{file}, from, make([]byte, 256<<10))
	if err = errors.Join(err, file.Close()); err != nil {
		return fail(release.ClassInfra, "cannot write input %s: %w", name, err)
	}
	return nil
}

// plainName reports whether a name is one step of a path.
func plainName(name string) bool {
	return filepath.IsLocal(name) && name != "." && filepath.Base(name) == name
}
