package view

import (
	"context"

	"github.com/sluiceci/sluice/pkg/access"
	"github.com/sluiceci/sluice/services/reporter/readmodel"
)

// Visible are the projects in which whoever asks has a role; nil is all of them.
func (s *Source) Visible(ctx context.Context, need access.Role) (*readmodel.Visible, error) {
	who := access.From(ctx)
	if who.In(access.All) >= need {
		return nil, nil
	}
	projects, err := s.Model.Projects(ctx)
	if err != nil {
		return nil, err
	}
	v := &readmodel.Visible{}
	for _, p := range projects {
		if who.In(p) >= need {
			v.Projects = append(v.Projects, p)
		}
	}
	return v, nil
}
