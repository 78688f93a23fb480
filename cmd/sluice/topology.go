package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/service"
)

func topologyCommand() *cobra.Command {
	var rights bool
	var in inventory
	c := &cobra.Command{
		Use:   "topology",
		Short: "Print which service hears and publishes which event",
		Args:  arguments(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			services, err := in.services()
			if err != nil {
				return exitWith(2, err)
			}
			if rights {
				return printRights(c.OutOrStdout(), asJSON(c), bus.RightsOf(service.Duties(services...)))
			}
			links := service.Topology(services...)
			if asJSON(c) {
				return printJSON(c.OutOrStdout(), links)
			}
			return printTopology(c.OutOrStdout(), links)
		},
	}
	c.Flags().BoolVar(&rights, "permissions", false, "print the permissions of each NATS identity instead")
	in.flags(c)
	return c
}

func printTopology(w io.Writer, links []service.Link) error {
	table := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "SERVICE\tPART\tHEARS\tSAYS")
	for _, l := range links {
		hears := l.Hears
		if len(hears) == 0 {
			hears = []event.Type{"(the world)"}
		}
		for i := range max(len(hears), len(l.Says)) {
			name, part := l.Service, l.Part
			if i > 0 {
				name, part = "", ""
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", name, part, at(hears, i), at(l.Says, i))
		}
	}
	return table.Flush()
}

func at(list []event.Type, i int) string {
	if i >= len(list) {
		return ""
	}
	return strings.TrimSpace(string(list[i]))
}
