package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// operateCommands are for those who keep a Sluice running.
func operateCommands() []*cobra.Command {
	return []*cobra.Command{eventsCommand(), deadLettersCommand(), topCommand(), placesCommand(), testsCommand(), bisectCommand(), tokensCommand(), auditCommand(), setupCommand(), natsCommand()}
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
