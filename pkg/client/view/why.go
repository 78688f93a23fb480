package view

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/sluiceci/sluice/pkg/client"
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
	if why.Note != "" {
		p.wrapped("  ", s.paint(warn, "! ")+safe(why.Note))
	}
	if len(why.Conditions) > 0 {
		p.title("The gate demands")
		p.table(conditions(why.Conditions))
	}
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

// expected says when a task that waits is expected to start.
func expected(s Style, why client.Why) []string {
	switch left := why.Expected.Sub(s.Now); {
	case !why.Expected.IsZero() && left > 0:
		return []string{"expected to start in " + took(left)}
	case why.Task != "" && (why.State == "ready" || why.State == "dispatched"):
		return []string{"expected to start: unknown"}
	default:
		return nil
	}
}

func (p *page) holders(why client.Why) {
	if len(why.Holders) == 0 {
		return
	}
	p.title("Who has what it waits for")
	t := table{indent: 2, columns: []column{{least: 24}, {}, {}, {least: 8}}}
	for _, h := range why.Holders {
		name := safe(h.Run) + "/" + safe(h.Task)
		t.row(cell{name, plain}, cell{safe(h.State), busy}, cell{p.style.age(h.Since), faint}, cell{safe(h.Executor), faint})
	}
	p.table(t)
}
