package pages

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/services/reporter/readmodel"
	"github.com/sluiceci/sluice/services/reporter/view"
)

// target is a target with how far it came: one cell per state.
type target struct {
	Name, Kind string
	URL        string // where its files are, once they are
	Cells      []cell
	Reason     string // why it is broken
	Waits      string // what it waits for, or what was found beforehand
}

type cell struct {
	State release.PublicationState
	Look  look
	Step  readmodel.Step
}

func targets(d *view.Detail) []target {
	var out []target
	index := map[string]int{}
	add := func(name, kind string) int {
		i, known := index[name]
		if !known {
			i = len(out)
			index[name] = i
			out = append(out, target{Name: name, Kind: kind})
			for _, state := range release.PublicationStates() {
				out[i].Cells = append(out[i].Cells, cell{State: state, Look: look{"hollow", "not yet", "calm"}})
			}
		}
		return i
	}
	for _, t := range d.Run.Targets {
		add(t.Name, t.Kind)
	}
	for _, step := range d.Steps {
		out[add(step.Target, step.Kind)].put(step)
	}
	for i := range out {
		out[i].fill(d.Run.Gate == "open")
	}
	for _, one := range d.Publishing {
		if i, known := index[one.Target]; known && out[i].Reason == "" && one.State != release.Verified {
			out[i].Waits = waits(one)
		}
	}
	slices.SortStableFunc(out, func(a, b target) int {
		return cmp.Compare(min(len(b.Reason), 1), min(len(a.Reason), 1)) // the broken first
	})
	return out
}

// waits is what a target waits for, since when, with the last error and the next attempt.
func waits(p view.Publishing) string {
	text := p.Reason
	if p.Error != "" {
		text += fmt.Sprintf(": %s; tried %d times, next at %s, given up at %s", p.Error, p.Tried,
			p.Next.UTC().Format(time.TimeOnly), p.Until.UTC().Format(time.DateTime))
	}
	if !p.Since.IsZero() {
		text += ", since " + p.Since.UTC().Format(time.DateTime)
	}
	return text
}

func (t *target) put(step readmodel.Step) {
	for i := range t.Cells {
		if t.Cells[i].State == step.State {
			t.Cells[i].Step, t.Cells[i].Look = step, stepLook(step)
		}
	}
	if step.Broken() {
		t.Reason = step.Reason
	}
	for _, f := range step.Files {
		if t.URL = cmp.Or(t.URL, web(f.URL)); t.URL != "" {
			break
		}
	}
}

// fill says of the states that a target passed without a word that it passed them: with the gate open it is planned, and
// one state follows from the next.
func (t *target) fill(open bool) {
	for i := len(t.Cells) - 1; i >= 0; i-- {
		c := &t.Cells[i]
		passed := i == 0 && open || i < len(t.Cells)-1 && t.Cells[i+1].Look.Tone != "calm"
		if c.Look.Tone == "calm" && passed {
			c.Look = look{"check", string(c.State), "good"}
		}
	}
}

func stepLook(s readmodel.Step) look {
	switch {
	case s.Broken():
		return look{"cross", "failed", "bad"}
	case !s.Reached.IsZero():
		return look{"check", string(s.State), "good"}
	case !s.Requested.IsZero():
		return look{"ring", "wanted", "live"}
	default:
		return look{"hollow", "not yet", "calm"}
	}
}
