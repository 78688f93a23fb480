package show

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// What a job leaves goes by the task and the type of the output, in a directory of its own: where it was made, the job
// after it would take it for an output of its own.
const (
	gitlabLeft = ".sluice/outputs/"
	gitlabLaid = ".sluice/inputs"
)

// gitlabScript is what a job does: it lays its inputs, runs each phase as Sluice does, in a shell of its own that ends at
// the first mistake, and puts its outputs where the jobs after it find them.
func gitlabScript(p *plan.Plan, t *plan.Task) []string {
	out := gitlabInputs(p, t)
	if t.Prepare != "" && !slices.Contains(t.SkipPhases, "prepare") {
		out = append(out, gitlabPhase(t, t.Prepare, nil))
	}
	run := t.Run
	if t.Fetch.Wanted() {
		run = gitlabFetch(t.Fetch, t.Timeouts.Queue)
	}
	if slices.Contains(t.SkipPhases, "test") {
		run = "true"
	}
	for _, v := range t.Variants {
		out = append(out, gitlabPhase(t, run, v.Variables))
	}
	if len(t.Variants) == 0 {
		out = append(out, gitlabPhase(t, run, nil))
	}
	for _, o := range t.Outputs {
		out = append(out, gitlabKeep(t, o))
	}
	return out
}

// gitlabFetch waits in a job, since GitLab has nowhere else to wait. Where the commit is in what came, nobody looks.
func gitlabFetch(f plan.Fetch, wait release.Duration) string {
	every := max(1, int64(f.Every.Std().Seconds()))
	return fmt.Sprintf("curl --fail --location --remote-name --retry-all-errors --retry %d --retry-delay %d %s",
		int64(wait.Std().Seconds())/every, every, shellQuote(f.URL))
}

// gitlabPhase is a command in the task's directory. GitLab runs all lines of a script in one shell, often bash with
// pipefail: there an exit, a cd or a pipe that is closed early would mean more than it does here.
func gitlabPhase(t *plan.Task, text string, variables map[string]string) string {
	var line strings.Builder
	for _, name := range sorted(variables) {
		fmt.Fprintf(&line, "%s=%s ", name, shellQuote(variables[name]))
	}
	line.WriteString("sh -euc " + shellQuote(text))
	if t.Directory == "" {
		return line.String()
	}
	return "(cd " + shellQuote(t.Directory) + " && " + line.String() + ")"
}

// gitlabInputs lays what other tasks left into $SLUICE_INPUTS/JOB. What was promised and is not there ends the job.
func gitlabInputs(p *plan.Plan, t *plan.Task) []string {
	if len(t.Inputs) == 0 {
		return nil
	}
	out := []string{`rm -rf "$SLUICE_INPUTS"`} // of an earlier job in the same directory
	for _, in := range t.Inputs {
		to := `"$SLUICE_INPUTS"/` + shellQuote(in.Job) + "/"
		out = append(out, "mkdir -p "+to)
		for _, from := range in.From {
			for _, kind := range gitlabTypes(p, from, in.Type) {
				out = append(out, "cp -R "+shellQuote(gitlabLeft+string(from)+"/"+kind)+"/. "+to)
			}
		}
	}
	return out
}

// gitlabTypes are the types of outputs that an input takes of a task.
func gitlabTypes(p *plan.Plan, id release.TaskID, kind string) []string {
	task, ok := p.Task(id)
	if !ok {
		return nil
	}
	var out []string
	for _, o := range task.Outputs {
		if (kind == "" || o.Type == kind) && !slices.Contains(out, o.Type) {
			out = append(out, o.Type)
		}
	}
	return out
}

// gitlabMark is a file in the directory of each output, since GitLab keeps no empty ones. Inputs have it too; it is hidden.
const gitlabMark = ".sluice"

// gitlabKeep puts an output by. One that is not there fails the job: GitLab would only warn.
func gitlabKeep(t *plan.Task, o plan.Output) string {
	to := shellQuote(gitlabLeft + string(t.ID) + "/" + o.Type)
	line := "mkdir -p " + to + " && : >" + to + "/" + gitlabMark + "\n" +
		"found=; for f in " + shellGlob(o.Path) + `; do if [ -e "$f" ]; then cp -RH "$f" ` + to + "/; found=yes; fi; done"
	if !o.Optional {
		line += "\n[ \"$found\" ] || { echo " + shellQuote(fmt.Sprintf("no file matches %q", o.Path)) + " >&2; exit 1; }"
	}
	if strings.Contains(o.Path, "**") || strings.Contains(o.Path, "{") { // of globs these are bash's
		return "bash -O globstar -euc " + shellQuote(line)
	}
	return line
}

// shellGlob is a glob in the words of a shell: what is no part of a glob means only itself.
func shellGlob(glob string) string {
	var out strings.Builder
	for _, r := range glob {
		plain := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r > 0x7f
		if !plain && !strings.ContainsRune("_-+=:@%./*?[]{},!^\\", r) {
			out.WriteByte('\\')
		}
		out.WriteRune(r)
	}
	text := out.String()
	if strings.HasPrefix(text, "-") {
		return "./" + text
	}
	return text
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
