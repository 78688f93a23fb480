package pages

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/services/reporter/readmodel"
	"github.com/sluiceci/sluice/services/reporter/view"
)

const eventsOnPage = 100

// eventsPage is the facts of a run, out of the stream.
type eventsPage struct {
	Run     release.RunID
	Path    string
	Type    string
	Events  []eventRow
	Causes  map[string]uint64 // of those on the page: id → place
	Next    string
	Filters []filter
	Command string
}

type eventRow struct {
	view.Event
	Line string
	Tone readmodel.Tone
	JSON string
}

func (p *pages) events(w http.ResponseWriter, r *http.Request) error {
	run, err := runOf(r)
	if err != nil {
		return err
	}
	after, _ := strconv.ParseUint(r.FormValue("after"), 10, 63) // what is no number begins at the first
	kind := r.FormValue("type")
	events, next, err := p.Source.Events(r.Context(), view.EventsQuery{Run: run, After: after, Limit: eventsOnPage, Type: kind})
	if err != nil {
		return err
	}
	page := eventsPage{Run: run, Path: runPath(run), Type: kind, Causes: map[string]uint64{}, Filters: eventFilters(run, kind)}
	for _, e := range events {
		page.Causes[e.ID] = e.Seq
		page.Events = append(page.Events, eventRowOf(e))
	}
	if next != 0 {
		page.Next = eventsAddress(run, kind, next)
	}
	return p.draw(w, http.StatusOK, "events", frame{
		Title: "Events of " + string(run), Section: "runs", Command: "sluice events show " + string(run), Page: page,
	})
}

func eventRowOf(e view.Event) eventRow {
	row := eventRow{Event: e, Line: string(e.Type), Tone: readmodel.Plain}
	if entry, ok := event.Find(e.Type); ok {
		if data, err := entry.Decode(e.Data); err == nil {
			row.Line, row.Tone = readmodel.Line(event.Event{Type: e.Type, Data: data})
		}
	}
	var b bytes.Buffer
	if json.Indent(&b, e.Data, "", "  ") == nil {
		row.JSON = b.String()
	}
	return row
}

func eventsAddress(run release.RunID, kind string, after uint64) string {
	values := url.Values{}
	if kind != "" {
		values.Set("type", kind)
	}
	if after != 0 {
		values.Set("after", strconv.FormatUint(after, 10))
	}
	path := runPath(run) + "/events"
	if len(values) > 0 {
		path += "?" + values.Encode()
	}
	return path
}

func eventFilters(run release.RunID, on string) []filter {
	var out []filter
	for _, word := range []string{"", "change", "run", "task", "candidate", "gate", "publication", "release", "artifact"} {
		f := filter{Word: word, Href: eventsAddress(run, word, 0), On: word == on}
		if word == "" {
			f.Word = "all"
		}
		out = append(out, f)
	}
	return out
}
