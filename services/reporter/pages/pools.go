package pages

import (
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/schedule"
)

// poolsPage is the pools and their queues, the places that attempts lease, and the limits that hold them back.
type poolsPage struct {
	Pools      []poolRow
	Places     []placeRow
	Limits     []limitRow
	Unanswered string
}

type poolRow struct {
	schedule.Pool
	Tone, Word string
	Meter      template.HTML
	Held       []heldRow
}

// heldRow is what commands of some executors, which are alike in that, are held back by.
type heldRow struct {
	Executors, Held, Refusal, Accepts string
	Missing                           []string
}

func heldRows(executors []schedule.Executor) []heldRow {
	var rows []heldRow
	for _, x := range executors {
		row := heldRow{Executors: x.Name, Held: strings.Join(x.Held, ", "), Missing: x.Missing, Refusal: x.Refusal, Accepts: accepts(x.Accepts)}
		i := slices.IndexFunc(rows, func(r heldRow) bool {
			return r.Held == row.Held && r.Refusal == row.Refusal && r.Accepts == row.Accepts && slices.Equal(r.Missing, row.Missing)
		})
		switch {
		case row.Held == "" && row.Refusal == "" && row.Accepts == "" || !x.Alive: // It has not said yet, or will take nothing.
		case i < 0:
			rows = append(rows, row)
		default:
			rows[i].Executors += ", " + x.Name
		}
	}
	return rows
}

// accepts lists levels of trust for people.
func accepts(levels []release.Trust) string {
	words := make([]string, len(levels))
	for i, l := range levels {
		words[i] = string(l)
	}
	return strings.Join(words, ", ")
}

func (p *pages) pools(w http.ResponseWriter, r *http.Request) error {
	page := poolsPage{}
	pools, err := p.Source.Pools(r.Context())
	if err != nil {
		page.Unanswered = err.Error()
	}
	for _, one := range pools {
		page.Pools = append(page.Pools, poolRowOf(one))
	}
	if err == nil {
		page.Unanswered = p.addPlaces(r.Context(), &page)
	}
	return p.draw(w, http.StatusOK, "pools", frame{Title: "Pools", Section: "pools", Command: "sluice pools", Page: page})
}

func poolRowOf(p schedule.Pool) poolRow {
	row := poolRow{Pool: p, Tone: "good", Word: "ready", Meter: slots(p), Held: heldRows(p.Executors)}
	switch {
	case p.Drained:
		row.Tone, row.Word = "warn", "drained"
	case p.Slots == 0 && p.Waiting+p.Given > 0:
		row.Tone, row.Word = "bad", "no executor is alive"
	case p.Slots == 0:
		row.Tone, row.Word = "calm", "no executor"
	case p.Running >= p.Slots:
		row.Tone, row.Word = "live", "full"
	case p.Running > 0:
		row.Tone, row.Word = "live", "at work"
	}
	return row
}

// slots draws each slot of a pool, the busy ones filled.
func slots(p schedule.Pool) template.HTML {
	n := min(p.Slots, 60)
	text := fmt.Sprintf(`<svg class="slots" viewBox="0 0 %d 12" width="%d" height="12" role="img" aria-label="%d of %d slots are busy">`, n*12, n*12, p.Running, p.Slots)
	for i := range n {
		class := "free"
		if i*max(p.Slots, 1)/max(n, 1) < p.Running {
			class = "live"
		}
		text += fmt.Sprintf(`<rect class="%s" x="%d" y="1" width="9" height="10" rx="2"/>`, class, i*12+1)
	}
	return template.HTML(text + "</svg>") //nolint:gosec // numbers and constants
}
