package secret

import (
	"github.com/sluiceci/sluice/pkg/environment"
	"github.com/sluiceci/sluice/pkg/plan"
)

// OfTask is the use of a secret by a task of a plan. Its Environment is for the caller to fill in: which one a task was let
// into is not the plan's to say.
func OfTask(p *plan.Plan, t *plan.Task, name string) Use {
	u := of(p, name)
	u.Kind = string(t.Kind)
	return u
}

// OfProvider is the use by the commands of a plan's provider, which make places for a task.
func OfProvider(p *plan.Plan, t *plan.Task, name string) Use {
	u := OfTask(p, t, name)
	u.Kind = KindProvider
	return u
}

// OfTarget is the use by a publication. It has no environment: the grant names the target, and the installation's
// environments say which targets they protect.
func OfTarget(p *plan.Plan, t plan.Target, name string) Use {
	u := of(p, name)
	u.Target = t.Name
	return u
}

func of(p *plan.Plan, name string) Use {
	c := p.Change
	return Use{
		Name: name, Project: c.Project, Ref: c.Ref, Trust: p.Trust, Change: c.Kind,
	}
}

// Explained is what becomes of one secret that a plan asks for.
type Explained struct {
	Work   string // "task wheel", "provider cloud", "target pypi"
	Secret string
	Decision
}

// Explain decides about every secret that the tasks and providers of a plan ask for, as if reviewers had approved all
// environments that the change may use.
func (g Grants) Explain(p *plan.Plan, rules environment.Rules) []Explained {
	var out []Explained
	makers := map[string]plan.Provider{}
	for _, one := range p.Providers {
		makers[one.Name] = one
	}
	for i := range p.Tasks {
		t := &p.Tasks[i]
		add := func(work, name string, u Use) {
			u.Environment = rules.Entered(p.Change, p.Trust, t.Environment)
			out = append(out, Explained{work, name, g.Decide(u)})
		}
		for _, name := range t.Secrets {
			add("task "+string(t.ID), name, OfTask(p, t, name))
		}
		for _, name := range makers[t.Lease.Provider].Secrets {
			add("provider "+t.Lease.Provider+" for task "+string(t.ID), name, OfProvider(p, t, name))
		}
	}
	return out
}
