package planner

import (
	"context"

	"github.com/sluiceci/sluice/pkg/definition"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// Job is a definition that a plan is wanted of.
type Job struct {
	File   string         `json:"file"` // its name, for messages
	Text   []byte         `json:"text"`
	Change release.Change `json:"change"`
	Rules  bool           `json:"rules,omitempty"` // no plan is wanted: only whether the change starts a run, and what the gate requires
}

// Host gives a plan what it needs from outside: files, what is asked of the plan, answers. An error of the host ends the
// planning and comes back as it is.
type Host interface {
	definition.Loader
	// Request is what the plan is resolved for. It is asked for once the definition was read and the change starts a run.
	Request(ctx context.Context) (definition.Request, error)
	// Answers are by question those to what dialects ask.
	Answers(ctx context.Context, questions []definition.Question) (map[string]string, error)
}

// Outcome is a plan, or why the change starts none. Of a job for rules it is that the change starts a run, or why not.
type Outcome struct {
	Plan    *plan.Plan `json:"plan,omitempty"`
	Ignored string     `json:"ignored,omitempty"`
	Starts  bool       `json:"starts,omitempty"`
	Require []string   `json:"require,omitempty"` // of a job for rules: gate.require
}

// Here makes plans in this process, where nothing can stop them.
type Here struct {
	Dialects map[string]plan.Dialect              // that includes may name
	Targets  map[string][]definition.TargetOption // what may be said of targets, by kind
}

// Plan makes the plan of a job. What is wrong with the definition is a definition.Errors.
func (h Here) Plan(ctx context.Context, job Job, host Host) (Outcome, error) {
	def, err := definition.Load(ctx, job.File, job.Text, definition.Options{Loader: host, Dialects: h.Dialects, Targets: h.Targets})
	if err != nil {
		return Outcome{}, err
	}
	if wanted, why := definition.Triggered(def, job.Change); !wanted {
		return Outcome{Ignored: why}, nil
	}
	if job.Rules {
		return Outcome{Starts: true, Require: definition.Requires(def)}, nil
	}
	request, err := host.Request(ctx)
	if err != nil {
		return Outcome{}, err
	}
	if questions := definition.Questions(def, request); len(questions) > 0 {
		if request.Answers, err = host.Answers(ctx, questions); err != nil {
			return Outcome{}, err
		}
	}
	p, err := definition.Resolve(def, request)
	return Outcome{Plan: p}, err
}

// stopped is the error of a change whose plan was given up.
func stopped(format string, args ...any) error {
	return fault.New(fault.Invalid, "cannot plan: "+format, args...)
}
