package view

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/client"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// page is text that grows line by line.
type page struct {
	strings.Builder
	style Style
}

func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// title begins a part of a page.
func (p *page) title(text string) { p.line("\n%s", p.style.paint(bold, text)) }

// wrapped prints words on as many lines as they need, each behind indent. What is longer than a line is cut.
func (p *page) wrapped(indent, text string) {
	if p.style.Width == 0 {
		p.line("%s%s", indent, text)
		return
	}
	limit := max(p.style.Width-width(indent), 20)
	for _, line := range lines(text, limit) {
		p.line("%s%s", indent, line)
	}
}

func (p *page) table(t table) {
	_ = t.write(p, p.style) // a strings.Builder takes everything
}

// Status prints a run on one screen: how it stands and why, what failed, the gate, the targets.
func Status(w io.Writer, s Style, run client.Status) error {
	p := &page{style: s}
	p.head(run)
	p.problems(run)
	p.tasks(run)
	p.candidate(run)
	p.gate(run)
	p.targets(run)
	p.next(run)
	_, err := io.WriteString(w, p.String())
	return err
}

func (p *page) head(status client.Status) {
	run := status.Run
	s, m := p.style, markOf(run.State)
	p.line("%s  %s  %s", s.paint(m.tone, m.text()), s.paint(bold, safe(run.ID)), s.fit(change(run), width(m.text())+len(run.ID)+4))
	if title := safe(run.Title); title != "" {
		p.line("  %s", s.fit(title, 2))
	}
	var about []string
	if run.Commit != "" {
		about = append(about, safe(run.Commit.Short()))
	}
	if run.Author != "" {
		about = append(about, "by "+safe(run.Author))
	}
	if run.Trust != "" {
		about = append(about, "trust: "+safe(run.Trust))
	}
	if ago := s.age(run.Received); ago != "" {
		about = append(about, ago+" ago")
	}
	if d := duration(s, run); d != "" {
		about = append(about, cond(run.Ended(), "took ", "for ")+d)
	}
	if len(about) > 0 {
		p.line("  %s", s.paint(faint, s.fit(strings.Join(about, ", "), 2)))
	}
	if run.Trust == release.TrustUntrusted && run.TrustWhy != "" && run.State != client.StateUnpermitted {
		p.wrapped("  ", "untrusted: "+safe(run.TrustWhy))
	}
	p.reruns(run)
	if why := reason(status); why != "" {
		p.wrapped("  ", safe(why))
	}
}

// reruns says which run this one makes again, and which ones make it again.
func (p *page) reruns(run client.Run) {
	if run.RerunOf != "" {
		by := ""
		if run.RerunBy != "" {
			by = ", asked for by " + safe(run.RerunBy)
		}
		p.wrapped("  ", "rerun of "+safe(run.RerunOf)+by)
	}
	for _, id := range run.Reruns {
		p.wrapped("  ", "rerun as "+safe(id))
	}
}

// reason is one sentence on why a run is as it is. A definition's problems speak for themselves.
func reason(status client.Status) string {
	switch {
	case status.Run.State == client.StateRejected:
		return ""
	case status.Run.State == client.StateUnpermitted:
		return "waits for permission: " + status.Run.TrustWhy + "; let this commit run with /ok-to-test in a comment, or with: sluice permit " + string(status.Run.ID)
	case status.Run.State != client.StateRunning:
		return status.Run.Reason
	case status.Why != nil:
		return status.Why.Reason
	case status.Unanswered != "":
		return "! " + status.Unanswered
	default:
		return ""
	}
}

func cond[T any](yes bool, a, b T) T {
	if yes {
		return a
	}
	return b
}

func (p *page) problems(status client.Status) {
	if len(status.Run.Problems) > 0 {
		p.title("Problems of the definition")
	}
	for _, problem := range status.Run.Problems {
		p.wrapped("  ", p.style.paint(bold, Where(problem))+": "+safe(problem.Message))
		if problem.Hint != "" {
			p.wrapped("    ", safe(problem.Hint))
		}
	}
	if len(status.Run.Warnings) > 0 {
		p.title("Warnings")
	}
	for _, warning := range status.Run.Warnings {
		p.wrapped("  ", p.style.paint(warn, "!")+" "+safe(warning))
	}
}

// Where is the place of a problem: "sluice.yaml:12:5".
func Where(problem event.Problem) string {
	out := cmp.Or(safe(problem.File), "sluice.yaml")
	if problem.Line > 0 {
		out += fmt.Sprintf(":%d", problem.Line)
	}
	if problem.Line > 0 && problem.Column > 0 {
		out += fmt.Sprintf(":%d", problem.Column)
	}
	return out
}

// candidate says why the builds gave none; one that there is needs no words.
func (p *page) candidate(status client.Status) {
	if len(status.Candidates) == 0 {
		return
	}
	newest := status.Candidates[len(status.Candidates)-1]
	if newest.State != "rejected" {
		return
	}
	p.title("Candidate: " + p.style.paint(bad, "rejected"))
	for _, reason := range newest.Reasons {
		p.wrapped("  ", "✗ "+safe(reason))
	}
}

func (p *page) gate(status client.Status) {
	if len(status.Gates) == 0 && len(status.Conditions) == 0 {
		return
	}
	state, reason, shown := "not decided", "", plain
	if n := len(status.Gates); n > 0 && (status.Run.Ended() || status.Gates[n-1].Round == status.Run.Round) {
		state, reason, shown = safe(status.Gates[n-1].State), status.Gates[n-1].Reason, bad
		if state == "open" {
			shown = good
		}
	}
	p.title("Gate: " + p.style.paint(shown, state))
	if reason != "" && !tells(status.Conditions, reason) {
		p.wrapped("  ", safe(reason))
	}
	p.table(conditions(status.Conditions))
}

// tells reports whether a condition gives the reason already.
func tells(list []release.Condition, reason string) bool {
	return slices.ContainsFunc(list, func(c release.Condition) bool { return c.Reason != "" && strings.Contains(reason, c.Reason) })
}

// conditions lays out conditions, those that are not met first.
func conditions(list []release.Condition) table {
	t := table{indent: 2, columns: []column{{}, {least: 12}, {least: 20, wraps: true}}}
	for _, want := range []bool{false, true} {
		for _, c := range list {
			if c.Met != want {
				continue
			}
			m := met(c.Met)
			if !c.Met && !c.Final {
				m = mark{"○", "waiting", plain}
			}
			t.row(cell{m.text(), m.tone}, cell{safe(c.Name), plain}, cell{safe(c.Reason), faint})
		}
	}
	return t
}
