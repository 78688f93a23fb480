package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/sluiceci/sluice/pkg/client"
	"github.com/sluiceci/sluice/pkg/event"
)

// Limits prints limits and weights with what is used of them.
func Limits(w io.Writer, s Style, limits []client.Limit) error {
	if len(limits) == 0 {
		_, err := fmt.Fprintln(w, "There are no limits: nobody set one, and no concurrency group is in use.")
		return err
	}
	p := &page{style: s}
	t := table{columns: []column{
		{head: "OF", least: 8},
		{head: "NAME", least: 12},
		{head: "LIMIT", right: true},
		{head: "USED", right: true},
		{head: "WAITING", right: true},
		{head: "FROM"},
	}}
	for _, l := range limits {
		limit, used := "–", "–"
		if l.Limited {
			limit = strings.TrimSpace(fmt.Sprintf("%.6g %s", l.Amount, safe(l.Resource)))
		}
		if l.Of != event.WeightProject && l.Of != event.WeightOwner {
			used = fmt.Sprintf("%.6g", l.Used)
		}
		tone := plain
		if l.Waiting > 0 {
			tone = warn
		}
		t.row(cell{safe(l.Of), plain}, cell{safe(l.Name), plain}, cell{limit, plain}, cell{used, plain},
			cell{fmt.Sprint(l.Waiting), tone}, cell{from(s, l), faint})
	}
	p.table(t)
	_, err := io.WriteString(w, p.String())
	return err
}

// from says where a limit comes from.
func from(s Style, l client.Limit) string {
	out := safe(l.From)
	if l.By != "" {
		out += " by " + safe(l.By)
	}
	if !l.Since.IsZero() {
		out += ", " + s.age(l.Since) + " ago"
	}
	if l.Reason != "" {
		out += ": " + safe(l.Reason)
	}
	return out
}
