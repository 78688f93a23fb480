package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluiceci/sluice/pkg/client"
	"github.com/sluiceci/sluice/pkg/client/view"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

func watchCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "watch [RUN]",
		Short: "Follow a run until it ends; exit with its outcome",
		Long: "Follow a run (default: the latest) until it ends, and exit with its outcome:\n" +
			"0 success, 1 failure, 2 error, 3 cancelled.\n" +
			"A terminal shows the run's screen, live; q leaves it and the run goes on.\n" +
			"Elsewhere, each event is a line; with --json, each is a JSON object on a line.",
		Args: arguments(cobra.MaximumNArgs(1)),
	}
	return clientCommand(c, func(ctx context.Context, s *session, args []string) error {
		run, err := s.run(ctx, args)
		if err != nil && len(args) > 0 && release.RunID(args[0]).Whole() {
			// Whoever started it was told its name before the reporter has heard of it.
			return s.watch(ctx, client.Watching{Run: release.RunID(args[0]), New: true})
		}
		if err != nil {
			return err
		}
		return s.watch(ctx, client.Watching{Run: run})
	})
}

// watch follows a run to its end.
func (s *session) watch(ctx context.Context, what client.Watching) error {
	watching := s.watchLines
	if s.live != nil && !s.json {
		watching = s.watchScreen
	}
	ended, err := watching(ctx, what)
	if errors.Is(err, context.Canceled) || errors.Is(err, errQuit) {
		// Not the code of a cancelled run: how this one ends is not known yet.
		return exitWith(exitError, fault.New(fault.Transient, "stopped watching; run %s goes on", what.Run))
	}
	if err != nil {
		return err
	}
	return exitWith(ended.ExitCode(), nil)
}

// watchLines prints each event on a line, and at the end how the run ended.
func (s *session) watchLines(ctx context.Context, what client.Watching) (client.Run, error) {
	away := false
	what.Moments = true
	what.Seen = func(_ client.Status, news []client.Moment) error {
		away = false
		if s.json {
			return jsonLines(s.out, news)
		}
		return view.Moments(s.out, s.style, news)
	}
	what.Trouble = func(err error) {
		if !away {
			fmt.Fprintln(s.talk, "sluice:", err)
		}
		away = true
	}
	ended, err := s.Watch(ctx, what)
	if err != nil || s.json {
		return ended, err
	}
	return ended, view.Ending(s.out, s.style, ended)
}

// jsonLines prints each item as JSON on a line of its own.
func jsonLines[T any](w io.Writer, items []T) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for _, item := range items {
		if err := e.Encode(item); err != nil {
			return err
		}
	}
	return nil
}

// watchScreen draws the run's screen until it ends, then prints it once to stay.
func (s *session) watchScreen(ctx context.Context, what client.Watching) (client.Run, error) {
	var last client.Status
	drawn, watched := openScreen(ctx, s.out, s.live, s.style, false)
	what.Seen = func(status client.Status, _ []client.Moment) error {
		last = status
		drawn.draw(func(style view.Style) string { return statusText(style, status) })
		return nil
	}
	what.Trouble = func(err error) {
		shown := last
		drawn.draw(func(style view.Style) string { return statusText(style, shown) + "\n" + err.Error() + "\n" })
	}
	ended, err := s.Watch(watched, what)
	drawn.close()
	if last.Run.ID != "" {
		s.style, _ = styleOf(s.out)
		err = errors.Join(err, view.Status(s.out, s.style, last))
	}
	return ended, err
}

func statusText(style view.Style, status client.Status) string {
	var b strings.Builder
	_ = view.Status(&b, style, status) // a strings.Builder takes everything
	return b.String()
}
