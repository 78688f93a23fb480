package main

import (
	"github.com/spf13/cobra"

	"github.com/sluiceci/sluice/pkg/definition"
)

func schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of sluice.yaml, for editors",
		Args:  arguments(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := c.OutOrStdout().Write(definition.Schema())
			return err
		},
	}
}
