package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluiceci/sluice/pkg/dialect/ray/outcome"
	"github.com/sluiceci/sluice/pkg/dialect/ray/phase"
	"github.com/sluiceci/sluice/pkg/fault"
)

// jobbing is what "ray job" does on a cluster: preparations, the workload, and word of both.
type jobbing struct {
	prepare   []string
	timeouts  []time.Duration
	timeout   time.Duration
	long      bool
	output    string
	grace     time.Duration
	out, talk io.Writer
	heard     <-chan os.Signal
}

func rayJobCommand() *cobra.Command {
	j := jobbing{grace: 10 * time.Second}
	c := &cobra.Command{
		Use:   "job [flags] -- COMMAND [ARG..]",
		Short: "Run a test on its cluster as Ray's job wrapper does: preparations, the workload, output.json",
		Long: "Run each --prepare in its order, which must all succeed, then COMMAND, each within its time; write how that went as\n" +
			"output.json, and print it between marks for those who have only the log. The exit code is COMMAND's; 124 when its\n" +
			"time was over, which with --long-running is 0; 1 when a preparation failed, and COMMAND was not run.\n" +
			"Nothing that a command started outlives it.",
		Args: arguments(cobra.MinimumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if err := outcome.CheckPrepare(len(j.prepare), len(j.timeouts)); err != nil {
				return exitWith(exitUsage, err)
			}
			heard := make(chan os.Signal, 8)
			signal.Notify(heard, passedOn()...)
			defer signal.Stop(heard)
			j.out, j.talk, j.heard = c.OutOrStdout(), inTurn(c.ErrOrStderr()), heard
			return j.run(args)
		},
	}
	flags := c.Flags()
	flags.SetInterspersed(false)
	flags.StringArrayVar(&j.prepare, "prepare", nil, "a `command` for bash that prepares the test (repeatable)")
	flags.DurationSliceVar(&j.timeouts, "prepare-timeout", nil, "what each preparation may take; 0 is any time")
	flags.DurationVar(&j.timeout, "timeout", time.Hour, "what COMMAND may take; 0 is any time")
	flags.BoolVar(&j.long, "long-running", false, "running out of time is what COMMAND is meant to do")
	flags.StringVar(&j.output, "output", "output.json", "write how it went to this `file`")
	return c
}

// run does the phases and exits as they ended.
func (j jobbing) run(command []string) error {
	began := time.Now()
	o := outcome.JobOutput{PrepareReturnCodes: []int{}}
	code, err := j.phases(&o, command)
	if err != nil {
		return exitWith(exitError, err)
	}
	o.TotalTimeTaken = time.Since(began).Seconds()
	if err := j.write(o); err != nil {
		return exitWith(exitError, err)
	}
	_, _ = fmt.Fprintln(j.talk, o.Line())
	if code == 0 {
		code = o.Exit(j.long)
	}
	return exitWith(code, nil)
}

// phases prepares and runs. The code is that of a signal that cancelled it, else 0: what the phases say then counts.
func (j jobbing) phases(o *outcome.JobOutput, command []string) (int, error) {
	for i, script := range j.prepare {
		end, err := j.one([]string{"bash", "-c", script}, j.timeouts[i])
		if err != nil {
			return 0, err
		}
		took := end.took.Seconds()
		o.PrepareReturnCodes, o.LastPrepareTimeTaken = append(o.PrepareReturnCodes, end.result()), &took
		if end.heard != 0 {
			return 128 + end.heard, nil
		}
		if end.result() != 0 {
			_, _ = fmt.Fprintf(j.talk, "sluice: %s %d ended with exit code %d after %s; the test is not run\n", phase.Prepare, i+1, end.result(), end.took.Round(time.Millisecond))
			return 0, nil
		}
	}
	end, err := j.one(command, j.timeout)
	if err != nil {
		return 0, err
	}
	code, took := end.result(), end.took.Seconds()
	o.ReturnCode, o.WorkloadTimeTaken = &code, &took
	if end.heard != 0 {
		return 128 + end.heard, nil
	}
	return 0, nil
}

// one runs a command within its time.
func (j jobbing) one(args []string, limit time.Duration) (ending, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = j.out, j.talk
	return household{heard: j.heard, grace: j.grace, limit: max(limit, 0), talk: j.talk}.run(cmd, func(int) {})
}

// result is the code, as timeout(1) has it.
func (e ending) result() int {
	if e.timedOut {
		return int(outcome.CodeTimedOut)
	}
	return e.code
}

// write puts the output in its place at once: who finds it finds all of it.
func (j jobbing) write(o outcome.JobOutput) error {
	b, err := json.Marshal(o)
	if err == nil {
		err = os.WriteFile(j.output+".new", append(b, '\n'), 0o644)
	}
	if err == nil {
		err = os.Rename(j.output+".new", j.output)
	}
	if err != nil {
		return fault.New(fault.Transient, "cannot write %s: %w", j.output, err)
	}
	return nil
}
