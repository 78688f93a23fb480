package view

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/client"
)

// Artifacts prints a list of artifacts.
func Artifacts(w io.Writer, s Style, list []client.Artifact) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "The run has no artifacts yet.")
		return err
	}
	t := table{columns: []column{
		{head: "TASK", least: 12},
		{head: "NAME", least: 24},
		{head: "TYPE", least: 6},
		{head: "SIZE", right: true},
		{head: "DIGEST", least: 19},
	}}
	for _, a := range list {
		name := safe(a.Name)
		if a.Directory {
			name += "/"
		}
		t.row(cell{safe(a.Task), faint}, cell{name, plain}, cell{safe(a.Type), plain}, cell{size(a.Size), plain},
			cell{cut(safe(a.Digest), digestColumns(s)), faint})
	}
	return t.write(w, s)
}

// digestColumns is how much of a digest is shown: enough to tell two apart on a terminal, all of it elsewhere.
func digestColumns(s Style) int {
	if s.Width == 0 {
		return 0
	}
	return len("sha256:") + 13
}

// toneOf is the tone that the reporter gives a fact.
func toneOf(word string) tone {
	switch word {
	case "good":
		return good
	case "bad":
		return bad
	case "warn":
		return warn
	default:
		return plain
	}
}

// Moments prints facts, one line each: when, what, the fact in a sentence.
func Moments(w io.Writer, s Style, list []client.Moment) error {
	var b strings.Builder
	for _, m := range list {
		b.WriteString(Moment(s, m, ""))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Moment is one fact on one line; the run stands in it when there may be several.
func Moment(s Style, m client.Moment, run string) string {
	at := m.At.In(s.Now.Location())
	clock := at.Format("15:04:05.000")
	if day := at.Format(time.DateOnly); !m.At.IsZero() && day != s.Now.Format(time.DateOnly) {
		clock = day + " " + clock[:8]
	}
	if run != "" {
		run = pad(client.Line(run), 17) + "  "
	}
	kind := pad(safe(m.Type), 22)
	line := s.fit(safe(cmp.Or(m.Line, string(m.Type))), width(clock)+width(run)+width(kind)+4)
	return fmt.Sprintf("%s  %s%s  %s\n", s.paint(faint, clock), run, s.paint(faint, kind), s.paint(toneOf(m.Tone), line))
}

// Ending prints how a run ended, and why.
func Ending(w io.Writer, s Style, r client.Run) error {
	p, m := &page{style: s}, markOf(r.State)
	line := s.paint(m.tone, m.text()) + "  " + safe(r.ID)
	if d := duration(s, r); d != "" {
		line += "  " + s.paint(faint, "took "+d)
	}
	p.line("%s", line)
	if r.Reason != "" {
		p.wrapped("  ", safe(r.Reason))
	}
	_, err := io.WriteString(w, p.String())
	return err
}

// Prefix stands before each line of a log among others: the task, and the attempt after the first.
func Prefix(s Style, a client.Attempt, wide int) string {
	name := safe(a.Task)
	if a.Number > 1 {
		name += fmt.Sprintf(" #%d", a.Number)
	}
	if wide == 0 {
		return name
	}
	tones := []tone{busy, good, warn, "35", "34"}
	sum := 0
	for _, b := range []byte(a.Task) {
		sum += int(b)
	}
	return s.paint(tones[sum%len(tones)], pad(name, wide)) + s.paint(faint, " | ")
}
