package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluiceci/sluice/pkg/client"
	"github.com/sluiceci/sluice/pkg/client/view"
	"github.com/sluiceci/sluice/pkg/release"
)

// lookCommands show what there is and change nothing.
func lookCommands() []*cobra.Command {
	return []*cobra.Command{
		runsCommand(), statusCommand(), watchCommand(), logsCommand(), artifactsCommand(), whyCommand(), poolsCommand(),
		limitsCommand(),
	}
}

func runsCommand() *cobra.Command {
	var q client.RunsQuery
	c := &cobra.Command{
		Use:   "runs",
		Short: "List runs, newest first",
		Args:  arguments(cobra.NoArgs),
	}
	f := c.Flags()
	f.IntVar(&q.Limit, "limit", 20, "maximum number of runs")
	f.Uint64Var(&q.Before, "before", 0, "page: the number that the previous page printed")
	f.StringVar(&q.Project, "project", "", "only this project")
	f.StringVar(&q.Branch, "branch", "", "only this branch")
	f.StringVar(&q.State, "state", "", "only runs in this state: received, ignored, rejected, running, success, failure, error, cancel, or failed")
	c.PreRunE = func(*cobra.Command, []string) error { return positive("--limit", q.Limit) }
	return clientCommand(c, func(ctx context.Context, s *session, _ []string) error {
		page, err := s.Runs(ctx, q)
		if err != nil {
			return err
		}
		if s.json {
			return printJSON(s.out, page)
		}
		if page.Next != 0 {
			defer fmt.Fprintf(s.talk, "There are more: sluice runs --before %d\n", page.Next)
		}
		return view.Runs(s.out, s.style, page.Runs)
	})
}

func statusCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "status [RUN]",
		Short: "Show a run on one screen; exit with its outcome",
		Long: "Show how a run stands and why: what failed first, the gate with its reasons, every target.\n" +
			"RUN is a run's name, the beginning of its name or commit, or \"latest\" (the default).\n" +
			"A run that ended gives its exit code: 0 success, 1 failure, 2 error, 3 cancelled. One that goes on gives 0.",
		Args: arguments(cobra.MaximumNArgs(1)),
	}
	return clientCommand(c, func(ctx context.Context, s *session, args []string) error {
		run, err := s.run(ctx, args)
		if err != nil {
			return err
		}
		status, err := s.Status(ctx, run)
		if err != nil {
			return err
		}
		if s.json {
			err = printJSON(s.out, status)
		} else {
			err = view.Status(s.out, s.style, status)
		}
		if err != nil || !status.Run.Ended() {
			return err
		}
		return exitWith(status.Run.ExitCode(), nil)
	})
}

// run is the run that the first argument names; the newest without one.
func (s *session) run(ctx context.Context, args []string) (release.RunID, error) {
	return s.Resolve(ctx, append(args, client.Latest)[0])
}

// runTask is the run, and the task when one is named, of an argument RUN[/TASK].
func (s *session) runTask(ctx context.Context, args []string) (release.RunID, release.TaskID, error) {
	name, task, named := strings.Cut(append(args, client.Latest)[0], "/")
	run, err := s.Resolve(ctx, name)
	if err != nil || !named {
		return run, "", err
	}
	id, err := s.ResolveTask(ctx, run, task)
	return run, id, err
}

func artifactsCommand() *cobra.Command {
	var folder string
	c := &cobra.Command{
		Use:   "artifacts [RUN[/TASK]]",
		Short: "List or download the artifacts of a run",
		Args:  arguments(cobra.MaximumNArgs(1)),
	}
	c.Flags().StringVar(&folder, "download", "", "download to this directory as TASK/NAME and verify the digests")
	return clientCommand(c, func(ctx context.Context, s *session, args []string) error {
		run, task, err := s.runTask(ctx, args)
		if err != nil {
			return err
		}
		list, err := s.Artifacts(ctx, run, task)
		if err != nil {
			return err
		}
		if folder != "" {
			if err := s.download(ctx, run, list, folder); err != nil {
				return err
			}
		}
		if s.json {
			return printJSON(s.out, map[string]any{"run": run, "artifacts": list})
		}
		return view.Artifacts(s.out, s.style, list)
	})
}

// download stores artifacts and says each on standard error.
func (s *session) download(ctx context.Context, run release.RunID, list []client.Artifact, name string) error {
	folder, err := client.OpenFolder(name)
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }() // nothing was written to the folder itself
	for _, a := range list {
		path, present, err := s.Download(ctx, run, a, folder)
		if err != nil {
			return err
		}
		done := "downloaded"
		if present {
			done = "was there already:"
		}
		fmt.Fprintf(s.talk, "%s %s\n", done, path)
	}
	return nil
}

func whyCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "why [RUN[/TASK]]",
		Short: "Explain the state of a run or task: what it waits for, what decided it, what was tried",
		Args:  arguments(cobra.MaximumNArgs(1)),
	}
	return clientCommand(c, func(ctx context.Context, s *session, args []string) error {
		run, task, err := s.runTask(ctx, args)
		if err != nil {
			return err
		}
		why, err := s.Why(ctx, run, task)
		if err != nil {
			return err
		}
		if s.json {
			return printJSON(s.out, why)
		}
		return view.Why(s.out, s.style, why)
	})
}

func poolsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "pools",
		Short: "List pools: executors, what runs, what waits",
		Args:  arguments(cobra.NoArgs),
	}
	return clientCommand(c, func(ctx context.Context, s *session, _ []string) error {
		pools, err := s.Pools(ctx)
		if err != nil {
			return err
		}
		if s.json {
			return printJSON(s.out, map[string]any{"pools": pools})
		}
		return view.Pools(s.out, s.style, pools)
	})
}
