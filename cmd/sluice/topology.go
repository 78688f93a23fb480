package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/service"
)

func topologyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "topology",
		Short: "Print who hears and says what",
		Args:  arguments(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			links, err := topology()
			if err != nil {
				return exitWith(2, err)
			}
			if asJSON(c) {
				return printJSON(c.OutOrStdout(), links)
			}
			return printTopology(c.OutOrStdout(), links)
		},
	}
}

// topology reads the tables of services that are made but never run: they need no bus, and a folder that is removed.
func topology() ([]service.Link, error) {
	dir, err := os.MkdirTemp("", "sluice-topology-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	in := &installation{Dir: dir}
	if err := in.defaults(); err != nil {
		return nil, err
	}
	deps := service.Deps{
		Log: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry(), Now: time.Now, Instance: "sketch",
		Secret: secrets{}.get,
	}
	var all []service.Service
	for _, c := range constructors() {
		made, err := c.make(in, deps, nil)
		if err != nil {
			return nil, fmt.Errorf("cannot make %s: %w", c.name, err)
		}
		all = append(all, made...)
	}
	return service.Topology(all...), nil
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
