package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/sluiceci/sluice/pkg/client/view"
)

// screen is a part of a terminal that is drawn again and again: what it shows is made by whoever sends it a drawing.
type screen struct {
	program *tea.Program
	done    chan struct{}
	err     error // read after done
}

// drawing makes the text of a screen.
type drawing func(view.Style) string

var errQuit = errors.New("the watching was ended")

// openScreen begins to draw. The context that it returns ends with errQuit when somebody types q or Ctrl-C.
func openScreen(ctx context.Context, out io.Writer, style view.Style, whole bool) (*screen, context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	options := []tea.ProgramOption{tea.WithOutput(out), tea.WithContext(ctx), tea.WithoutSignalHandler()}
	if whole {
		options = append(options, tea.WithAltScreen())
	}
	s := &screen{program: tea.NewProgram(canvas{style: style}, options...), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		_, s.err = s.program.Run()
		cancel(errQuit)
	}()
	return s, ctx
}

func (s *screen) draw(d drawing) { s.program.Send(d) }

// close ends the drawing and leaves the terminal as it was, without the drawing.
func (s *screen) close() {
	s.program.Send(drawing(nil))
	s.program.Quit()
	<-s.done
}

// canvas is the screen's state, as bubbletea wants it.
type canvas struct {
	style  view.Style
	height int
	show   drawing
}

// tick draws again so that ages and durations go on.
type tick time.Time

func ticking() tea.Cmd { return tea.Tick(time.Second, func(t time.Time) tea.Msg { return tick(t) }) }

// Init begins the ticking.
func (c canvas) Init() tea.Cmd { return ticking() }

// Update takes what happened: a key, a new size, a new drawing.
func (c canvas) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch m := msg.(type) {
	case tea.KeyMsg:
		switch m.String() {
		case "q", "esc", "ctrl+c":
			c.show = nil
			return c, tea.Quit
		}
	case tea.WindowSizeMsg:
		c.style.Width, c.height = m.Width, m.Height
	case drawing:
		c.show = m
	case tick:
		return c, ticking()
	}
	return c, nil
}

// View is the drawing, cut to the height of the terminal.
func (c canvas) View() string {
	if c.show == nil {
		return ""
	}
	c.style.Now = time.Now()
	lines := strings.Split(strings.TrimRight(c.show(c.style), "\n"), "\n")
	if c.height > 2 && len(lines) > c.height-1 {
		lines = append(lines[:c.height-2], "…")
	}
	return strings.Join(lines, "\n") + "\n"
}
