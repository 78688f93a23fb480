package main

import "github.com/spf13/cobra"

// rayCommand has what Ray's own pipelines call.
func rayCommand() *cobra.Command {
	return family("ray", "What pipelines of Ray's kind call: the wrappers around a release test, tags of changed paths, the wheels under test",
		rayJobCommand(), rayRulesCommand(), rayWheelsCommand(), rayWrapCommand())
}
