package reporter

import (
	"math"
	"net/http"

	"github.com/sluiceci/sluice/pkg/access"
	"github.com/sluiceci/sluice/services/reporter/readmodel"
)

// audit lists what people did in the projects that whoever asks maintains.
func (a *api) audit(w http.ResponseWriter, r *http.Request) error {
	n, err := limit(r)
	if err != nil {
		return err
	}
	before, err := number(r, "before", 0, math.MaxInt64)
	if err != nil {
		return err
	}
	visible, err := a.source.Visible(r.Context(), access.Maintainer)
	if err != nil {
		return err
	}
	acts, next, err := a.source.Model.Acts(r.Context(), readmodel.ActsQuery{
		Limit: n, Before: before, Who: r.FormValue("who"), Run: r.FormValue("run"), Project: r.FormValue("project"), Visible: visible,
	})
	if err != nil {
		return err
	}
	return ok(w, struct {
		Acts []readmodel.Act `json:"acts"`
		Next uint64          `json:"next,omitempty"`
	}{acts, next})
}
