package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluiceci/sluice/pkg/client"
	"github.com/sluiceci/sluice/pkg/client/view"
	"github.com/sluiceci/sluice/pkg/release"
)

// actCommands change something. Each needs a token, and each is a fact once it returns.
func actCommands() []*cobra.Command {
	return []*cobra.Command{
		triggerCommand(), cancelCommand(), retryCommand(), permitCommand(), approveCommand(), holdCommand(), undoCommand(), publishCommand(), drainCommand(),
	}
}

func triggerCommand() *cobra.Command {
	var t client.Trigger
	var params []string
	var watch bool
	c := &cobra.Command{
		Use:   "trigger PROJECT",
		Short: "Start a run of a branch or a commit",
		Args:  arguments(cobra.ExactArgs(1)),
	}
	f := c.Flags()
	f.StringVar(&t.Branch, "branch", "", "branch whose head is run")
	f.StringVar((*string)(&t.Commit), "commit", "", "full commit id; without --branch the run never publishes")
	f.StringArrayVar(&params, "param", nil, "parameter of the run: name=value")
	f.StringVar(&t.Key, "key", "", "idempotency key: a repeated request with the same key starts nothing new (default: a new one)")
	f.BoolVar(&watch, "watch", false, "wait for the run to end and exit with its outcome")
	c.PreRunE = func(*cobra.Command, []string) (err error) {
		t.Parameters, err = parameters(params)
		return errors.Join(err, revision(t))
	}
	return clientCommand(c, func(ctx context.Context, s *session, args []string) error {
		t.Project = args[0]
		started, err := s.Trigger(ctx, t)
		if err != nil {
			return err
		}
		if watch {
			fmt.Fprintf(s.talk, "Run %s\n", client.Line(string(started.Run)))
			return s.watch(ctx, client.Watching{Run: started.Run, New: true})
		}
		return s.said(started, "%s", started.Run)
	})
}

// revision checks that it is said what to run.
func revision(t client.Trigger) error {
	switch {
	case t.Branch == "" && t.Commit == "":
		return usage("cannot tell what to run: give --branch or --commit")
	case t.Commit != "" && !t.Commit.Valid():
		return usage("--commit is %q, expected the 40 digits of a whole commit name", t.Commit)
	default:
		return nil
	}
}

// parameters reads name=value pairs.
func parameters(pairs []string) (map[string]string, error) {
	out := map[string]string{}
	for _, p := range pairs {
		name, value, ok := strings.Cut(p, "=")
		if !ok || name == "" {
			return nil, usage("--param is %q, expected name=value", p)
		}
		out[name] = value
	}
	return out, nil
}

// said tells what was done: as JSON, or in words.
func (s *session) said(answer any, format string, args ...any) error {
	if s.json {
		return printJSON(s.out, answer)
	}
	_, err := fmt.Fprintln(s.out, client.Line(fmt.Sprintf(format, args...)))
	return err
}

func cancelCommand() *cobra.Command {
	var reason string
	var now bool
	c := &cobra.Command{
		Use:   "cancel RUN",
		Short: "Cancel a run: stop its tasks, start none, begin no further commit to a target",
		Long: "Cancel a run: stop its tasks, start none, begin no further commit to a target. A commit that is under way finishes, so\n" +
			"that the target has all of the release or nothing. With --now, the emergency stop, that commit is interrupted too, and a\n" +
			"part may stay visible. sluice undo takes back what can be taken back.",
		Args: arguments(cobra.ExactArgs(1)),
	}
	c.Flags().StringVar(&reason, "reason", "", "reason to record")
	c.Flags().BoolVar(&now, "now", false, "emergency stop: interrupt a commit to a target")
	return clientCommand(c, func(ctx context.Context, s *session, args []string) error {
		return s.act(ctx, args[0], "cancel", client.Act{Reason: reason, Now: now}, "Run %s is being cancelled.")
	})
}

func retryCommand() *cobra.Command {
	var watch, all bool
	var key string
	c := &cobra.Command{
		Use:   "retry RUN [TASK..]",
		Short: "Retry tasks on the frozen plan of the run; without TASK, every task that did not succeed",
		Long: "Retry tasks on the frozen plan of the run; without TASK, every task that did not succeed.\n" +
			"A success is final: what was tested is what is published. With --all everything is made again all the same, in a\n" +
			"new run of the same commit on the same plan; the run that there is stays as it is. Prints the new run.",
		Args: arguments(cobra.MinimumNArgs(1)),
	}
	c.Flags().BoolVar(&watch, "watch", false, "wait for the run to end again and exit with its outcome")
	c.Flags().BoolVar(&all, "all", false, "run every task again, including those that succeeded, as a new run of the same plan")
	c.Flags().StringVar(&key, "key", "", "with --all, idempotency key: a repeated request with the same key starts nothing new (default: a new one)")
	c.PreRunE = func(_ *cobra.Command, args []string) error {
		switch {
		case all && len(args) > 1:
			return usage("--all is for a whole run: name no task, or leave it out")
		case key != "" && !all:
			return usage("--key is for --all")
		}
		return nil
	}
	return clientCommand(c, func(ctx context.Context, s *session, args []string) error {
		if all {
			return s.rerun(ctx, args[0], client.Act{All: true, Key: key}, watch)
		}
		run, tasks, err := s.retried(ctx, args)
		if err != nil {
			return err
		}
		if err := s.act(ctx, string(run.ID), "retry", client.Act{Tasks: tasks}, "Run %s goes on."); err != nil || !watch {
			return err
		}
		what := client.Watching{Run: run.ID, Rounds: run.Round}
		if run.Ended() {
			what.Rounds++
		}
		return s.watch(ctx, what)
	})
}

// rerun makes all of a run again and prints the new run.
func (s *session) rerun(ctx context.Context, name string, what client.Act, watch bool) error {
	of, err := s.Resolve(ctx, name)
	if err != nil {
		return err
	}
	started, err := s.Act(ctx, of, "retry", what)
	if err != nil {
		return err
	}
	if !watch {
		return s.said(started, "%s", started.Run)
	}
	fmt.Fprintf(s.talk, "Run %s, rerun of %s\n", client.Line(string(started.Run)), of)
	return s.watch(ctx, client.Watching{Run: started.Run, New: true})
}

// retried are the run and the tasks that are meant.
func (s *session) retried(ctx context.Context, args []string) (run client.Run, tasks []release.TaskID, err error) {
	id, err := s.Resolve(ctx, args[0])
	if err != nil {
		return run, nil, err
	}
	for _, name := range args[1:] {
		task, err := s.ResolveTask(ctx, id, name)
		if err != nil {
			return run, nil, err
		}
		tasks = append(tasks, task)
	}
	run, err = s.Client.Run(ctx, id)
	return run, tasks, err
}

func permitCommand() *cobra.Command {
	var note string
	c := &cobra.Command{
		Use:   "permit RUN",
		Short: "Let a run of an untrusted change run, as /ok-to-test does in a comment",
		Long: "Let a run of an untrusted change run, as /ok-to-test does in a comment. It stays untrusted: it gets no secrets, and\n" +
			"runs where the installation accepts such changes. The next commit of its pull request asks again.",
		Args: arguments(cobra.ExactArgs(1)),
	}
	c.Flags().StringVar(&note, "note", "", "what the permission rests on")
	return clientCommand(c, func(ctx context.Context, s *session, args []string) error {
		return s.act(ctx, args[0], "permit", client.Act{Note: note}, "Run %s may run.")
	})
}

func approveCommand() *cobra.Command {
	var note, environment string
	c := &cobra.Command{
		Use:   "approve RUN",
		Short: "Approve the release of a run, or its use of a protected environment",
		Long: "Approve the release of a run, where its definition asks for approvals. With --environment let the run use a protected\n" +
			"environment: start its tasks there, and publish the candidate that there is now to its targets. Only reviewers of the\n" +
			"installation's file may do that.",
		Args: arguments(cobra.ExactArgs(1)),
	}
	c.Flags().StringVar(&note, "note", "", "reason to record")
	c.Flags().StringVar(&environment, "environment", "", "protected environment to approve")
	return clientCommand(c, func(ctx context.Context, s *session, args []string) error {
		if environment != "" {
			return s.approveEnvironment(ctx, args[0], environment, client.Act{Note: note})
		}
		return s.act(ctx, args[0], "approve", client.Act{Note: note}, "The release of run %s is approved.")
	})
}

// approveEnvironment lets the run that a name means use an environment.
func (s *session) approveEnvironment(ctx context.Context, name, environment string, what client.Act) error {
	run, err := s.Resolve(ctx, name)
	if err != nil {
		return err
	}
	answer, err := s.ApproveEnvironment(ctx, run, environment, what)
	if err != nil {
		return err
	}
	return s.said(answer, "Run %s may use environment %s.", run, environment)
}

func holdCommand() *cobra.Command {
	var reason, before string
	var resume bool
	c := &cobra.Command{
		Use:   "hold RUN",
		Short: "Keep the gate of a run from opening, or a release from going on",
		Long: "Keep the gate of a run from opening. When it has opened, no commit to a target begins until --resume; what was\n" +
			"published by then stays. With --before only the commit to that target waits, and those that come after it; --before\n" +
			"irreversible waits before the first commit that cannot be undone.",
		Args: arguments(cobra.ExactArgs(1)),
	}
	c.Flags().StringVar(&before, "before", "", "hold only the commit to this target, or \"irreversible\"")
	c.Flags().StringVar(&reason, "reason", "", "reason to record")
	c.Flags().BoolVar(&resume, "resume", false, "lift every hold")
	return clientCommand(c, func(ctx context.Context, s *session, args []string) error {
		if resume {
			return s.act(ctx, args[0], "resume", client.Act{Reason: reason}, "Run %s is held no more.")
		}
		return s.act(ctx, args[0], "hold", client.Act{Reason: reason, Before: before}, "Run %s is held.")
	})
}

func undoCommand() *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "undo RUN",
		Short: "Undo the commits of an incomplete release where they can be undone",
		Long: "Undo the commits of an incomplete release where they can be undone: files leave a static index, tags name again what\n" +
			"they named before. It stops the release and interrupts a commit that is under way. What cannot be undone stays; the run\n" +
			"lists it. sluice retry RUN publishes again.",
		Args: arguments(cobra.ExactArgs(1)),
	}
	c.Flags().StringVar(&reason, "reason", "", "reason to record (required)")
	c.PreRunE = func(*cobra.Command, []string) error {
		if strings.TrimSpace(reason) == "" {
			return usage("--reason is missing: say why, for those who look at the run")
		}
		return nil
	}
	return clientCommand(c, func(ctx context.Context, s *session, args []string) error {
		return s.act(ctx, args[0], "undo", client.Act{Reason: reason}, "What run %s has made visible is being taken back, where that is possible.")
	})
}

func publishCommand() *cobra.Command {
	var dry bool
	c := &cobra.Command{
		Use:   "publish --dry-run RUN",
		Short: "Show what publishing a run would do now; exit 1 if it would fail",
		Long: "Ask every target of a run whether the credentials may write, which names are free, what is there already, and which tags\n" +
			"would move. Nothing is published: only an open gate publishes.",
		Args: arguments(cobra.ExactArgs(1)),
	}
	c.Flags().BoolVar(&dry, "dry-run", false, "publish nothing (required)")
	c.PreRunE = func(*cobra.Command, []string) error {
		if !dry {
			return usage("--dry-run is missing: a run is published when its gate opens, and by nothing else")
		}
		return nil
	}
	return clientCommand(c, func(ctx context.Context, s *session, args []string) error {
		run, err := s.Resolve(ctx, args[0])
		if err != nil {
			return err
		}
		r, err := s.Rehearse(ctx, run)
		if err != nil {
			return err
		}
		if s.json {
			err = printJSON(s.out, r)
		} else {
			err = view.Rehearsal(s.out, s.style, r)
		}
		if err != nil || r.OK() {
			return err
		}
		return exitWith(1, nil)
	})
}

// act does one thing to the run that a name means.
func (s *session) act(ctx context.Context, name, verb string, what client.Act, done string) error {
	run, err := s.Resolve(ctx, name)
	if err != nil {
		return err
	}
	answer, err := s.Act(ctx, run, verb, what)
	if err != nil {
		return err
	}
	return s.said(answer, done, run)
}

func drainCommand() *cobra.Command {
	var reason string
	var resume bool
	c := &cobra.Command{
		Use:   "drain POOL",
		Short: "Stop dispatching to a pool, or resume; running attempts finish",
		Args:  arguments(cobra.ExactArgs(1)),
	}
	c.Flags().StringVar(&reason, "reason", "", "reason to record")
	c.Flags().BoolVar(&resume, "resume", false, "resume dispatching")
	return clientCommand(c, func(ctx context.Context, s *session, args []string) error {
		answer, err := s.Drain(ctx, args[0], resume, reason)
		if err != nil {
			return err
		}
		done := "Pool %s gets no more work; what runs there goes on to its end."
		if resume {
			done = "Pool %s gets work again."
		}
		return s.said(answer, done, args[0])
	})
}
