package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	pace "github.com/sluiceci/sluice/pkg/await"
	"github.com/sluiceci/sluice/pkg/client"
	"github.com/sluiceci/sluice/pkg/dialect/ray/outcome"
	"github.com/sluiceci/sluice/pkg/dialect/ray/wheels"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/wheelfind"
)

// rayWheels are the flags of `sluice ray wheels`.
type rayWheels struct {
	where   wheelsWhere
	pythons []string
	wait    time.Duration
	every   time.Duration
}

// wheelsWhere are the flags that say where wheels and repositories are.
type wheelsWhere struct {
	config  wheelfind.Config
	mirrors []string
}

func (w *wheelsWhere) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&w.config.Wheels, "wheels-at", "", "`URL` below which wheels of branches are, as /BRANCH/COMMIT/FILE (default: Ray's own)")
	f.StringVar(&w.config.PullRequests, "pull-requests-at", "", "`URL` below which wheels of forks are, as /COMMIT/tmp/artifacts/.whl/FILE (default: Ray's own)")
	f.StringArrayVar(&w.mirrors, "mirror", nil, "read a repository elsewhere: `URL=URL` (repeatable)")
}

func (w *wheelsWhere) read() error {
	w.config.Repositories = map[string]string{}
	for _, one := range w.mirrors {
		from, to, ok := strings.Cut(one, "=")
		if !ok || from == "" || to == "" {
			return fmt.Errorf("cannot take --mirror %q: expected URL=URL", one)
		}
		w.config.Repositories[from] = to
	}
	return nil
}

func rayWheelsCommand() *cobra.Command {
	var o rayWheels
	c := &cobra.Command{
		Use:   "wheels [SPEC]",
		Short: "Say which wheels are under test, and wait until they are there",
		Long: "Print where the wheels are that SPEC means: a commit, a branch (the newest of its last ten commits that has wheels),\n" +
			"USER:BRANCH, https://HOST/REPO.git:BRANCH, a URL or file://PATH; without SPEC what RAY_WHEELS says, else the commit that the CI\n" +
			"has checked out. Then wait until they are there, asking as often as --every says. Exit code 30: they did not come within\n" +
			"--wait; other errors have Ray's codes.",
		Args: arguments(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			spec := variablesOfProcess()["RAY_WHEELS"]
			if len(args) > 0 {
				spec = args[0]
			}
			return o.run(c, spec)
		},
	}
	f := c.Flags()
	f.StringArrayVar(&o.pythons, "python", []string{"3.9"}, "the `version` of Python that a wheel is wanted for (repeatable)")
	f.DurationVar(&o.wait, "wait", 2*time.Hour, "how long they may take to come; 0 does not ask for them")
	f.DurationVar(&o.every, "every", pace.Every, "between two questions")
	o.where.flags(c)
	return c
}

func (o *rayWheels) run(c *cobra.Command, spec string) error {
	if err := o.where.read(); err != nil {
		return exitWith(exitUsage, err)
	}
	if o.every <= 0 || o.wait < 0 {
		return exitWith(exitUsage, fmt.Errorf("cannot wait for %s and ask every %s: expected times", o.wait, o.every))
	}
	want := wheels.Wanted{Spec: spec, Pythons: o.pythons, CI: buildkite()}
	var found *wheels.Found
	err := withFinder(o.where.config, func(f wheelfind.Finder) (err error) {
		if found, err = f.Find(c.Context(), want); err == nil && o.wait > 0 {
			err = o.await(c.Context(), f, found, c.ErrOrStderr())
		}
		return err
	})
	if err != nil {
		return exitWith(int(outcome.CodeOf(err)), harmlessError(err))
	}
	return o.print(c.OutOrStdout(), found, asJSON(c))
}

// buildkite is what Ray's CI says that it has checked out.
func buildkite() wheels.CI {
	env := variablesOfProcess()
	return wheels.CI{Commit: env["BUILDKITE_COMMIT"], Branch: env["BUILDKITE_BRANCH"], PullRequestRepo: env["BUILDKITE_PULL_REQUEST_REPO"]}
}

// await asks for each wheel until it is there.
func (o *rayWheels) await(ctx context.Context, f wheelfind.Finder, found *wheels.Found, talk io.Writer) error {
	for _, w := range found.Wheels {
		began, answer := time.Now(), "not there"
		for {
			exists, err := f.HTTP.Exists(ctx, w.URL)
			if err != nil && !fault.Is(err, fault.Transient) {
				return fmt.Errorf("cannot ask for %s: %w", w.URL, err)
			}
			if answer = "not there"; err != nil {
				answer = err.Error()
			}
			now := time.Now()
			step := pace.Pace{Every: o.every, Tell: pace.Tell}.Next(began, now, began.Add(o.wait), exists)
			if step.Do == pace.Found {
				break
			}
			if step.Do == pace.TimedOut {
				return wheels.Late(w.URL, o.wait.String())
			}
			if step.Tell {
				_, _ = fmt.Fprintf(talk, "sluice: waiting for %s for %s: %s\n", client.Line(w.URL), now.Sub(began).Round(time.Second), client.Line(answer))
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(step.After):
			}
		}
	}
	return nil
}

func (o *rayWheels) print(out io.Writer, found *wheels.Found, asJSON bool) error {
	if asJSON {
		return printJSON(out, found)
	}
	for _, w := range found.Wheels {
		if _, err := fmt.Fprintln(out, client.Line(w.URL)); err != nil {
			return err
		}
	}
	return nil
}
