package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"

	"golang.org/x/term"

	"github.com/sluiceci/sluice/pkg/client"
	"github.com/sluiceci/sluice/services/executor"
)

// guest is a person at a terminal who may look into the workspaces of what failed, one after the other.
type guest struct {
	mu      sync.Mutex
	bars    *bars
	program string
}

// guest makes one when it was asked for and there is a terminal to talk on.
func (o runOptions) guest(bars *bars) (*guest, error) {
	if !o.shell {
		return nil, nil
	}
	if bars == nil || !term.IsTerminal(int(os.Stdin.Fd())) {
		return nil, usage("--shell opens a shell on a terminal, and there is none here; leave it out, or use --keep")
	}
	program := os.Getenv("SHELL")
	if program == "" {
		program = "/bin/sh"
	}
	return &guest{bars: bars, program: program}, nil
}

// enter opens a shell in a workspace and returns when it has ended, or the run was interrupted.
func (g *guest) enter(ctx context.Context, w executor.Workspace) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	g.bars.pause()
	defer g.bars.resume()
	fmt.Fprintf(os.Stdout, "\n%s failed: %s\nThis shell is in its workspace, with its variables. When you leave it, the workspace is cleaned and the run goes on.\n",
		client.Line(string(w.Task)), client.Line(w.Reason))
	if err := g.shell(ctx, w).Run(); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stdout, "the shell ended with:", client.Line(err.Error())) // a status is how the last command ended
	}
}

// shell is the program as it sees the workspace: as the task saw it, but with the person's own PATH and HOME.
func (g *guest) shell(ctx context.Context, w executor.Workspace) *exec.Cmd {
	c := exec.CommandContext(ctx, g.program)
	c.Dir, c.Env = w.Dir, os.Environ()
	for name, value := range w.Env {
		c.Env = append(c.Env, name+"="+value)
	}
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	return c
}
