package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluiceci/sluice/pkg/dialect/ray/rules"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/files"
)

func rayRulesCommand() *cobra.Command {
	var change rules.Change
	c := &cobra.Command{
		Use:   "rules FILE..",
		Short: "Print the tags that changed paths emit, and why; without a change, check the files and their specifications",
		Long: "Print the tags that changed paths emit by files of rules, and why. What several files emit is united.\n" +
			"Without --changed, --branch and --all the files themselves are checked: that they can be read, that no rule is\n" +
			"hidden behind an earlier one (which is only said), and that NAME.rules.txt does what NAME.rules.test.txt beside it\n" +
			"specifies. Exit code 1: they do not.",
		Args: arguments(cobra.MinimumNArgs(1)),
		RunE: func(c *cobra.Command, names []string) error {
			files, err := readRules(names)
			if err != nil {
				return exitWith(1, err)
			}
			if len(change.Paths) == 0 && change.Branch == "" && !change.Everything {
				return checkRules(names, files, c.OutOrStdout(), c.ErrOrStderr(), asJSON(c))
			}
			change.PullRequest = change.Branch == ""
			return printTags(rules.Decide(files, change), c.OutOrStdout(), c.ErrOrStderr(), asJSON(c))
		},
	}
	c.Flags().StringArrayVar(&change.Paths, "changed", nil, "a `path` that changed (repeatable)")
	c.Flags().StringVar(&change.Branch, "branch", "", "the branch that was pushed to; on master and releases/* everything runs (default: a pull request)")
	c.Flags().BoolVar(&change.Everything, "all", false, "everything runs")
	return c
}

// readRules reads files as a repository has them: small, and not of our making.
func readRules(names []string) ([]rules.File, error) {
	var files []rules.File
	for _, name := range names {
		text, err := readSmall(name)
		if err != nil {
			return nil, err
		}
		f, err := rules.Parse(name, text)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// readSmall reads a file of at most a MiB and a bit; the parser says what is too much.
func readSmall(name string) (string, error) {
	f, _, err := files.OpenPath(name)
	if err != nil {
		return "", fault.New(fault.Invalid, "cannot read %s: %w", name, err)
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, 1<<20+1))
	if err != nil {
		return "", fault.New(fault.Invalid, "cannot read %s: %w", name, err)
	}
	return string(b), nil
}

// printTags prints the tags, which are the data, and says why.
func printTags(d rules.Decision, out, talk io.Writer, jsonOut bool) error {
	if jsonOut {
		return printJSON(out, d)
	}
	if d.Why != "" {
		_, _ = fmt.Fprintln(talk, d.Why)
	}
	for _, r := range d.Reasons {
		_, _ = fmt.Fprintln(talk, r)
	}
	for _, tag := range d.Tags {
		_, _ = fmt.Fprintln(out, tag)
	}
	return nil
}

// checkRules holds each file to its specification.
func checkRules(names []string, files []rules.File, out, talk io.Writer, jsonOut bool) error {
	problems := []rules.Problem{}
	for i, f := range files {
		for _, p := range f.Shadowed() {
			_, _ = fmt.Fprintln(talk, p)
		}
		found, err := checkSpec(names[i], f, talk)
		if err != nil {
			return exitWith(1, err)
		}
		problems = append(problems, found...)
	}
	if jsonOut {
		if err := printJSON(out, map[string]any{"problems": problems}); err != nil {
			return err
		}
	} else {
		for _, p := range problems {
			_, _ = fmt.Fprintln(out, p)
		}
	}
	if len(problems) > 0 {
		return exitWith(1, nil)
	}
	return nil
}

// checkSpec reads the specification beside a file. That there is none is said.
func checkSpec(name string, f rules.File, talk io.Writer) ([]rules.Problem, error) {
	beside, ok := strings.CutSuffix(name, ".txt")
	if !ok {
		beside = name
	}
	beside += ".test.txt"
	if _, err := os.Stat(beside); err != nil {
		_, _ = fmt.Fprintf(talk, "%s: %d rules; no specification %s\n", name, len(f.Rules), beside)
		return nil, nil
	}
	text, err := readSmall(beside)
	if err != nil {
		return nil, err
	}
	specs, err := rules.ParseSpec(beside, text)
	if err != nil {
		return nil, err
	}
	found := rules.Check(f, beside, specs)
	_, _ = fmt.Fprintf(talk, "%s: %d of %d paths are as %s has them\n", name, len(specs)-min(len(found), len(specs)), len(specs), beside)
	return found, nil
}
