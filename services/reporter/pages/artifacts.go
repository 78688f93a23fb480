package pages

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/services/reporter/readmodel"
	"github.com/sluiceci/sluice/services/reporter/view"
)

const artifactsOnPage = 200

type artifactsPage struct {
	Run       release.RunID
	Path      string
	Artifacts []artifactRow
	Next      string
}

type artifactRow struct {
	readmodel.Artifact
	Href, TaskPath string
}

func (p *pages) artifacts(w http.ResponseWriter, r *http.Request) error {
	run, err := runOf(r)
	if err != nil {
		return err
	}
	if _, found, err := p.Source.Model.Run(r.Context(), run); err != nil || !found {
		if err == nil {
			err = view.Missing("run "+string(run), "sluice runs lists those that there are")
		}
		return err
	}
	list, more, err := p.Source.Model.Artifacts(r.Context(), readmodel.ArtifactsQuery{
		Run: run, Limit: artifactsOnPage,
		After: readmodel.ArtifactKey{Task: r.FormValue("task"), Name: r.FormValue("name"), Type: r.FormValue("type")},
	})
	if err != nil {
		return err
	}
	page := artifactsPage{Run: run, Path: runPath(run)}
	for _, a := range list {
		page.Artifacts = append(page.Artifacts, artifactRowOf(run, a))
	}
	if more {
		last := list[len(list)-1]
		page.Next = page.Path + "/artifacts?" + url.Values{"task": {string(last.Task)}, "name": {last.Name}, "type": {last.Type}}.Encode()
	}
	return p.draw(w, http.StatusOK, "artifacts", frame{
		Title: "Artifacts of " + string(run), Section: "runs", Command: "sluice artifacts " + string(run), Page: page,
	})
}

func artifactRowOf(run release.RunID, a readmodel.Artifact) artifactRow {
	var name []string
	for part := range strings.SplitSeq(a.Name, "/") {
		name = append(name, url.PathEscape(part))
	}
	return artifactRow{
		Artifact: a, TaskPath: taskPath(run, a.Task),
		Href: "/api/v1" + runPath(run) + "/artifacts/" + url.PathEscape(string(a.Task)) + "/" + strings.Join(name, "/"),
	}
}
