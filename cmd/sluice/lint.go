package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/sluiceci/sluice/pkg/definition"
	"github.com/sluiceci/sluice/pkg/release"
)

func lintCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "lint [DIR]",
		Short: "Check a definition and that every trigger resolves to a plan",
		Long: "Lint checks the definition in DIR (default .), and that it resolves for a push, a pull request, a manual run and\n" +
			"the times of its schedules. It prints every error at once, and warnings where there is none: what is never run, is used\n" +
			"by nothing, takes nothing because another does before, and secrets that runs of pull requests do not get.\n" +
			"Where a file sluice.changed.test stands beside it, its lines \"PATH: JOB..\" tell which jobs the rules of changed\n" +
			"are to name for a path (\"PATH: *\" every job, \"PATH:\" none), and each that does not hold is a problem.",
		Args: arguments(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			return inTime(func() error { return lint(append(args, ".")[0], c.OutOrStdout(), c.ErrOrStderr(), asJSON(c)) })
		},
	}
}

// lint prints the problems and the warnings, which are its data, to out; that there are none is only said. Warnings are
// told once there is no problem: they are not worth mending before.
func lint(dir string, out, talk io.Writer, jsonOut bool) error {
	found, warnings, err := lintProblems(dir)
	if err != nil {
		return exitWith(1, err)
	}
	switch {
	case jsonOut:
		all := map[string]any{"problems": append(definition.Errors{}, found...), "warnings": append(definition.Errors{}, warnings...)}
		if err := printJSON(out, all); err != nil {
			return exitWith(2, err)
		}
	case len(found) > 0:
		_, _ = fmt.Fprintln(out, found.Error())
	case len(warnings) > 0:
		for _, w := range warnings {
			w.Message = "warning: " + w.Message
			_, _ = fmt.Fprintln(out, w.String())
		}
		_, _ = fmt.Fprintln(talk, "no problems")
	default:
		_, _ = fmt.Fprintln(talk, "no problems")
	}
	if len(found) > 0 {
		return exitWith(1, nil)
	}
	return nil
}

// lintProblems lists what is wrong with the text, or else with the plans that it resolves to, or else what it says in
// vain.
func lintProblems(dir string) (found, warnings definition.Errors, err error) {
	var more definition.Errors
	def, err := readDefinition(dir)
	if errors.As(err, &found) {
		return found, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if found, err = lintChanged(def, dir); err != nil {
		return nil, nil, err
	}
	found = append(found, definition.Broken(def)...)
	seen := map[definition.Problem]bool{}
	for _, change := range lintChanges(def) {
		if starts, _ := definition.Triggered(def, change); !starts {
			continue
		}
		if _, err := definition.Resolve(def, definition.Request{Change: change, Trust: assumed(def, change)}); !errors.As(err, &more) {
			continue
		}
		for _, p := range more {
			if !seen[p] {
				seen[p] = true
				found = append(found, p)
			}
		}
	}
	if len(found) == 0 {
		warnings = definition.Warnings(def)
	}
	return found, warnings, nil
}

// lintChanges are changes as they arrive every day.
func lintChanges(def *definition.Definition) []release.Change {
	branch := def.Policy().Branch
	c := release.Change{
		Project: def.Project.Value, Repo: "local/" + def.Project.Value, Branch: branch, Ref: "refs/heads/" + branch,
		Commit: "0123456789abcdef0123456789abcdef01234567",
	}
	push, pull, manual := c, c, c
	push.Kind, manual.Kind = release.Push, release.Manual
	pull.Kind, pull.Number, pull.Ref = release.PullRequest, 1, "refs/pull/1/head"
	out := []release.Change{push, pull, manual}
	for _, s := range def.Triggers.Schedule[:min(len(def.Triggers.Schedule), lintSchedules)] {
		c.Kind, c.Parameters = release.Schedule, map[string]string{"schedule": s.Name.Value}
		for _, e := range s.With {
			c.Parameters[e.Name] = e.Value.Value
		}
		out = append(out, c)
	}
	return out
}

// lintSchedules is for how many schedules the plan is tried.
const lintSchedules = 10
