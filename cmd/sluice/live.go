package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/client/view"
)

// screen is a part of a terminal that is drawn again and again: what it shows is made by whoever gives it a drawing.
//
// It is a hundred lines of ANSI rather than a library: bubbletea asks the terminal for its colours at the start of every
// program that it is linked into, and waits five seconds where nothing answers (a pipe to a log, a bare pty).
type screen struct {
	out   io.Writer
	whole bool              // the whole terminal, given back at the end; else some lines below what is there
	size  func() (w, h int) // of the terminal
	style view.Style
	draws chan drawing
	stop  context.CancelCauseFunc
	done  chan struct{}
}

// drawing makes the text of a screen.
type drawing func(view.Style) string

var (
	errQuit   = errors.New("somebody typed q")
	errClosed = errors.New("the screen was closed")
)

// openScreen begins to draw. The context that it returns ends with errQuit when somebody types q or Ctrl-C.
func openScreen(ctx context.Context, out io.Writer, t terminal, style view.Style, whole bool) (*screen, context.Context) {
	ctx, stop := context.WithCancelCause(ctx)
	s := &screen{
		out: out, whole: whole, size: t.size, style: style, draws: make(chan drawing, 1), stop: stop, done: make(chan struct{}),
	}
	go s.run(ctx, t)
	return s, ctx
}

// draw shows a drawing, unless a newer one comes first.
func (s *screen) draw(d drawing) {
	for {
		select {
		case s.draws <- d:
			return
		case <-s.draws: // an older one that was not shown yet
		}
	}
}

// close ends the drawing and leaves the terminal as it was, without the drawing.
func (s *screen) close() {
	s.stop(errClosed)
	<-s.done
}

// run owns the terminal.
func (s *screen) run(ctx context.Context, t terminal) {
	defer close(s.done)
	release := t.keys(func(key byte) {
		if key == 'q' || key == 3 || key == 4 { // Ctrl-C, Ctrl-D
			s.stop(errQuit)
		}
	})
	defer release()
	second := time.NewTicker(time.Second) // ages and durations go on
	defer second.Stop()
	var show drawing
	lines := s.begin()
	for {
		select {
		case <-ctx.Done():
			s.end(lines)
			return
		case show = <-s.draws:
		case <-second.C:
		}
		if show != nil {
			lines = s.paint(show, lines)
		}
	}
}

const (
	hideCursor, showCursor   = "\x1b[?25l", "\x1b[?25h"
	cutLines, wrapLines      = "\x1b[?7l", "\x1b[?7h"
	otherScreen, firstScreen = "\x1b[?1049h\x1b[H", "\x1b[?1049l"
	eraseLine, eraseBelow    = "\x1b[K", "\x1b[J"
)

func (s *screen) begin() int {
	if s.whole {
		s.write(otherScreen)
	}
	s.write(hideCursor + cutLines)
	return 0
}

func (s *screen) end(lines int) {
	if s.whole {
		s.write(firstScreen)
	} else {
		s.write(upwards(lines) + eraseBelow)
	}
	s.write(wrapLines + showCursor)
}

// paint draws over what was drawn before, and tells how many lines there are now.
func (s *screen) paint(show drawing, before int) int {
	style := s.style
	columns, rows := s.size()
	style.Width, style.Now = columns, time.Now()
	lines := strings.Split(strings.TrimRight(show(style), "\n"), "\n")
	if most := max(rows-1, 2); len(lines) > most {
		lines = append(lines[:most-1], "…")
	}
	var b strings.Builder
	b.WriteString(upwards(before))
	for _, line := range lines {
		b.WriteString(line + eraseLine + "\r\n")
	}
	b.WriteString(eraseBelow)
	s.write(b.String())
	return len(lines)
}

func upwards(lines int) string {
	if lines == 0 {
		return "\r"
	}
	return fmt.Sprintf("\r\x1b[%dA", lines)
}

// write ends the drawing when the terminal is gone.
func (s *screen) write(text string) {
	if _, err := io.WriteString(s.out, text); err != nil {
		s.stop(fmt.Errorf("cannot draw on this terminal: %w", err))
	}
}
