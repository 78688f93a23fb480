package pages

import (
	"context"
	"html/template"
	"net/http"
	"time"

	"github.com/sluiceci/sluice/pkg/access"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/services/reporter/live"
	"github.com/sluiceci/sluice/services/reporter/readmodel"
	"github.com/sluiceci/sluice/services/reporter/view"
)

const (
	maxVerdicts = 120
	// redrawPause is how often a watched page is drawn again at most.
	redrawPause = 250 * time.Millisecond
)

// runPage is what the page of a run shows.
type runPage struct {
	*view.Detail
	Path       string
	Ago        string
	Title      string
	Took       time.Duration
	Verdict    verdict
	Flow       []stage
	Conditions conditionGroups
	Trouble    []trouble
	States     []release.PublicationState
	Targets    []target
	Graph      template.HTML
	Tasks      taskGroups
	Timeline   []readmodel.Moment
	Live       bool
	Approvals  []approval
	SignedIn   bool // with a session: buttons act for it
}

// parts lists the parts of the page that are drawn again when the run changes.
func (*runPage) parts() []string {
	return []string{"verdict", "flow", "gate", "approvals", "trouble", "targets", "graph", "tasks", "facts", "timeline"}
}

func (p *pages) runPage(ctx context.Context, id release.RunID) (*runPage, error) {
	d, err := p.Source.Run(ctx, id, 0)
	if err != nil {
		return nil, err
	}
	timeline, err := p.Source.Model.Verdicts(ctx, id, maxVerdicts)
	if err != nil {
		return nil, err
	}
	now := p.Now()
	page := &runPage{
		Detail: d, Path: runPath(id), Title: titleOf(d.Run), Ago: ago(now, d.Run.Received), Took: length(d.Run, now), Verdict: verdictOf(d),
		Flow: flow(d), Conditions: conditions(d), Trouble: troubles(d, now), States: release.PublicationStates(),
		Targets: targets(d), Timeline: timeline, Live: !d.Run.Ended(),
	}
	page.Graph = drawGraph(d)
	waits := p.Source.Waits(ctx, d)
	page.Tasks = groupTasks(d, waits, now)
	page.Approvals, page.SignedIn = approvals(d, waits), access.From(ctx).Cookie
	return page, nil
}

// length is how long a run took, or takes.
func length(r readmodel.Run, now time.Time) time.Duration {
	switch {
	case r.Received.IsZero():
		return 0
	case r.Ended() && !r.Finished.IsZero():
		return r.Finished.Sub(r.Received)
	case r.Ended():
		return r.Updated.Sub(r.Received)
	default:
		return now.Sub(r.Received)
	}
}

func (p *pages) run(w http.ResponseWriter, r *http.Request) error {
	id, err := runOf(r)
	if err != nil {
		return err
	}
	page, err := p.runPage(r.Context(), id)
	if err != nil {
		return err
	}
	title := page.Verdict.Headline + " · " + page.Title
	return p.draw(w, http.StatusOK, "run", frame{Title: title, Section: "runs", Command: "sluice status " + string(id), Page: page})
}

// runLive sends the parts of the page that have changed, whenever the run has.
func (p *pages) runLive(w http.ResponseWriter, r *http.Request) error {
	id, err := runOf(r)
	if err != nil {
		return err
	}
	return p.watch(w, r, id, "run", func(ctx context.Context) (partial, bool, error) {
		page, err := p.runPage(ctx, id)
		if err != nil {
			return nil, false, err
		}
		return page, !page.Live, nil
	})
}

// partial is a page of which parts are drawn again.
type partial interface{ parts() []string }

// watch draws a page again whenever a run changes and sends the parts that differ, until the page says that it is done.
func (p *pages) watch(
	w http.ResponseWriter, r *http.Request, run release.RunID, name string,
	read func(context.Context) (page partial, done bool, err error),
) error {
	watcher := p.Hub.Watch(run)
	defer watcher.Close()
	page, done, err := read(r.Context())
	if err != nil {
		return err
	}
	s := live.NewStream(w)
	sent := map[string]string{}
	for {
		if err := p.sendParts(s, name, page, sent); err != nil {
			return err
		}
		if done {
			return s.Send("done", "", "done")
		}
		if err := live.Await(r.Context(), s, watcher, redrawPause); err != nil {
			return err
		}
		if page, done, err = read(r.Context()); err != nil {
			return err
		}
	}
}

func (p *pages) sendParts(s *live.Stream, name string, page partial, sent map[string]string) error {
	for _, part := range page.parts() {
		text, err := p.part(name, part, page)
		if err != nil {
			return err
		}
		if sent[part] != text {
			sent[part] = text
			s.Add(part, "", text)
		}
	}
	return s.Flush()
}
