package view

import (
	"fmt"
	"io"
	"strconv"

	"github.com/sluiceci/sluice/pkg/client"
)

// Tests prints how tests fare: those that are not well first.
func Tests(w io.Writer, s Style, tests []client.TestStatus) error {
	if len(tests) == 0 {
		_, err := fmt.Fprintln(w, "Every test of the release branch that was judged has passed.")
		return err
	}
	t := table{columns: []column{
		{head: "TEST", least: 12},
		{head: "STATE"},
		{head: "SINCE", right: true},
		{head: "ISSUE", right: true},
		{head: "OWNER", least: 6},
		{head: "UNTIL"},
		{head: "", least: 12},
	}}
	for _, well := range []bool{false, true} {
		for _, one := range tests {
			if well == (one.State == "passing") {
				t.test(s, one)
			}
		}
	}
	return t.write(w, s)
}

func (t *table) test(s Style, one client.TestStatus) {
	issue, until := "", ""
	if one.Issue != 0 {
		issue = "#" + strconv.Itoa(int(one.Issue))
	}
	if !one.Until.IsZero() {
		until = one.Until.UTC().Format("2006-01-02")
	}
	reason := one.Reason
	if one.Blamed != "" {
		reason = "blamed " + one.Blamed[:min(8, len(one.Blamed))] + "; " + reason
	}
	m := healthMark(one.State)
	t.row(cell{safe(one.Project + "/" + one.Test), plain}, cell{m.text(), m.tone}, cell{s.age(one.Since), faint}, cell{issue, plain},
		cell{safe(one.Owner), plain}, cell{until, faint}, cell{safe(reason), faint})
}

func healthMark(state string) mark {
	switch state {
	case "passing":
		return mark{"✓", state, good}
	case "failing", "flaky":
		return mark{"!", state, warn}
	case "jailed":
		return mark{"■", state, faint}
	default:
		return mark{"✗", string(safe(state)), bad}
	}
}

// Bisects prints bisections and whom they blame.
func Bisects(w io.Writer, s Style, all []client.BisectStatus) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "Nobody has asked who broke a test.")
		return err
	}
	t := table{columns: []column{
		{head: "BISECTION", least: 8},
		{head: "TEST", least: 12},
		{head: "STATE"},
		{head: "SINCE", right: true},
		{head: "RUNS", right: true},
		{head: "BLAMED"},
		{head: "", least: 12},
	}}
	for _, b := range all {
		m := map[string]mark{"running": {"●", b.State, busy}, "blamed": {"✓", b.State, good}}[b.State]
		if m == (mark{}) {
			m = mark{"!", string(safe(b.State)), warn}
		}
		t.row(cell{safe(b.Bisect[:min(8, len(b.Bisect))]), plain}, cell{safe(b.Project + "/" + b.Test), plain}, cell{m.text(), m.tone},
			cell{s.age(b.Since), faint}, cell{strconv.Itoa(b.Runs), plain}, cell{safe(b.Blamed.Short()), plain}, cell{safe(b.Reason), faint})
	}
	return t.write(w, s)
}
