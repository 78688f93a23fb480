package main

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/sluiceci/sluice/pkg/client"
	"github.com/sluiceci/sluice/pkg/client/view"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// session is one use of a Sluice by a client command.
type session struct {
	*client.Client
	at    client.Connection
	out   io.Writer // data
	talk  io.Writer // everything else
	json  bool
	style view.Style
	live  terminal // that can be drawn on; nil when out is none
}

// clientCommand completes a command that talks to a Sluice: where it is, and what its errors exit with. What can be
// wrong about how it was called is for its PreRunE: that is told first.
func clientCommand(c *cobra.Command, run func(ctx context.Context, s *session, args []string) error) *cobra.Command {
	var server, dir string
	c.Flags().StringVar(&server, "server", "", "URL of the Sluice (default $SLUICE_SERVER, or the one that runs in --dir)")
	c.Flags().StringVar(&dir, "dir", ".sluice", "directory of a Sluice on this machine")
	c.RunE = func(c *cobra.Command, args []string) error {
		if server == "" {
			server = os.Getenv("SLUICE_SERVER")
		}
		s, err := open(c, client.Place{Server: server, Dir: dir, Token: os.Getenv("SLUICE_TOKEN")})
		if err != nil {
			return exitWith(exitError, err)
		}
		return ended(run(c.Context(), s, args))
	}
	return c
}

// ended gives an error of a client command its exit code: one that has none is an error of the platform. Who interrupts a
// command knows that, and is told nothing.
func ended(err error) error {
	var known *exit
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case errors.Is(err, context.Canceled):
		return exitWith(release.Cancelled.ExitCode(), nil)
	default:
		return exitWith(exitError, err)
	}
}

func open(c *cobra.Command, place client.Place) (*session, error) {
	at, err := client.Find(place)
	if err != nil {
		return nil, err
	}
	connected, err := client.New(at)
	if err != nil {
		return nil, err
	}
	s := &session{Client: connected, at: at, out: c.OutOrStdout(), talk: c.ErrOrStderr(), json: asJSON(c)}
	s.style, s.live = styleOf(s.out)
	return s, nil
}

// styleOf is how things are shown on an output: colours and the width of the terminal, neither in a file or a pipe.
func styleOf(out io.Writer) (style view.Style, live terminal) {
	style.Now = time.Now()
	file, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return style, nil
	}
	style.Width, _ = tty{file}.size()
	if os.Getenv("TERM") == "dumb" {
		return style, nil
	}
	style.Colour = os.Getenv("NO_COLOR") == ""
	return style, tty{file}
}

// positive checks a flag that counts something.
func positive[N int | int64](flag string, n N) error {
	if n < 1 {
		return usage("%s is %d, expected at least 1", flag, n)
	}
	return nil
}

// usage makes an error of how a command was called.
func usage(format string, args ...any) error {
	return exitWith(exitUsage, fault.New(fault.Invalid, format, args...))
}
