package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/sluiceci/sluice/pkg/client/view"
)

// placesCommand lists what attempts lease; its members change one place.
func placesCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "places",
		Short: "List leased machines: state, holders, end of the lease, faults",
		Args:  arguments(cobra.NoArgs),
	}
	c.AddCommand(
		drainPlaceCommand("drain", "Stop leasing a machine after its current holders finish", false),
		drainPlaceCommand("resume", "Lease a drained place again", true),
		releasePlaceCommand(),
	)
	return clientCommand(c, func(ctx context.Context, s *session, _ []string) error {
		places, err := s.Places(ctx)
		if err != nil {
			return err
		}
		if s.json {
			return printJSON(s.out, map[string]any{"places": places})
		}
		return view.Places(s.out, s.style, places)
	})
}

func drainPlaceCommand(verb, short string, resume bool) *cobra.Command {
	var reason string
	c := &cobra.Command{Use: verb + " PROVIDER/PLACE", Short: short, Args: arguments(cobra.ExactArgs(1))}
	c.Flags().StringVar(&reason, "reason", "", "reason to record")
	return clientCommand(c, func(ctx context.Context, s *session, args []string) error {
		answer, err := s.DrainPlace(ctx, args[0], resume, reason)
		if err != nil {
			return err
		}
		done := "Place %s is leased to nobody any more; who holds it goes on to the end."
		if resume {
			done = "Place %s may be leased again."
		}
		return s.said(answer, done, args[0])
	})
}

func releasePlaceCommand() *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "release PROVIDER/PLACE",
		Short: "Return a kept, dirty or quarantined machine to service",
		Args:  arguments(cobra.ExactArgs(1)),
	}
	c.Flags().StringVar(&reason, "reason", "", "reason to record")
	return clientCommand(c, func(ctx context.Context, s *session, args []string) error {
		answer, err := s.ReleasePlace(ctx, args[0], reason)
		if err != nil {
			return err
		}
		return s.said(answer, "Place %s is released.", args[0])
	})
}
