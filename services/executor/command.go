package executor

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sluiceci/sluice/pkg/driver"
	"github.com/sluiceci/sluice/pkg/release"
)

// command runs the task's script, for as long as it may take.
func (a *attempt) command(ctx context.Context) error {
	if strings.TrimSpace(a.task.Run) == "" {
		return fail(release.ClassConfig, "cannot run task %s: it has no command", a.task.ID)
	}
	limit := firstSet(a.data.Timeouts.Command, a.task.Timeouts.Command, release.Duration(a.task.TimeoutS*1e9))
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, fail(release.ClassTimeout, "the command ran longer than %s", limit))
		defer cancel()
	}
	return a.script(ctx, a.task.Run, release.ClassCommand)
}

// script runs a text as the shell would, in the task's directory. A script that ends other than with status 0 fails
// with the class; one that was ended fails with the cause.
func (a *attempt) script(ctx context.Context, text string, class release.Class) error {
	args, err := a.shell(text)
	if err != nil {
		return err
	}
	process, err := a.e.driver.Start(ctx, driver.Spec{
		Args: args, Dir: filepath.Join(a.workspace(), a.task.Directory), Home: a.dir, Env: a.environment(),
		Output: a.log, Grace: a.e.config.Grace,
	})
	if err != nil {
		return orCause(ctx, classify(release.ClassConfig, err))
	}
	exit := process.Wait()
	if exit.Err != nil {
		a.e.log.Error("a process did not end cleanly", "run", a.ref.Run, "task", a.ref.Task, "process", process.ID(), "err", exit.Err)
	}
	if exit.Leftovers > 0 {
		a.log.note(strconv.Itoa(exit.Leftovers) + " processes were still running and have been killed")
	}
	a.result.ExitCode = int32(exit.Code)
	switch {
	case exit.Cause != nil:
		return exit.Cause
	case exit.OK():
		return nil
	case class == release.ClassPrepare:
		return fail(class, "the preparation ended with %s", exit)
	default:
		return fail(class, "the command ended with %s", exit)
	}
}

// maxArgument is what the kernel takes as one argument, with room to spare.
const maxArgument = 96 << 10

// shell is the command line for a script. A long one goes through a file.
func (a *attempt) shell(text string) ([]string, error) {
	if len(text) <= maxArgument {
		return []string{"sh", "-eu", "-c", text}, nil
	}
	file, err := os.CreateTemp(a.dir, "script-")
	if err != nil {
		return nil, fail(release.ClassInfra, "cannot write the script: %w", err)
	}
	_, err = file.WriteString(text)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, fail(release.ClassInfra, "cannot write the script: %w", err)
	}
	return []string{"sh", "-eu", file.Name()}, nil
}

// environment is what the script sees: the executor's own additions, then the task's variables, then what Sluice says,
// which a definition cannot change, and secrets.
func (a *attempt) environment() map[string]string {
	env := make(map[string]string, len(a.e.config.Environment)+len(a.task.Variables)+len(a.task.Matrix)+len(a.secrets)+8)
	maps.Copy(env, a.e.config.Environment)
	maps.Copy(env, a.task.Variables)
	for key, value := range a.task.Matrix {
		env["SLUICE_MATRIX_"+variableName(key)] = value
	}
	maps.Copy(env, a.secrets)
	env["SLUICE_COMMIT"] = string(a.plan.Change.Commit)
	env["SLUICE_BRANCH"] = a.plan.Change.Branch
	env["SLUICE_RUN"] = string(a.ref.Run)
	env["SLUICE_TASK"] = string(a.ref.Task)
	env["SLUICE_ATTEMPT"] = strconv.Itoa(int(a.ref.Attempt))
	env["SLUICE_INPUTS"] = a.inputs()
	return env
}

// variableName makes a key of the matrix the name of a variable: "python-version" is PYTHON_VERSION.
func variableName(key string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, key)
}
