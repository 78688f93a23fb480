package executor

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sluiceci/sluice/pkg/driver"
	"github.com/sluiceci/sluice/pkg/release"
)

// room is where a command of an attempt runs: the attempt's own directory, or that of one of its nodes.
type room struct {
	dir    string // HOME; workspace, inputs and artifacts lie below it
	driver driver.Driver
	output io.Writer
	env    map[string]string // what is told here alone
	code   *int32            // takes the exit code
	far    bool              // it does not see the executor's own directory
}

// What lies below a room's directory.
const (
	workName      = "work"
	inputsName    = "inputs"
	artifactsName = "artifacts"
)

func (r *room) workspace() string { return filepath.Join(r.dir, workName) }

// here is the attempt's own room.
func (a *attempt) here() *room {
	return &room{dir: a.dir, driver: a.e.driver, output: a.log, code: &a.result.ExitCode, far: !a.e.local()}
}

// order is a script to run.
type order struct {
	phase string            // what the script is told it is run for
	what  string            // for people: "the command"
	text  string            // for "sh -eu"
	class release.Class     // of a status other than 0
	env   map[string]string // beside the attempt's own
	root  bool              // it starts in the checkout: it is the definition's and not the task's
}

// directory is where a script starts.
func (a *attempt) directory(r *room, o order) string {
	if o.root {
		return r.workspace()
	}
	return filepath.Join(r.workspace(), a.task.Directory)
}

// script runs a text as the shell would. One that ends other than with status 0 fails with the
// class of the order; one that was ended fails with the cause.
func (a *attempt) script(ctx context.Context, r *room, o order) error {
	args, err := a.shell(r, o.text)
	if err != nil {
		return err
	}
	process, err := r.driver.Start(ctx, driver.Spec{
		Args: args, Dir: a.directory(r, o), Home: r.dir, Root: r.dir, Env: a.environment(r, o),
		Output: r.output, Grace: a.e.config.Grace, Image: a.task.Image, Network: a.task.Network == "full",
		Limits: a.limits(), Labels: a.labels(), Mounts: a.mounts(r),
	})
	if err != nil {
		return orCause(ctx, classify(release.ClassConfig, err))
	}
	return a.ended(o, r, process)
}

func (a *attempt) ended(o order, r *room, process driver.Process) error {
	exit := process.Wait()
	if exit.Err != nil {
		a.e.log.Error("a process did not end cleanly", "run", a.ref.Run, "task", a.ref.Task, "process", process.ID(), "err", exit.Err)
	}
	if exit.Leftovers > 0 {
		a.log.note(strconv.Itoa(exit.Leftovers) + " processes were still running and have been killed")
	}
	a.noteImage(exit.Image)
	if o.phase == phaseTest || o.phase == phasePrepare { // What else runs does not tell how the attempt ended.
		*r.code = int32(exit.Code)
	}
	switch {
	case exit.Cause != nil:
		return exit.Cause
	case exit.OK():
		return nil
	case exit.Memory:
		limit := "its limit is three quarters of the machine's memory, as it states none; state the task's resources.memory"
		if stated := a.limits().Or(a.e.config.Driver.Limits).Memory; stated > 0 {
			limit = fmt.Sprintf("its limit is %d bytes; raise the task's resources.memory", stated)
		}
		return fail(o.class, "%s ended with %s: %s, or let it use less", o.what, exit, limit)
	default:
		return fail(a.classOfExit(o, int32(exit.Code)), "%s ended with %s", o.what, exit)
	}
}

// classOfExit is what the task says that a status of its own scripts means, else the class of the order.
func (a *attempt) classOfExit(o order, status int32) release.Class {
	if o.phase != phaseTest && o.phase != phasePrepare {
		return o.class
	}
	return release.ClassOfExit(a.task.Exits, status, o.class)
}

// noteImage says in the log what a command ran in, once for all commands that ran in the same.
func (a *attempt) noteImage(image string) {
	if image == "" {
		return
	}
	if before, _ := a.image.Swap(image).(string); before != image {
		a.log.note("it ran in the image " + image)
	}
}

// maxArgument is what the kernel takes as one argument, with room to spare.
const maxArgument = 96 << 10

// shell is the command line for a script. A long one goes through a file.
func (a *attempt) shell(r *room, text string) ([]string, error) {
	if len(text) <= maxArgument {
		return []string{"sh", "-eu", "-c", text}, nil
	}
	file, err := os.CreateTemp(r.dir, "script-")
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

// environment is what a script sees: the executor's own additions, then the task's variables, then what Sluice says,
// which a definition cannot change, and secrets.
func (a *attempt) environment(r *room, o order) map[string]string {
	env := make(map[string]string, len(a.e.config.Environment)+len(a.task.Variables)+len(a.task.Matrix)+len(a.secrets)+len(o.env)+24)
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
	env["SLUICE_PHASE"] = o.phase
	env["SLUICE_INPUTS"] = filepath.Join(r.dir, inputsName)
	env["SLUICE_ARTIFACTS"] = filepath.Join(r.dir, artifactsName)
	env["SLUICE_STEP"] = a.e.stepper(r)
	a.leaseVariables(env)
	a.resultsVariable(r, env)
	a.metricsVariable(r, env)
	maps.Copy(env, r.env)
	maps.Copy(env, o.env)
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

// mounts are the trees beside its own that a command on this machine needs: the objects that its checkout borrows.
func (a *attempt) mounts(r *room) []driver.Mount {
	kind := a.e.config.Driver.Kind
	here := r.driver == a.e.driver && a.task.Image == "" && (kind == "" || kind == "local" || kind == "auto")
	if !here || a.task.Checkout == "none" || a.e.git == nil {
		return nil
	}
	objects, err := a.e.git.Objects(a.plan.Change.CloneURL, a.plan.Change.Commit)
	if err != nil {
		return nil // The checkout has said so.
	}
	return []driver.Mount{{Source: objects}}
}

// limits are what the task's resources allow a command.
func (a *attempt) limits() driver.Limits {
	of := a.task.Resources
	return driver.Limits{CPU: of["cpu"], Memory: int64(of["memory"]), Processes: int64(of["pids"])}
}

// labels say whose a command is, for people and sweepers.
func (a *attempt) labels() map[string]string {
	return map[string]string{
		"run": string(a.ref.Run), "task": string(a.ref.Task), "attempt": strconv.Itoa(int(a.ref.Attempt)), "owner": a.owner(),
	}
}

// owner is who answers for the attempt.
func (a *attempt) owner() string {
	for _, who := range []string{a.task.Owner, a.task.Team, a.plan.Project} {
		if who != "" {
			return who
		}
	}
	return a.plan.Change.Repo
}
