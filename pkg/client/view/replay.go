package view

import (
	"fmt"
	"io"

	"github.com/sluiceci/sluice/pkg/event"
)

// ReplayStep is a fact and what the scheduler decides once it knows it.
type ReplayStep struct {
	Seq     uint64     `json:"seq"`
	Type    event.Type `json:"type"`
	Line    string     `json:"line"`
	Decided []Decision `json:"decided"`
}

// Decision is something that the scheduler would say.
type Decision struct {
	Subject string     `json:"subject"` // its place in the stream
	Type    event.Type `json:"type"`
	Line    string     `json:"line"`
	Fact    uint64     `json:"fact,omitempty"` // sequence of what was said there; 0 when nothing was
}

// Replay prints facts with what follows from each.
func Replay(w io.Writer, s Style, steps []ReplayStep, now string) error {
	p := &page{style: s}
	decided, missing := 0, 0
	for _, step := range steps {
		head := fmt.Sprintf("%6d  ", step.Seq)
		p.line("%s%s", s.paint(faint, head), s.fit(safe(step.Line), len(head)))
		for _, d := range step.Decided {
			decided++
			p.decision(d)
			if d.Fact == 0 {
				missing++
			}
		}
	}
	p.line("\n%s, %s, of which %d became no fact", count(len(steps), "fact"), count(decided, "decision"), missing)
	p.wrapped("", s.paint(bold, "Now:")+" "+safe(now))
	_, err := io.WriteString(w, p.String())
	return err
}

func (p *page) decision(d Decision) {
	shape, said, t := "→", "not said", warn
	if d.Fact != 0 {
		said, t = fmt.Sprintf("said as %d", d.Fact), faint
	}
	line := p.style.fit(safe(d.Line), 12+width(said)+2)
	p.line("        %s %s  %s", p.style.paint(busy, shape), line, p.style.paint(t, said))
}
