package pages

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/sluiceci/sluice/pkg/access"
	"github.com/sluiceci/sluice/services/reporter/readmodel"
)

const actsOnPage = 100

// auditPage is what people did, the newest first.
type auditPage struct {
	Query readmodel.ActsQuery
	Acts  []readmodel.Act
	Next  string // address of the older acts
}

func (p *pages) audit(w http.ResponseWriter, r *http.Request) error {
	before, _ := strconv.ParseUint(r.FormValue("before"), 10, 63) // what is no number begins with the newest
	visible, err := p.Source.Visible(r.Context(), access.Maintainer)
	if err != nil {
		return err
	}
	q := readmodel.ActsQuery{
		Limit: actsOnPage, Before: before, Who: r.FormValue("who"), Run: r.FormValue("run"), Project: r.FormValue("project"), Visible: visible,
	}
	acts, next, err := p.Source.Model.Acts(r.Context(), q)
	if err != nil {
		return err
	}
	page := auditPage{Query: q, Acts: acts}
	if next != 0 {
		v := url.Values{"before": {strconv.FormatUint(next, 10)}}
		for name, value := range map[string]string{"who": q.Who, "run": q.Run, "project": q.Project} {
			if value != "" {
				v.Set(name, value)
			}
		}
		page.Next = "/audit?" + v.Encode()
	}
	return p.draw(w, http.StatusOK, "audit", frame{Title: "Audit", Section: "audit", Command: "sluice audit", Page: page})
}
