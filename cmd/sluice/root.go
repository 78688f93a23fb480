package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// rootCommand is the whole command line. What each command is for stands in its Short; `sluice help COMMAND` tells more.
func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "sluice",
		Short:         "Sluice takes a commit to a release: it publishes exactly what was tested, once, and explains every decision.",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.PersistentFlags().Bool("json", false, "print JSON")
	root.PersistentPreRun = func(c *cobra.Command, _ []string) { hurry(c) }
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exitWith(64, err) })
	root.AddGroup(
		&cobra.Group{ID: "serve", Title: "Serve:"}, &cobra.Group{ID: "define", Title: "Define:"},
		&cobra.Group{ID: "look", Title: "Look:"}, &cobra.Group{ID: "act", Title: "Act:"},
		&cobra.Group{ID: "operate", Title: "Operate:"},
	)
	for group, commands := range map[string][]*cobra.Command{
		"serve":   {upCommand(), serveCommand(), runCommand(), plannerCommand()},
		"define":  {planCommand(), lintCommand(), schemaCommand(), importCommand(), rayCommand()},
		"look":    lookCommands(),
		"act":     actCommands(),
		"operate": append(operateCommands(), topologyCommand()),
	} {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	return root
}

// hurry lets a command that ends soon take memory rather than collect it: a quarter of the work of an import is saved.
// Whoever sets GOGC decides.
func hurry(c *cobra.Command) {
	for c.HasParent() && c.GroupID == "" {
		c = c.Parent()
	}
	if c.GroupID != "serve" && os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

// asJSON reports whether --json was given.
func asJSON(c *cobra.Command) bool {
	yes, _ := c.Flags().GetBool("json")
	return yes
}

// printJSON writes one indented JSON document.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// logger writes to standard error: data is on standard output, talk is not.
func logger(level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, exitWith(64, fmt.Errorf("--log is %q, expected debug, info, warn or error", level))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: l})), nil
}

// arguments wraps cobra's checks so that a wrong number of arguments exits with 64.
func arguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return exitWith(64, fmt.Errorf("%w; usage: %s", err, c.UseLine()))
		}
		return nil
	}
}
