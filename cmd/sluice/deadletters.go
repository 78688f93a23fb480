package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/sluiceci/sluice/pkg/client/view"
	"github.com/sluiceci/sluice/pkg/fault"
)

func deadLettersCommand() *cobra.Command {
	return family("deadletters", "Messages that could not be handled: list, show, replay",
		deadLettersListCommand(), deadLettersShowCommand(), deadLettersReplayCommand())
}

func deadLettersListCommand() *cobra.Command {
	var from uint64
	var limit int
	c := &cobra.Command{
		Use:   "list",
		Short: "List dead letters, oldest first",
		Args:  arguments(cobra.NoArgs),
	}
	c.Flags().Uint64Var(&from, "from", 0, "first sequence number to list")
	c.Flags().IntVar(&limit, "limit", 50, "maximum number of dead letters")
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
		Short: "Show a dead letter: the message, its consumer and the error",
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
		Short: "Redeliver a dead letter; it is removed once its consumer has handled it",
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
