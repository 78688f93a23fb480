package environment

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/plan"
)

// maxNamed is how many tasks or targets a sentence names.
const maxNamed = 3

// Explain says of every protected environment that the tasks and targets of a plan use whether its change may use it, and
// who must approve.
func (r Rules) Explain(p *plan.Plan) []string {
	var out []string
	for _, e := range r {
		work := e.uses(r, p)
		if len(work) == 0 {
			continue
		}
		if more := len(work) - maxNamed; more > 0 {
			work = append(work[:maxNamed], fmt.Sprintf("%d more", more))
		}
		uses := strings.Join(work, ", ")
		if admitted, why := e.Admits(p.Change, p.Trust); !admitted {
			out = append(out, fmt.Sprintf("%s: never started or published: %s", uses, why))
		} else if e.Needs() > 0 {
			out = append(out, fmt.Sprintf("%s: waits until %d of the reviewers of environment %s (%s) have approved", uses, e.Needs(), e.Name, strings.Join(e.Reviewers, ", ")))
		}
	}
	return out
}

// uses names the tasks and targets of a plan that an environment holds.
func (p Protected) uses(r Rules, of *plan.Plan) []string {
	var out []string
	for i := range of.Tasks {
		if found, is := r.Find(of.Change.Project, of.Tasks[i].Environment); is && found.Name == p.Name && p.covers(of.Change.Project) {
			out = append(out, "task "+string(of.Tasks[i].ID))
		}
	}
	for _, t := range of.Targets {
		if slices.ContainsFunc(r.OfTarget(of.Change.Project, t.Name), func(e Protected) bool { return e.Name == p.Name }) && p.covers(of.Change.Project) {
			out = append(out, "target "+t.Name)
		}
	}
	return out
}
