package pages

import (
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/sluiceci/sluice/services/reporter/readmodel"
)

// barWidth is the width of a bar's drawing; the page stretches it.
const barWidth = 1000

// bar draws one task's attempts on the time of its run.
type bar struct {
	b        strings.Builder
	from, to time.Time
}

// drawBar draws queue, prepare, command, collect and cleanup of each attempt.
func drawBar(t readmodel.Task, from, to time.Time, ended bool, now time.Time) template.HTML {
	d := &bar{from: from, to: to}
	fmt.Fprintf(&d.b, `<svg class="bar" viewBox="0 0 %d 16" preserveAspectRatio="none" role="img" aria-label="when its attempts ran">`, barWidth)
	for _, a := range t.Attempts {
		d.attempt(a, ended, now)
	}
	d.b.WriteString(`</svg>`)
	return template.HTML(d.b.String()) //nolint:gosec // numbers and constants
}

func (d *bar) attempt(a readmodel.Attempt, ended bool, now time.Time) {
	if !a.Dispatched.IsZero() {
		d.rect("queue", a.Dispatched, firstOf(a.Started, a.Finished, now))
	}
	if a.Started.IsZero() {
		return
	}
	end := a.Finished
	if end.IsZero() {
		end = now
		if ended {
			end = d.to
		}
	}
	tone := lookOf(string(a.Outcome)).Tone
	if a.Outcome == "" {
		tone = "live"
	}
	if len(a.Phases) == 0 {
		d.rect("command "+tone, a.Started, end)
	}
	for _, p := range a.Phases {
		class := "side"
		switch p.Name {
		case "command":
			class = "command " + tone
		case "prepare":
			class = "prepare"
		}
		d.rect(class, p.Start, p.Start.Add(p.Took.Std()))
	}
}

func firstOf(times ...time.Time) time.Time {
	for _, t := range times {
		if !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}

func (d *bar) rect(class string, from, to time.Time) {
	x, end := d.x(from), d.x(to)
	fmt.Fprintf(&d.b, `<rect class="%s" x="%.1f" y="2" width="%.1f" height="12"/>`, class, x, max(end-x, 1.5))
}

// x is where a moment is, within the drawing whatever the moment.
func (d *bar) x(t time.Time) float64 {
	share := float64(t.Sub(d.from)) / float64(d.to.Sub(d.from))
	return min(max(share, 0), 1) * barWidth
}
