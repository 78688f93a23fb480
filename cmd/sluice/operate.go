package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluiceci/sluice/pkg/client"
	"github.com/sluiceci/sluice/pkg/client/view"
	"github.com/sluiceci/sluice/pkg/fault"
)

// operateCommands are for those who keep a Sluice running.
func operateCommands() []*cobra.Command {
	return []*cobra.Command{eventsCommand(), deadLettersCommand(), topCommand()}
}

// family is a command that only holds others.
func family(use, short string, members ...*cobra.Command) *cobra.Command {
	var words []string
	for _, m := range members {
		words = append(words, m.Name())
	}
	c := &cobra.Command{
		Use: use, Short: short,
		Args: arguments(func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("cannot tell what to do with %s: expected one of %s", use, strings.Join(words, ", "))
			}
			return fmt.Errorf("cannot do %q with %s: expected one of %s", args[0], use, strings.Join(words, ", "))
		}),
		RunE: func(*cobra.Command, []string) error { return nil }, // Args has refused already
	}
	c.AddCommand(members...)
	return c
}

func deadLettersCommand() *cobra.Command {
	return family("deadletters", "Messages that could not be handled: list, show, replay",
		deadLettersListCommand(), deadLettersShowCommand(), deadLettersReplayCommand())
}

func deadLettersListCommand() *cobra.Command {
	var from uint64
	var limit int
	c := &cobra.Command{
		Use:   "list",
		Short: "List dead letters, the oldest first",
		Args:  arguments(cobra.NoArgs),
	}
	c.Flags().Uint64Var(&from, "from", 0, "first number to list")
	c.Flags().IntVar(&limit, "limit", 50, "letters at most")
	c.PreRunE = func(*cobra.Command, []string) error { return positive("--limit", limit) }
	return clientCommand(c, func(ctx context.Context, s *session, _ []string) error {
		page, err := s.DeadLetters(ctx, from, limit)
		if err != nil {
			return err
		}
		if s.json {
			return printJSON(s.out, page)
		}
		if page.Next != 0 {
			defer fmt.Fprintf(s.talk, "There are more: sluice deadletters list --from %d\n", page.Next)
		}
		return view.DeadLetters(s.out, s.style, page.Letters)
	})
}

func deadLettersShowCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "show SEQ",
		Short: "Show a dead letter: who could not handle what, and why",
		Args:  arguments(letterNumber),
	}
	return clientCommand(c, func(ctx context.Context, s *session, args []string) error {
		seq := sequence(args[0])
		page, err := s.DeadLetters(ctx, seq, 1)
		if err != nil {
			return err
		}
		if len(page.Letters) == 0 || page.Letters[0].Seq != seq {
			return fault.New(fault.Invalid, "cannot show dead letter %d: there is none; list them with \"sluice deadletters list\"", seq)
		}
		if s.json {
			return printJSON(s.out, page.Letters[0])
		}
		return view.DeadLetter(s.out, s.style, page.Letters[0])
	})
}

func deadLettersReplayCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "replay SEQ",
		Short: "Give a dead letter to its consumer again; it is gone once the consumer has taken it",
		Args:  arguments(letterNumber),
	}
	return clientCommand(c, func(ctx context.Context, s *session, args []string) error {
		seq := sequence(args[0])
		if err := s.Replay(ctx, seq); err != nil {
			return err
		}
		return s.said(map[string]any{"replayed": seq}, "Dead letter %d was handled.", seq)
	})
}

// letterNumber checks that there is one argument, and that it is the number of a dead letter.
func letterNumber(c *cobra.Command, args []string) error {
	if err := cobra.ExactArgs(1)(c, args); err != nil {
		return err
	}
	if sequence(args[0]) == 0 {
		return fmt.Errorf("SEQ is %q, expected the number of a dead letter", args[0])
	}
	return nil
}

// sequence reads a number; 0 is none.
func sequence(text string) uint64 {
	seq, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
	return seq
}

func topCommand() *cobra.Command {
	var every time.Duration
	c := &cobra.Command{
		Use:   "top",
		Short: "Show pools, queues, streams and who is behind; live on a terminal, q ends it",
		Args:  arguments(cobra.NoArgs),
	}
	c.Flags().DurationVar(&every, "every", time.Second, "time between two looks")
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
