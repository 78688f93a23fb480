package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/sluiceci/sluice/pkg/client"
	"github.com/sluiceci/sluice/pkg/client/view"
	"github.com/sluiceci/sluice/pkg/event"
)

// limitsCommand lists limits; its members change them.
func limitsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "limits",
		Short: "List or change the limits and weights of groups, pools and providers",
		Args:  arguments(cobra.NoArgs),
	}
	c = clientCommand(c, func(ctx context.Context, s *session, _ []string) error {
		limits, err := s.Limits(ctx)
		if err != nil {
			return err
		}
		if s.json {
			return printJSON(s.out, map[string]any{"limits": limits})
		}
		return view.Limits(s.out, s.style, limits)
	})
	c.AddCommand(limitsSetCommand(), limitsUnsetCommand())
	return c
}

const limitsLong = `OF is group (NAME is PROJECT/GROUP, or GROUP for that group of every project), pool or provider (with
--resource), weight-project or weight-owner: what share they have of a pool, beside others that have 1.
The new limit counts for everything that has not been dispatched; nothing that runs is stopped.`

func limitsSetCommand() *cobra.Command {
	var l client.SetLimit
	c := &cobra.Command{
		Use:   "set OF NAME AMOUNT",
		Short: "Set a limit, whatever definitions and installation say",
		Long:  "Set a limit, whatever definitions and installation say.\n\n" + limitsLong,
		Args:  arguments(cobra.ExactArgs(3)),
	}
	c.Flags().StringVar(&l.Resource, "resource", "", "of a pool or provider: cpu, gpu, memory (bytes), nodes or tasks (default tasks)")
	c.Flags().StringVar(&l.Reason, "reason", "", "reason to record")
	c.PreRunE = func(_ *cobra.Command, args []string) error {
		amount, err := strconv.ParseFloat(args[2], 64)
		if err != nil {
			return usage("the amount is %q, expected a number", args[2])
		}
		l.Amount = &amount
		return nil
	}
	return clientCommand(c, func(ctx context.Context, s *session, args []string) error {
		return s.limit(ctx, l, args, "The limit of %s %s is set: what waits meets it at once.")
	})
}

func limitsUnsetCommand() *cobra.Command {
	l := client.SetLimit{Unset: true}
	c := &cobra.Command{
		Use:   "unset OF NAME",
		Short: "Take a limit back: what definition and installation say counts again",
		Long:  "Take a limit back: what definition and installation say counts again.\n\n" + limitsLong,
		Args:  arguments(cobra.ExactArgs(2)),
	}
	c.Flags().StringVar(&l.Resource, "resource", "", "of a pool or provider: cpu, gpu, memory, nodes or tasks (default tasks)")
	c.Flags().StringVar(&l.Reason, "reason", "", "reason to record")
	return clientCommand(c, func(ctx context.Context, s *session, args []string) error {
		return s.limit(ctx, l, args, "The limit of %s %s is what definition and installation say.")
	})
}

func (s *session) limit(ctx context.Context, l client.SetLimit, args []string, done string) error {
	l.Of, l.Name = event.LimitOf(args[0]), args[1]
	if l.Resource == "" && (l.Of == event.LimitPool || l.Of == event.LimitProvider) {
		l.Resource = "tasks"
	}
	answer, err := s.SetLimit(ctx, l)
	if err != nil {
		return err
	}
	return s.said(answer, done, l.Of, l.Name)
}
