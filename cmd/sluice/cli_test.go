package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// ran is what a command did.
type ran struct {
	code int
	out  string // data
	talk string // everything else, and the error
}

// sluice runs a command in this process, as main would.
func sluice(t *testing.T, args ...string) ran {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return sluiceWithin(ctx, args...)
}

func sluiceWithin(ctx context.Context, args ...string) ran {
	var out, talk bytes.Buffer
	code := sluiceTo(ctx, &out, &talk, args...)
	return ran{code, out.String(), talk.String()}
}

func sluiceTo(ctx context.Context, out, talk io.Writer, args ...string) int {
	c := rootCommand()
	c.SetArgs(args)
	c.SetOut(out)
	c.SetErr(talk)
	err := c.ExecuteContext(ctx)
	if err != nil && err.Error() != "" {
		fmt.Fprintln(talk, "sluice:", err)
	}
	return exitCode(err)
}

func TestUsageErrorsExitWith64(t *testing.T) {
	t.Parallel()
	for line, says := range map[string]string{
		"bogus":                       `unknown command "bogus"`,
		"runs --bogus":                "unknown flag: --bogus",
		"runs extra":                  "usage: sluice runs",
		"runs --limit x":              `invalid argument "x"`,
		"runs --limit 0":              "--limit is 0",
		"status one two":              "usage: sluice status",
		"cancel":                      "usage: sluice cancel",
		"trigger":                     "usage: sluice trigger",
		"trigger p --param novalue":   "expected name=value",
		"trigger p":                   "--branch or --commit",
		"trigger p --commit abc":      "expected the 40 digits",
		"logs x/y --attempt -1":       "--attempt is -1",
		"logs x --attempt 2":          "is of a task",
		"events":                      "expected one of tail, show, replay",
		"events forget":               `"forget"`,
		"events tail --type no.such":  "--type is",
		"events show x --limit -1":    "--limit is -1",
		"deadletters":                 "expected one of list, show, replay",
		"deadletters show seven":      "expected the number of a dead letter",
		"deadletters replay 0":        "expected the number of a dead letter",
		"deadletters list --limit -1": "--limit is -1",
		"top --every 1ms":             "--every is 1ms",
		"drain":                       "usage: sluice drain",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			args := append(strings.Fields(line), "--server", "http://127.0.0.1:1")
			if strings.HasPrefix(line, "bogus") || line == "events" || line == "events forget" || line == "deadletters" {
				args = strings.Fields(line)
			}
			got := sluice(t, args...)
			if got.code != exitUsage || !strings.Contains(got.talk, says) || got.out != "" {
				t.Errorf("exit %d, said %q, printed %q; want 64 and %q", got.code, got.talk, got.out, says)
			}
		})
	}
}

func TestNobodyThereExitsWith2(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"runs", "status", "watch x", "logs x", "why x/y", "pools", "cancel x", "top", "events show x", "drain gpu"} {
		got := sluice(t, append(strings.Fields(line), "--server", "http://127.0.0.1:1")...)
		if got.code != exitError || !strings.Contains(got.talk, "sluice up") {
			t.Errorf("%s: exit %d, said %q; want 2 and what to do", line, got.code, got.talk)
		}
	}
	got := sluice(t, "runs", "--dir", t.TempDir())
	if got.code != exitError || !strings.Contains(got.talk, "connection.json") {
		t.Errorf("exit %d, said %q; want 2 and where it looked", got.code, got.talk)
	}
}

func TestEveryCommandHasJSONAndHelp(t *testing.T) {
	t.Parallel()
	each(rootCommand(), func(c command) {
		if c.Short == "" || strings.HasSuffix(c.Short, ".") && c.HasParent() {
			t.Errorf("%s: its Short is %q, expected words without a full stop", c.CommandPath(), c.Short)
		}
		if c.InheritedFlags().Lookup("json") == nil && c.Flags().Lookup("json") == nil {
			t.Errorf("%s has no --json", c.CommandPath())
		}
	})
}
