package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

type command = *cobra.Command

// each calls fn with every command that a user can type.
func each(c command, fn func(command)) {
	fn(c)
	for _, sub := range c.Commands() {
		if !sub.Hidden && sub.Name() != "help" && sub.Name() != "completion" {
			each(sub, fn)
		}
	}
}

const cliPage = "../../docs/cli.md"

// TestCLIIsDocumented compares docs/cli.md with the commands that there are. SLUICE_UPDATE=1 writes the page.
func TestCLIIsDocumented(t *testing.T) {
	t.Parallel()
	page := document(rootCommand())
	if os.Getenv("SLUICE_UPDATE") == "1" {
		if err := os.WriteFile(cliPage, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(cliPage)
	if err != nil {
		t.Fatal(err)
	}
	if string(kept) != page {
		t.Errorf("docs/cli.md is not what the commands say; write it with SLUICE_UPDATE=1 go test -run TestCLIIsDocumented ./cmd/sluice")
	}
}

// document writes the page: the conventions, a table of all commands by group, then each with its flags.
func document(root command) string {
	var b strings.Builder
	b.WriteString(cliIntroduction)
	for _, g := range root.Groups() {
		fmt.Fprintf(&b, "\n### %s\n\n| command | does |\n|---|---|\n", strings.TrimSuffix(g.Title, ":"))
		for _, c := range root.Commands() {
			if c.GroupID == g.ID {
				fmt.Fprintf(&b, "| [`%s`](#%s) | %s |\n", c.Name(), anchor(c), cellText(c.Short))
			}
		}
	}
	each(root, func(c command) {
		if c.HasParent() {
			section(&b, c)
		}
	})
	return b.String()
}

func anchor(c command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

func cellText(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func section(b *strings.Builder, c command) {
	fmt.Fprintf(b, "\n## %s\n\n", c.CommandPath())
	if c.Long != "" {
		fmt.Fprintf(b, "%s\n\n", strings.TrimSpace(c.Long))
	} else {
		fmt.Fprintf(b, "%s.\n\n", c.Short)
	}
	if c.HasAvailableSubCommands() {
		for _, sub := range c.Commands() {
			fmt.Fprintf(b, "- [`%s`](#%s): %s\n", sub.CommandPath(), anchor(sub), sub.Short)
		}
		return
	}
	fmt.Fprintf(b, "    %s\n", c.UseLine())
	flags := &strings.Builder{}
	c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && !f.Hidden {
			flags.WriteString(flagRow(f))
		}
	})
	if flags.Len() > 0 {
		fmt.Fprintf(b, "\n| flag | means |\n|---|---|\n%s", flags)
	}
}

func flagRow(f *pflag.Flag) string {
	kind, words := pflag.UnquoteUsage(f)
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	if kind != "" {
		name += " " + kind
	}
	if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "[]" {
		words += " (default " + f.DefValue + ")"
	}
	return fmt.Sprintf("| `%s` | %s |\n", name, cellText(words))
}

const cliIntroduction = `# The command line

This page is written from the commands themselves by ` + "`TestCLIIsDocumented`" + `.

- Data goes to standard output, talk to standard error. ` + "`--json`" + ` makes every command print JSON.
- Exit codes: 0 success, 1 failure, 2 error, 3 cancelled, 64 wrong usage. Commands that wait for a run, or show one that
  ended, exit with its outcome.
- A client command finds its Sluice by ` + "`--server`, else `$SLUICE_SERVER`, else `connection.json` in `--dir`" + ` (` + "`.sluice`" + `), which
  ` + "`sluice up`" + ` writes for its own user. ` + "`$SLUICE_TOKEN`" + ` goes only to a server named by ` + "`--server` or `$SLUICE_SERVER`" + `; the token in
  ` + "`connection.json`" + ` goes only to the server in that file, which must be on this machine. A ` + "`connection.json`" + ` that other users can
  read, or that belongs to somebody else, is refused: a checkout may have brought it.
- RUN is a run's name, the beginning of its name or commit, or ` + "`latest`" + `. TASK is a task's id, its name, or the beginning of
  its id.
- Nothing is coloured in a file or a pipe, or with ` + "`NO_COLOR`" + ` set. Control characters in titles, logs and other text from
  outside never reach the terminal.

## Commands
`
