package show

import (
	"encoding/json"
	"io"

	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// document is a plan in the form that scripts read: that of plan.Plan, but retry is a map of class to limit.
type document struct {
	*plan.Plan
	Tasks []task `json:"tasks"`
}

type task struct {
	*plan.Task
	Retry map[release.Class]int32 `json:"retry,omitempty"`
}

// JSON prints a plan as one JSON document.
func JSON(w io.Writer, p *plan.Plan) error {
	d := document{Plan: p, Tasks: make([]task, len(p.Tasks))}
	for i := range p.Tasks {
		d.Tasks[i] = task{Task: &p.Tasks[i], Retry: limits(p.Tasks[i].Retry)}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(d)
}

func limits(retry []release.Retry) map[release.Class]int32 {
	if len(retry) == 0 {
		return nil
	}
	out := make(map[release.Class]int32, len(retry))
	for _, r := range retry {
		out[r.Class] = r.Limit
	}
	return out
}
