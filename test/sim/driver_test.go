package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/sluiceci/sluice/pkg/driver"
)

// machine is where an executor's commands run: a command sleeps for a while that is drawn, prints a line and succeeds.
type machine struct{ w *world }

type command struct {
	done chan struct{}
	exit driver.Exit
}

// Start runs a command in simulated time.
func (m *machine) Start(ctx context.Context, spec driver.Spec) (driver.Process, error) {
	c := &command{done: make(chan struct{})}
	name := spec.Env["SLUICE_RUN"] + "/" + spec.Env["SLUICE_TASK"] + "/" + spec.Env["SLUICE_ATTEMPT"]
	m.w.begins(name)
	go func() {
		defer close(c.done)
		timer := time.NewTimer(m.w.length())
		defer timer.Stop()
		select {
		case <-timer.C:
			_, _ = fmt.Fprintln(spec.Output, "done")
		case <-ctx.Done():
			c.exit = driver.Exit{Code: -1, Cause: context.Cause(ctx)}
		}
		m.w.ends(name)
	}()
	return c, nil
}

// ID names the command.
func (c *command) ID() string { return "sim" }

// Wait blocks until it has ended.
func (c *command) Wait() driver.Exit { <-c.done; return c.exit }
