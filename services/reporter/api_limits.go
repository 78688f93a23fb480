package reporter

import (
	"net/http"

	"github.com/sluiceci/sluice/pkg/schedule"
)

func (a *api) limits(w http.ResponseWriter, r *http.Request) error {
	limits, err := a.source.Limits(r.Context())
	if err != nil {
		return err
	}
	return ok(w, map[string][]schedule.Quota{"limits": limits})
}
