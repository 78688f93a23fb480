package readmodel

import (
	"context"

	"github.com/sluiceci/sluice/pkg/store"
)

// Visible are the projects whose rows somebody may see; nil is all of them.
type Visible struct{ Projects []string }

// where is the condition that keeps the other projects' rows out.
func (v *Visible) where(column string) (term string, args []any) {
	if v == nil {
		return "", nil
	}
	if len(v.Projects) == 0 {
		return "1 = 0", nil
	}
	for _, p := range v.Projects {
		args = append(args, p)
	}
	return column + " IN (" + store.In(len(args)) + ")", args
}

// Projects lists the projects that have runs.
func (m *Model) Projects(ctx context.Context) ([]string, error) {
	return collect(ctx, m, "SELECT DISTINCT project FROM runs WHERE project IS NOT NULL", nil, func(p *string) []any { return []any{p} })
}
