package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluiceci/sluice/pkg/client"
	"github.com/sluiceci/sluice/pkg/client/view"
)

func topCommand() *cobra.Command {
	var every time.Duration
	c := &cobra.Command{
		Use:   "top",
		Short: "Show pools, queues, streams and lagging consumers; live on a terminal (q quits)",
		Args:  arguments(cobra.NoArgs),
	}
	c.Flags().DurationVar(&every, "every", time.Second, "refresh interval")
	c.PreRunE = func(*cobra.Command, []string) error {
		if every < 100*time.Millisecond {
			return usage("--every is %s, expected at least 100ms", every)
		}
		return nil
	}
	return clientCommand(c, func(ctx context.Context, s *session, _ []string) error {
		if s.live != nil && !s.json {
			return s.top(ctx, every)
		}
		now, err := s.snapshot(ctx)
		if err != nil {
			return err
		}
		if s.json {
			return printJSON(s.out, now)
		}
		return now.Show(s.out, s.style)
	})
}

// snapshot asks for all that top shows. What cannot be had is named; when nothing can, that is the error.
func (s *session) snapshot(ctx context.Context) (view.Top, error) {
	var now view.Top
	var problems []error
	note := func(what string, err error) {
		if err != nil {
			problems = append(problems, err)
			now.Missing = append(now.Missing, what+": "+err.Error())
		}
	}
	var err error
	now.Pools, err = s.Pools(ctx)
	note("pools", err)
	now.Streams, err = s.Streams(ctx)
	note("streams", err)
	page, err := s.Runs(ctx, client.RunsQuery{State: client.StateRunning, Limit: 200})
	now.Runs = page.Runs
	note("runs", err)
	if len(problems) == 3 {
		return now, problems[0]
	}
	return now, nil
}

// top draws a snapshot again and again until somebody ends it.
func (s *session) top(ctx context.Context, every time.Duration) error {
	drawn, ctx := openScreen(ctx, s.out, s.live, s.style, true)
	defer drawn.close()
	again := time.NewTicker(every)
	defer again.Stop()
	for {
		now, err := s.snapshot(ctx)
		if err != nil {
			now.Missing = []string{err.Error()}
		}
		drawn.draw(func(style view.Style) string { return topText(style, now) })
		select {
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), errQuit) {
				return nil
			}
			return context.Cause(ctx)
		case <-again.C:
		}
	}
}

func topText(style view.Style, now view.Top) string {
	var b strings.Builder
	_ = now.Show(&b, style) // a strings.Builder takes everything
	return b.String()
}
