package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluiceci/sluice/pkg/client"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// bars show on a terminal how far a run is: below the lines that stay, one bar for the run and one for each task that
// runs, against the time that it may take.
type bars struct {
	out     io.Writer
	size    func() (columns, rows int)
	now     func() time.Time
	stop    chan struct{}
	stopped chan struct{}

	mu     sync.Mutex
	tasks  map[release.TaskID]*barTask
	total  int
	lines  int  // that are drawn now
	paused bool // somebody else has the terminal
}

// barTask is what the bars know of a task.
type barTask struct {
	id      release.TaskID
	name    string
	limit   time.Duration
	started time.Time // zero when it does not run
	done    bool
	failed  bool
}

const (
	barWidth   = 20
	barsAtOnce = 8
	barsEvery  = 250 * time.Millisecond
)

// newBars makes bars where they can be drawn: on a terminal, unless the output is for a program.
func newBars(out io.Writer, asJSON bool) *bars {
	_, live := styleOf(out)
	if live == nil || asJSON {
		return nil
	}
	return drawBars(out, live.size, time.Now)
}

func drawBars(out io.Writer, size func() (int, int), now func() time.Time) *bars {
	b := &bars{
		out: out, size: size, now: now, stop: make(chan struct{}), stopped: make(chan struct{}), tasks: map[release.TaskID]*barTask{},
	}
	go b.tick()
	return b
}

// tick draws again, since time goes on.
func (b *bars) tick() {
	defer close(b.stopped)
	again := time.NewTicker(barsEvery)
	defer again.Stop()
	for {
		select {
		case <-b.stop:
			return
		case <-again.C:
			b.mu.Lock()
			b.paint(nil)
			b.mu.Unlock()
		}
	}
}

// close takes the bars away.
func (b *bars) close() {
	close(b.stop)
	<-b.stopped
	b.pause()
}

// pause takes the bars away until resume: what is written meanwhile stands where they were.
func (b *bars) pause() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.erase()
	b.paused = true
}

func (b *bars) resume() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.paused = false
}

// Write puts whole lines above the bars.
func (b *bars) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(p), b.paint(p)
}

// see takes an event into account.
func (b *bars) see(e event.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch d := e.Data.(type) {
	case event.RunPlanned:
		b.total = int(d.Builds + d.Tests)
	case event.TaskRequested:
		t := b.task(d.Task)
		t.name, t.limit = d.Name, d.Timeouts.Command.Std()
	case event.TaskStarted:
		if d.Refused == "" {
			b.task(d.Task).started = b.now()
		}
	case event.TaskFinished:
		t := b.task(d.Task)
		t.started, t.done, t.failed = time.Time{}, d.Outcome == release.Success, d.Outcome != release.Success
	case event.TaskConcluded:
		t := b.task(d.Task)
		t.started, t.done = time.Time{}, true
	}
}

func (b *bars) task(id release.TaskID) *barTask {
	t := b.tasks[id]
	if t == nil {
		t = &barTask{id: id}
		b.tasks[id] = t
	}
	return t
}

func (b *bars) erase() {
	if b.lines > 0 {
		_, _ = io.WriteString(b.out, upwards(b.lines)+eraseBelow) // a terminal that is gone is told by the next line
		b.lines = 0
	}
}

// paint puts text above the bars and draws them anew, in one write.
func (b *bars) paint(text []byte) error {
	if b.paused {
		_, err := b.out.Write(text)
		return err
	}
	columns, rows := b.size()
	lines := b.draw(columns, max(1, min(barsAtOnce, rows/2)))
	var s strings.Builder
	if b.lines > 0 {
		s.WriteString(upwards(b.lines) + eraseBelow)
	}
	s.Write(text)
	s.WriteString(cutLines)
	for _, line := range lines {
		s.WriteString(line + eraseLine + "\r\n")
	}
	s.WriteString(wrapLines)
	b.lines = len(lines)
	_, err := io.WriteString(b.out, s.String())
	return err
}

// draw makes the lines: the run's, and the tasks' that have run longest.
func (b *bars) draw(columns, most int) []string {
	var running []*barTask
	done, failed := 0, 0
	for _, t := range b.tasks {
		switch {
		case t.done:
			done++
		case !t.started.IsZero():
			running = append(running, t)
		}
		if t.failed {
			failed++
		}
	}
	if b.total == 0 {
		return nil
	}
	slices.SortFunc(running, func(x, y *barTask) int { return cmp.Or(x.started.Compare(y.started), cmp.Compare(x.id, y.id)) })
	head := fmt.Sprintf("%s %d of %d", gauge(float64(done)/float64(b.total)), done, b.total)
	if failed > 0 {
		head += fmt.Sprintf(", %d failed", failed)
	}
	lines := []string{clip(head, columns)}
	for i, t := range running {
		if i == most {
			return append(lines, fmt.Sprintf("  and %d more run", len(running)-most))
		}
		lines = append(lines, clip(b.line(t), columns))
	}
	return lines
}

// line is a task that runs: how long, of how long at most.
func (b *bars) line(t *barTask) string {
	took := b.now().Sub(t.started)
	name := client.Line(cmp.Or(t.name, string(t.id)))
	if t.limit <= 0 {
		return fmt.Sprintf("  %s %4.0fs        %s", strings.Repeat(" ", barWidth+2), took.Seconds(), name)
	}
	return fmt.Sprintf("  %s %4.0fs of %4s %s", gauge(took.Seconds()/t.limit.Seconds()), took.Seconds(), brief(t.limit), name)
}

// gauge is a bar of a share from 0 to 1.
func gauge(share float64) string {
	full := int(min(max(share, 0), 1) * barWidth)
	return "[" + strings.Repeat("█", full) + strings.Repeat("░", barWidth-full) + "]"
}

// brief is a duration in its largest unit.
func brief(d time.Duration) string {
	switch {
	case d >= time.Hour:
		return fmt.Sprintf("%.0fh", d.Hours())
	case d >= time.Minute:
		return fmt.Sprintf("%.0fm", d.Minutes())
	default:
		return fmt.Sprintf("%.0fs", d.Seconds())
	}
}

func clip(text string, columns int) string {
	if r := []rune(text); len(r) > columns {
		return string(r[:max(0, columns-1)]) + "…"
	}
	return text
}
