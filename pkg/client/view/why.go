package view

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/sluiceci/sluice/pkg/client"
	"github.com/sluiceci/sluice/pkg/release"
)

// Why prints what keeps a run or a task where it is.
func Why(w io.Writer, s Style, why client.Why) error {
	p := &page{style: s}
	subject := safe(why.Run)
	if why.Task != "" {
		subject += "/" + safe(why.Task)
	}
	word := safe(cmp.Or(string(why.Outcome), why.State))
	p.line("%s  %s", s.paint(bold, subject), s.paint(whyTone(why), word))
	p.wrapped("  ", safe(why.Reason))
	if details := whyDetails(s, why); details != "" {
		p.line("  %s", s.paint(faint, details))
	}
	for _, b := range why.Retries {
		p.line("  %s", s.paint(faint, fmt.Sprintf("%d of %d retries of %s are used", b.Used, b.Limit, safe(b.Of))))
	}
	if why.Note != "" {
		p.wrapped("  ", s.paint(warn, "! ")+safe(why.Note))
	}
	if len(why.Conditions) > 0 {
		p.title("The gate demands")
		p.table(conditions(why.Conditions))
	}
	p.publications(why.Publications)
	p.holders(why)
	_, err := io.WriteString(w, p.String())
	return err
}

func whyTone(why client.Why) tone {
	if why.Outcome != "" {
		return markOf(string(why.Outcome)).tone
	}
	return busy
}

func whyDetails(s Style, why client.Why) string {
	var parts []string
	if why.Attempt > 0 {
		parts = append(parts, fmt.Sprintf("attempt %d", why.Attempt))
	}
	if why.Round > 0 {
		parts = append(parts, fmt.Sprintf("round %d", why.Round))
	}
	if why.Class != "" {
		parts = append(parts, "class "+safe(why.Class))
	}
	if !why.Since.IsZero() {
		parts = append(parts, "since "+s.age(why.Since))
	}
	if left := why.Until.Sub(s.Now); !why.Until.IsZero() && left > 0 {
		parts = append(parts, "changes by itself in "+took(left))
	}
	return strings.Join(append(parts, expected(s, why)...), ", ")
}

// expected says when a task that waits is expected to start and what that rests on, or why nobody can tell.
func expected(s Style, why client.Why) []string {
	rests := ""
	if why.Expects != "" {
		rests = " (" + safe(why.Expects) + ")"
	}
	switch left := why.Expected.Sub(s.Now); {
	case !why.Expected.IsZero() && left > 0:
		return []string{"expected to start in " + took(left) + rests}
	case !why.Expected.IsZero():
		return []string{"expected to start any moment" + rests}
	case why.Task != "" && (why.State == "ready" || why.State == "dispatched"):
		return []string{"expected to start: unknown" + rests}
	default:
		return nil
	}
}

// publications says of each target how far it is, and what it waits for.
func (p *page) publications(list []client.Publishing) {
	if len(list) == 0 {
		return
	}
	p.title("Targets")
	t := table{indent: 2, columns: []column{{least: 8}, {}, {}, {least: 20, wraps: true}}}
	for _, one := range list {
		m := mark{"○", cmp.Or(safe(one.State), "waiting"), plain}
		switch {
		case one.Broken:
			m = mark{"✗", m.word, bad}
		case one.State == release.Verified:
			m = mark{"✓", m.word, good}
		case one.State != "":
			m = mark{"●", m.word, busy}
		}
		t.row(cell{safe(one.Target), plain}, cell{m.text(), m.tone}, cell{p.style.age(one.Since), faint}, cell{standing(p.style, one), faint})
	}
	p.table(t)
}

// standing is what a target waits for, with the last error and the next attempt.
func standing(s Style, one client.Publishing) string {
	text := safe(one.Reason)
	if one.Error != "" {
		text += fmt.Sprintf(": %s; tried %d times", safe(one.Error), one.Tried)
	}
	if left := one.Next.Sub(s.Now); !one.Next.IsZero() && left > 0 {
		text += ", again in " + took(left)
	}
	if left := one.Until.Sub(s.Now); !one.Until.IsZero() && left > 0 {
		text += ", given up in " + took(left)
	}
	return text
}

// holders lists who has what the task waits for; what runs waits for nobody, and its reason says who has it.
func (p *page) holders(why client.Why) {
	if len(why.Holders) == 0 || len(why.Holders) == 1 && why.Holders[0].Run == why.Run && why.Holders[0].Task == why.Task {
		return
	}
	p.title("Who has what it waits for")
	t := table{indent: 2, columns: []column{{least: 24}, {}, {}, {least: 8}, {}}}
	for _, h := range why.Holders {
		name := safe(h.Run) + "/" + safe(h.Task)
		t.row(cell{name, plain}, cell{safe(h.State), busy}, cell{p.style.age(h.Since), faint}, cell{safe(h.Executor), faint},
			cell{strings.Join(givesBack(p.style, h), ", "), faint})
	}
	p.table(t)
}

// givesBack says when a holder is expected to give back what it has, and when it must have.
func givesBack(s Style, h client.Holder) (out []string) {
	if left := h.Ends.Sub(s.Now); !h.Ends.IsZero() && left > 0 {
		out = append(out, "ends in "+took(left))
	}
	if left := h.Until.Sub(s.Now); !h.Until.IsZero() && left > 0 {
		out = append(out, "at most "+took(left))
	}
	return out
}
