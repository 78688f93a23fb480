package main

import "github.com/spf13/cobra"

// rayCommand has what Ray's own pipelines call.
func rayCommand() *cobra.Command {
	return family("ray", "Tools for Ray's pipelines: test wrappers, tags of changed paths, wheels under test",
		rayJobCommand(), rayRulesCommand(), rayWheelsCommand(), rayWrapCommand())
}
