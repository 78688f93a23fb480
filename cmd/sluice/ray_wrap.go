package main

import (
	"crypto/rand"
	"encoding/binary"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluiceci/sluice/pkg/dialect/ray/outcome"
	"github.com/sluiceci/sluice/pkg/dialect/ray/wrapper"
)

// rayWrapFlags are the flags of "ray wrap" as they were typed.
type rayWrapFlags struct {
	attempts    string
	again       []int
	ask         string
	retryMe     int
	timeLimit   time.Duration
	least, most time.Duration
	grace       time.Duration
	results     string
	seed        uint64
}

func rayWrapCommand() *cobra.Command {
	var f rayWrapFlags
	c := &cobra.Command{
		Use:   "wrap [flags] -- COMMAND [ARG..]",
		Short: "Run a release test as Ray's wrapper does, for CIs that retry on an exit code",
		Long: "Run COMMAND and exit with what it exits with, by the contract of Ray's release tests: 0 success, 10-19 infra error,\n" +
			"30-39 infra timeout, 40 command error, 41 alert, 42 command timeout, 43 preparation failed; 79 asks the CI to try\n" +
			"the test again. What asks is a choice: --ask. A last attempt that took longer than --time-limit never asks.\n" +
			"A signal goes to the command as itself; a run that was cancelled exits with 128 and the signal's number and does\n" +
			"not ask for a retry. Nothing that COMMAND started outlives it.\n" +
			"By default the wrapper makes one attempt, and whoever hears 79 makes the next, so that nobody holds a runner for\n" +
			"the 30 to 90 minutes between them. The report is on standard error; with --json it is an object on one line.",
		Args: arguments(cobra.MinimumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			config, err := f.config(os.Getenv)
			if err != nil {
				return exitWith(exitUsage, err)
			}
			heard := make(chan os.Signal, 8)
			signal.Notify(heard, passedOn()...)
			defer signal.Stop(heard)
			w := wrapping{
				config: config, command: args, out: c.OutOrStdout(), talk: c.ErrOrStderr(), json: asJSON(c),
				heard: heard, after: time.After, grace: f.grace, results: f.results, seed: f.seed,
			}
			return w.run()
		},
	}
	f.register(c)
	return c
}

func (f *rayWrapFlags) register(c *cobra.Command) {
	d := wrapper.Default()
	flags := c.Flags()
	flags.SetInterspersed(false) // what follows COMMAND is its own
	flags.StringVar(&f.attempts, "max-retries", "", "`attempts` in all, as MAX_RETRIES counts them (default $MAX_RETRIES, or 1); 1 when $BUILDKITE_RETRY_COUNT is not 0")
	flags.IntSliceVar(&f.again, "retry-codes", ints(d.Again), "exit `codes` after which the wrapper itself makes another attempt")
	flags.StringVar(&f.ask, "ask", string(d.Ask), "failures that ask the CI to try again: all, platform (by their cause), none")
	flags.IntVar(&f.retryMe, "ask-code", int(d.RetryMe), "the exit `code` that asks")
	flags.DurationVar(&f.timeLimit, "time-limit", d.TimeLimit, "a last attempt that took longer does not ask")
	flags.DurationVar(&f.least, "wait-least", d.Sleep.Least, "shortest wait before another attempt ($OVERRIDE_SLEEP_TIME, in seconds, replaces both)")
	flags.DurationVar(&f.most, "wait-most", d.Sleep.Most, "longest wait before another attempt")
	flags.DurationVar(&f.grace, "grace", 5*time.Minute, "between the first signal and killing COMMAND")
	flags.StringVar(&f.results, "results", os.Getenv("RELEASE_RESULTS_DIR"), "empty this `directory` before each attempt (default $RELEASE_RESULTS_DIR)")
	flags.Uint64Var(&f.seed, "seed", 0, "draw the waits from this `number` (default: a random one)")
	flags.Lookup("results").DefValue = "" // the page of the commands is the same on every machine
}

func ints(codes []outcome.Code) []int {
	var out []int
	for _, c := range codes {
		out = append(out, int(c))
	}
	return out
}

// config is the contract: the flags, else the variables, else Ray's own.
func (f *rayWrapFlags) config(getenv func(string) string) (wrapper.Config, error) {
	c := wrapper.Default()
	c.Ask, c.RetryMe, c.TimeLimit = wrapper.Ask(f.ask), outcome.Code(f.retryMe), f.timeLimit
	c.Sleep = wrapper.Backoff{Least: f.least, Most: f.most}
	c.Again = nil
	for _, code := range f.again {
		c.Again = append(c.Again, outcome.Code(code))
	}
	if f.seed == 0 {
		f.seed = randomSeed()
	}
	c, err := wrapper.FromEnv(c, func(name string) string {
		if name == "MAX_RETRIES" && f.attempts != "" {
			return f.attempts
		}
		return getenv(name)
	})
	if err != nil {
		return c, err
	}
	return c, c.Validate()
}

// randomSeed keeps tests that fail at one moment from coming back at one moment.
func randomSeed() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:])
}

// passedOn are the signals that reach the command; cancels says which of them end the run.
func passedOn() []os.Signal {
	return []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGHUP, syscall.SIGABRT, syscall.SIGUSR1, syscall.SIGUSR2}
}

func cancels(s os.Signal) bool { return s != syscall.SIGUSR1 && s != syscall.SIGUSR2 }

// number is the signal's own.
func number(s os.Signal) int {
	n, _ := s.(syscall.Signal)
	return int(n)
}

// plural writes a count of attempts.
func plural(n int) string {
	if n == 1 {
		return "1 attempt"
	}
	return strconv.Itoa(n) + " attempts"
}
