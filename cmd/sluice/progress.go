package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/client"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// progress shows a run as it goes: a line for each task that ends, what failed with its last lines, the gate with its
// reasons. With json it prints each event on a line of its own.
type progress struct {
	out     io.Writer
	json    bool
	prefix  string // before each line, when several runs share a terminal
	now     func() time.Time
	seen    func(event.Event) // is told of each event before it is shown; nil for nobody
	started time.Time
	names   map[release.TaskID]string
	total   int32
	done    int32
}

// run follows the facts of a run until it is finished.
func (p *progress) run(ctx context.Context, b *bus.Bus, run release.RunID) (event.RunFinished, error) {
	p.started, p.names = p.now(), map[release.TaskID]string{}
	facts, err := b.Follow(ctx, bus.Following{Name: "progress", Run: string(run)})
	if err != nil {
		return event.RunFinished{}, err
	}
	defer facts.Close()
	for {
		batch, err := facts.Next(ctx, time.Minute)
		if err != nil {
			return event.RunFinished{}, err
		}
		for _, e := range batch.Events {
			if p.seen != nil {
				p.seen(e)
			}
			p.show(e)
			if done, ok := e.Data.(event.RunFinished); ok {
				return done, nil
			}
		}
	}
}

func (p *progress) show(e event.Event) {
	if p.json {
		if text, err := json.Marshal(map[string]any{"type": e.Type, "run": e.Run, "time": e.Time, "data": e.Data}); err == nil {
			fmt.Fprintf(p.out, "%s\n", text)
		}
		return
	}
	for line := range strings.Lines(p.describe(e)) {
		// Names, reasons and logs come from outside: nothing in them reaches the terminal but text.
		fmt.Fprintf(p.out, "%s%6.1fs  %s\n", p.prefix, p.now().Sub(p.started).Seconds(), client.Line(strings.TrimRight(line, "\n")))
	}
}

// describe is what an event means to somebody who waits; "" says nothing.
func (p *progress) describe(e event.Event) string {
	switch d := e.Data.(type) {
	case event.RunPlanned:
		p.total = d.Builds + d.Tests
		return fmt.Sprintf("planned %d builds and %d tests of commit %s, %d left out", d.Builds, d.Tests, d.Change.Commit.Short(), d.Skipped)
	case event.RunRejected:
		return rejection(d)
	case event.ChangeIgnored:
		return "ignored: " + d.Reason
	case event.TaskRequested:
		p.names[d.Task] = d.Name
	case event.TaskFinished:
		return p.finished(d)
	case event.TaskDelayed:
		return fmt.Sprintf("↻ %s again (attempt %d): %s", p.name(d.Task), d.Attempt, d.Reason)
	case event.TaskConcluded:
		p.done++
		return fmt.Sprintf("✗ %s: %s: %s", p.name(d.Task), d.Outcome, d.Reason)
	case event.CandidateAssembled:
		return fmt.Sprintf("candidate %s: %d artifacts, every stamp is commit %s", d.Candidate.Hex()[:12], d.Artifacts, d.Commit.Short())
	case event.CandidateRejected:
		return "✗ no candidate:\n  " + strings.Join(d.Reasons, "\n  ")
	case event.GateOpened:
		return "gate open\n" + conditions(d.Conditions)
	case event.GateClosed:
		return "gate shut\n" + conditions(d.Conditions)
	case event.PublicationAdvanced:
		return fmt.Sprintf("target %s: %s", d.Target, d.State)
	case event.PublicationFailed:
		return fmt.Sprintf("✗ target %s is not %s: %s", d.Target, d.State, d.Reason)
	case event.ReleasePublished:
		return fmt.Sprintf("released on %d targets, each downloaded and compared", len(d.Targets))
	case event.RunFinished:
		return strings.TrimSuffix(fmt.Sprintf("%s: %s", d.Outcome, d.Reason), ": ")
	}
	return ""
}

func (p *progress) finished(d event.TaskFinished) string {
	var took time.Duration
	for _, phase := range d.Phases {
		took += phase.Took.Std()
	}
	if d.Outcome == release.Success {
		p.done++
		retried := ""
		if d.Attempt > 1 {
			retried = fmt.Sprintf(" passed on attempt %d", d.Attempt)
		}
		return fmt.Sprintf("✓ %s%s (%.1fs, %d of %d)", p.name(d.Task), retried, took.Seconds(), p.done, p.total)
	}
	text := fmt.Sprintf("✗ %s, attempt %d: %s: %s (%.1fs)", p.name(d.Task), d.Attempt, d.Class, d.Reason, took.Seconds())
	for i, f := range d.Failures {
		if i == shownFailures {
			text += fmt.Sprintf("\n    and %d more failed", len(d.Failures)-i)
			break
		}
		message, _, _ := strings.Cut(f.Message, "\n")
		text += fmt.Sprintf("\n    failed: %s: %s", f.Name, message)
	}
	if len(d.Failures) > 0 {
		return text // the report says more than the log's end
	}
	for _, line := range d.LastLines[max(0, len(d.LastLines)-shownLines):] {
		text += "\n    | " + line
	}
	return text
}

// What is shown of an attempt that failed; `sluice logs` has the rest.
const (
	shownFailures = 3
	shownLines    = 12
)

func (p *progress) name(t release.TaskID) string {
	if n := p.names[t]; n != "" {
		return n
	}
	return string(t)
}

func rejection(d event.RunRejected) string {
	text := "✗ the definition gives no plan"
	for _, problem := range d.Problems {
		text += fmt.Sprintf("\n  %s:%d:%d: %s", problem.File, problem.Line, problem.Column, problem.Message)
		if problem.Hint != "" {
			text += "; " + problem.Hint
		}
	}
	return text
}

func conditions(list []release.Condition) string {
	var b strings.Builder
	for _, c := range list {
		mark := "✗"
		if c.Met {
			mark = "✓"
		}
		fmt.Fprintf(&b, "  %s %s: %s\n", mark, c.Name, c.Reason)
	}
	return b.String()
}
