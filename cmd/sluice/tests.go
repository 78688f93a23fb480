package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluiceci/sluice/pkg/client"
	"github.com/sluiceci/sluice/pkg/client/view"
	"github.com/sluiceci/sluice/pkg/release"
)

// testsCommand lists how tests fare; its members jail one, or let it be run again.
func testsCommand() *cobra.Command {
	var project string
	c := &cobra.Command{
		Use:   "tests",
		Short: "List the health of tests on the release branch: state, since when, issue, owner, end of the jail",
		Args:  arguments(cobra.NoArgs),
	}
	c.Flags().StringVar(&project, "project", "", "of this project only")
	c = clientCommand(c, func(ctx context.Context, s *session, _ []string) error {
		tests, err := s.Tests(ctx, project)
		if err != nil {
			return err
		}
		if s.json {
			return printJSON(s.out, map[string]any{"tests": tests})
		}
		return view.Tests(s.out, s.style, tests)
	})
	c.AddCommand(jailCommand(), freeCommand())
	return c
}

func jailCommand() *cobra.Command {
	var j client.Jail
	var until string
	c := &cobra.Command{
		Use:   "jail TEST",
		Short: "Leave a test out of plans until a date; needs an owner who will fix it",
		Args:  arguments(cobra.ExactArgs(1)),
	}
	f := c.Flags()
	f.StringVar(&j.Project, "project", "", "project of the test; needed if the installation has several")
	f.StringVar(&j.Owner, "owner", "", "owner who will fix it (required)")
	f.StringVar(&until, "until", "", "end of the jail: a date (2026-01-31) or a duration (72h) (default 14 days)")
	f.StringVar(&j.Reason, "reason", "", "reason to record")
	c.PreRunE = func(*cobra.Command, []string) (err error) {
		if j.Owner == "" {
			return usage("cannot jail a test that nobody owns: give --owner")
		}
		j.Until, err = futureTime("--until", until)
		return err
	}
	return clientCommand(c, func(ctx context.Context, s *session, args []string) error {
		j.Test = args[0]
		if err := s.JailTest(ctx, j); err != nil {
			return err
		}
		return s.said(client.Done{}, "Test %s is jailed: plans that are made from now on leave it out.", j.Test)
	})
}

// futureTime reads a day or a time from now. Nothing is the zero time.
func futureTime(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at.UTC(), nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return time.Time{}, usage("%s is %q, expected a day such as 2026-01-31, or a time from now such as 72h", flag, text)
	}
	return time.Now().Add(d).UTC(), nil
}

func freeCommand() *cobra.Command {
	var j client.Jail
	c := &cobra.Command{Use: "free TEST", Short: "Run a jailed test again; earlier results are ignored", Args: arguments(cobra.ExactArgs(1))}
	c.Flags().StringVar(&j.Project, "project", "", "project of the test; needed if the installation has several")
	c.Flags().StringVar(&j.Reason, "reason", "", "reason to record")
	return clientCommand(c, func(ctx context.Context, s *session, args []string) error {
		j.Test = args[0]
		if err := s.FreeTest(ctx, j); err != nil {
			return err
		}
		return s.said(client.Done{}, "Test %s is run again.", j.Test)
	})
}

const bisectLong = `Find the commit that broke a test: several commits at a time, each run again where a machine failed or the test may
flake, until a commit is blamed, the deadline comes or the budget of runs is spent. The first and the last commit are tried first: a
test that fails where it is to pass, or passes where it is to fail, ends the search. Runs of single commits are on no branch and
publish nothing. Without TASK the bisections that there were are listed.`

// bisectCommand looks for the commit that broke a test.
func bisectCommand() *cobra.Command {
	var b client.Bisect
	var good, bad, deadline, stop string
	var confirm int32
	var params []string
	c := &cobra.Command{
		Use: "bisect [TASK]", Short: "Find the commit that broke a test, or list past bisections", Long: bisectLong,
		Args: arguments(cobra.MaximumNArgs(1)),
	}
	f := c.Flags()
	f.StringVar(&b.Project, "project", "", "project of the test; needed if the installation has several")
	f.StringVar(&good, "good", "", "last known good revision: a full commit id, or any name that the local git resolves")
	f.StringVar(&bad, "bad", "", "first known bad revision")
	f.Int32Var(&b.Ways, "ways", 0, "commits tried in parallel (default 3)")
	f.Int32Var(&b.Runs, "runs", 0, "minimum runs per commit (default 1)")
	f.Int32Var(&confirm, "confirm", 1, "runs that must confirm a failure before a commit is blamed")
	f.StringVar(&deadline, "deadline", "", "give up at this time: a duration (6h) or a date (default 24h)")
	f.Int32Var(&b.Budget, "budget", 0, "maximum number of runs (default 30)")
	f.StringVar(&b.Reason, "reason", "", "reason to record")
	f.StringArrayVar(&params, "param", nil, "parameter of each run: name=value; schedule=NAME plans it as that schedule does (repeatable)")
	f.StringVar(&stop, "stop", "", "stop the bisection with this id or prefix, and its runs")
	f.StringVar(&b.Key, "key", "", "idempotency key: a repeated request with the same key starts nothing new (default: a new one)")
	c.PreRunE = func(_ *cobra.Command, args []string) (err error) {
		if len(args) == 1 && stop != "" {
			return usage("cannot tell whether to start or to stop: give TASK or --stop")
		}
		if len(args) == 1 && (good == "" || bad == "") {
			return usage("cannot tell where to look: give --good and --bad")
		}
		b.Confirm = &confirm
		if b.Parameters, err = parameters(params); err != nil {
			return err
		}
		b.Deadline, err = futureTime("--deadline", deadline)
		return err
	}
	return clientCommand(c, func(ctx context.Context, s *session, args []string) (err error) {
		switch {
		case stop != "":
			done, err := s.StopBisect(ctx, stop, b.Reason)
			if err != nil {
				return err
			}
			return s.said(done, "Bisection %s is stopped.", done.Bisect)
		case len(args) == 0:
			return s.bisects(ctx)
		}
		b.Task = args[0]
		if b.Good, err = aCommit(ctx, good); err != nil {
			return err
		}
		if b.Bad, err = aCommit(ctx, bad); err != nil {
			return err
		}
		done, err := s.Bisect(ctx, b)
		if err != nil {
			return err
		}
		return s.said(done, "%s", done.Bisect)
	})
}

func (s *session) bisects(ctx context.Context) error {
	all, err := s.Client.Bisects(ctx)
	if err != nil {
		return err
	}
	if s.json {
		return printJSON(s.out, map[string]any{"bisects": all})
	}
	return view.Bisects(s.out, s.style, all)
}

// aCommit is a revision: as it is named, or as git in the working directory knows it.
func aCommit(ctx context.Context, text string) (release.Commit, error) {
	if c := release.Commit(text); c.Valid() {
		return c, nil
	}
	if strings.HasPrefix(text, "-") {
		return "", usage("%q is no revision", text)
	}
	out, err := gitIn(ctx, ".", "rev-parse", "--verify", "--end-of-options", text+"^{commit}")
	if err != nil {
		return "", usage("cannot find revision %q: give the 40 digits of a commit, or run this in a checkout: %s", text, err)
	}
	return release.Commit(strings.TrimSpace(string(out))), nil
}
