package view

import (
	"fmt"
	"io"
	"strconv"

	"github.com/sluiceci/sluice/pkg/client"
)

// Places prints places: who holds each under which token, since when and until when, and what is wrong with it.
func Places(w io.Writer, s Style, places []client.PlaceStatus) error {
	if len(places) == 0 {
		_, err := fmt.Fprintln(w, "There are no places: the installation's file names no providers.")
		return err
	}
	t := table{columns: []column{
		{head: "PLACE", least: 12},
		{head: "STATE"},
		{head: "HOLDER", least: 12},
		{head: "TOKEN", right: true},
		{head: "SINCE", right: true},
		{head: "LEFT", right: true},
		{head: "WAITING", right: true},
		{head: "", least: 12},
	}}
	for _, p := range places {
		t.place(s, p)
	}
	return t.write(w, s)
}

// place adds a place with its first holder, and a row for each further one.
func (t *table) place(s Style, p client.PlaceStatus) {
	m, waiting := placeMark(p.State), ""
	if p.Waiting > 0 {
		waiting = strconv.Itoa(p.Waiting)
	}
	first := client.PlaceHolder{Since: p.Since, Until: p.Until}
	if len(p.Holders) > 0 {
		first = p.Holders[0]
	}
	t.row(cell{safe(p.Provider + "/" + p.Place), plain}, cell{m.text(), m.tone}, cell{holderOf(first), plain}, tokenOf(first),
		cell{s.age(first.Since), faint}, cell{s.left(first), faint}, cell{waiting, warn}, cell{safe(reasonOf(p)), faint})
	for i := 1; i < len(p.Holders); i++ {
		h := p.Holders[i]
		t.row(cell{}, cell{}, cell{holderOf(h), plain}, tokenOf(h), cell{s.age(h.Since), faint}, cell{s.left(h), faint}, cell{}, cell{})
	}
}

func holderOf(h client.PlaceHolder) string {
	if h.Run == "" {
		return ""
	}
	return safe(fmt.Sprintf("%s/%s #%d", h.Run, h.Task, h.Attempt))
}

func tokenOf(h client.PlaceHolder) cell {
	if h.Token == 0 {
		return cell{}
	}
	return cell{strconv.FormatInt(h.Token, 10), faint}
}

// left is how long a lease, a keeping or a quarantine still lasts.
func (s Style) left(h client.PlaceHolder) string {
	if h.Until.IsZero() || !h.Until.After(s.Now) {
		return ""
	}
	return s.between(s.Now, h.Until)
}

func placeMark(state string) mark {
	switch state {
	case "free":
		return mark{"✓", state, good}
	case "held", "cleaning", "checking":
		return mark{"●", state, busy}
	case "quarantined":
		return mark{"✗", state, bad}
	case "drained", "removed":
		return mark{"⊘", state, warn}
	default:
		return mark{"!", state, warn}
	}
}

// reasonOf is what the other columns do not tell.
func reasonOf(p client.PlaceStatus) string {
	if p.State == "held" && len(p.Holders) == 1 {
		return ""
	}
	return p.Reason
}
