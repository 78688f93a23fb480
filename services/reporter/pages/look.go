package pages

import (
	"html/template"

	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/services/reporter/readmodel"
)

// look is how a state is shown: a shape, a word, and a tone for the colour. No two states share a shape and a tone.
type look struct {
	Shape string
	Word  string
	Tone  string // "good", "bad", "warn", "live", "calm"
}

// looks is the table of states, of runs, tasks, gates and publications.
func looks() map[string]look {
	return map[string]look{
		string(release.Success):    {"check", "succeeded", "good"},
		string(release.Failure):    {"cross", "failed", "bad"},
		string(release.Error):      {"bang", "error", "bad"},
		string(release.Cancelled):  {"slash", "cancelled", "warn"},
		retried:                    {"again", "passed on retry", "warn"},
		readmodel.StateReceived:    {"dot", "received", "live"},
		readmodel.StateIgnored:     {"minus", "ignored", "calm"},
		readmodel.StateRejected:    {"page", "rejected", "bad"},
		readmodel.StateRunning:     {"ring", "running", "live"},
		readmodel.StateUnpermitted: {"clock", "waits for permission", "warn"},
		readmodel.TaskPlanned:      {"hollow", "planned", "calm"},
		readmodel.TaskWaiting:      {"dots", "waiting", "calm"},
		readmodel.TaskQueued:       {"dots", "queued", "live"},
		readmodel.TaskDelayed:      {"clock", "waits to retry", "warn"},
		readmodel.TaskSkipped:      {"minus", "skipped", "warn"},
		"open":                     {"gate-open", "open", "good"},
		"closed":                   {"gate-shut", "shut", "bad"},
		"undecided":                {"gate-wait", "undecided", "live"},
		"published":                {"check", "published", "good"},
		"met":                      {"check", "met", "good"},
		"unmet":                    {"cross", "not met", "bad"},
		"pending":                  {"dots", "not yet", "live"},
	}
}

// retried is a success, and not at once: it counts as one, and is not shown as one like the others.
const retried = "retried"

func taskLook(t readmodel.Task) look {
	if t.Retried() {
		return lookOf(retried)
	}
	return lookOf(t.State)
}

func lookOf(state string) look {
	if l, ok := looks()[state]; ok {
		return l
	}
	return look{"hollow", state, "calm"}
}

// shapes are drawn in a square of 16.
func shapes() map[string]string {
	return map[string]string{
		"check":     `<path d="M2.5 8.5l3.5 3.5 7.5-8"/>`,
		"cross":     `<path d="M3.5 3.5l9 9m0-9l-9 9"/>`,
		"bang":      `<path d="M8 1.8L15 14H1z" stroke-width="1.6"/><path d="M8 6v4m0 1.6v.6" stroke-width="1.6"/>`,
		"slash":     `<circle cx="8" cy="8" r="6"/><path d="M4 12l8-8"/>`,
		"dot":       `<circle cx="8" cy="8" r="3" fill="currentColor"/>`,
		"minus":     `<path d="M3 8h10"/>`,
		"page":      `<path d="M3.5 1.5h6l3 3v10h-9z" stroke-width="1.6"/><path d="M6 7l4 4m0-4l-4 4" stroke-width="1.6"/>`,
		"ring":      `<circle cx="8" cy="8" r="5.8" class="track"/><path d="M8 2.2A5.8 5.8 0 0 1 13.8 8" class="turn"/>`,
		"hollow":    `<circle cx="8" cy="8" r="5" stroke-dasharray="2 2" stroke-width="1.5"/>`,
		"dots":      `<path d="M3 8h.1M8 8h.1M13 8h.1" stroke-width="3"/>`,
		"clock":     `<circle cx="8" cy="8" r="6" stroke-width="1.6"/><path d="M8 4.5V8l2.5 1.8" stroke-width="1.6"/>`,
		"gate-open": `<path d="M2 1v14M14 1v14" stroke-width="1.8"/><path d="M4.5 2.5h7v3.5h-7z" fill="currentColor" stroke="none"/><path d="M1 11.5c2-1.6 3.5 1.6 5 0s3.5-1.6 5 0 2.5 1 4 0" stroke-width="1.5"/>`,
		"gate-shut": `<path d="M2 1v14M14 1v14" stroke-width="1.8"/><path d="M4.5 4h7v11h-7z" fill="currentColor" stroke="none"/>`,
		"gate-wait": `<path d="M2 1v14M14 1v14" stroke-width="1.8"/><path d="M4.5 4h7v11h-7z" stroke-width="1.5" stroke-dasharray="2 1.5"/>`,
		"again":     `<path d="M13.2 6A5.6 5.6 0 1 0 13.6 9"/><path d="M13.8 2v4.2H9.6"/>`,
		"link":      `<path d="M6 4H3v9h9v-3M9 3h4v4M13 3L7.5 8.5" stroke-width="1.5"/>`,
		"down":      `<path d="M8 2v9M4 7.5L8 11.5l4-4M3 14h10" stroke-width="1.5"/>`,
	}
}

// icon draws a shape. The name comes from the tables above, never from outside.
func icon(shape string) template.HTML {
	return template.HTML(`<svg class="i" viewBox="0 0 16 16" aria-hidden="true">` + shapes()[shape] + `</svg>`) //nolint:gosec // constants
}
