package definition

import (
	"path"
	"strings"

	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// collide refuses that a task takes files of one name from several tasks of a job: all of them are laid into one directory. Only
// names that are known now can be held against each other; what globs find is, when it is laid.
func (r *resolver) collide() {
	outputs := map[release.TaskID][]plan.Output{}
	for _, t := range r.plan.Tasks {
		outputs[t.ID] = t.Outputs
	}
	told := map[string]bool{} // once for each job
	for _, t := range r.plan.Tasks {
		for _, in := range t.Inputs {
			name, one, other := firstShared(in, outputs)
			if name == "" || told[in.Job] {
				continue
			}
			told[in.Job] = true
			r.fail(r.byName[in.Job].At, "give each its own name, for example with a value of the matrix: {{ key }}-"+path.Base(name),
				"%s takes %s from %s and from %s of job %s: files of one name cannot lie in one directory", t.Name, shorten(printable(name), 100), one, other, in.Job)
		}
	}
}

// firstShared is a name that two tasks of an input give to a file.
func firstShared(in plan.Input, outputs map[release.TaskID][]plan.Output) (name string, one, other release.TaskID) {
	if len(in.From) < 2 {
		return "", "", ""
	}
	owner := map[string]release.TaskID{}
	for _, from := range in.From {
		for _, out := range outputs[from] {
			if in.Type != "" && out.Type != in.Type || strings.ContainsAny(out.Path, `*?[{\`) {
				continue
			}
			name := path.Base(out.Path)
			if first, taken := owner[name]; taken && first != from {
				return name, first, from
			}
			owner[name] = from
		}
	}
	return "", "", ""
}
