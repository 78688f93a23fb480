package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluiceci/sluice/pkg/planner"
	"github.com/sluiceci/sluice/services/builder"
)

// plannerCommandName is what the builder starts to make plans in: a process that can be killed.
const plannerCommandName = "planner"

func plannerCommand() *cobra.Command {
	return &cobra.Command{
		Use:    plannerCommandName,
		Short:  "Plan the jobs that the builder writes to standard input",
		Hidden: true,
		Args:   arguments(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			signal.Ignore(os.Interrupt, syscall.SIGTERM) // the builder ends it, after the plan
			return planner.Serve(c.Context(), os.Stdin, os.Stdout, here())
		},
	}
}

// newPlanners makes plans in processes of this program.
func newPlanners(config builder.Config) (*planner.Workers, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return planner.New(planner.Options{
		Command: []string{self, plannerCommandName}, Args0: "sluice", Timeout: config.PlanTimeout, Keep: 1,
	}), nil
}

// planPatience is how long a command that only plans takes at most, with all that it fetches.
const planPatience = 10 * time.Minute

// inTime ends a command whose definition does not end: nothing but the end of the process ends a template that loops.
func inTime(command func() error) error {
	done := make(chan error, 1)
	go func() { done <- command() }()
	select {
	case err := <-done:
		return err
	case <-time.After(planPatience):
		return exitWith(2, fmt.Errorf("cannot plan: the definition takes more than %s; a template, a condition or a glob in it does not end", planPatience))
	}
}

// here plans in this process.
func here() planner.Here { return planner.Here{Dialects: dialects(), Targets: targetOptions()} }
