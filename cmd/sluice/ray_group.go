package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"github.com/sluiceci/sluice/pkg/dialect/ray/outcome"
	"github.com/sluiceci/sluice/pkg/fault"
)

// household is a command and all that it starts: one process group, to which signals go as they are, and of which
// nothing is left in the end.
type household struct {
	heard <-chan os.Signal
	grace time.Duration // between asking it to end and killing it
	limit time.Duration // that it may take; 0 is any
	talk  io.Writer
}

// ending is how a command ended.
type ending struct {
	code     int // by the convention of shells: 128 and the signal's number when one ended it
	signal   int // that ended it; 0 if it exited
	heard    int // the signal that somebody cancelled it with; 0 if nobody did
	timedOut bool
	took     time.Duration
}

// run starts a command and sees it through to its end.
func (h household) run(cmd *exec.Cmd, started func(pid int)) (ending, error) {
	// The kernel tells the command when the thread that started it ends, which is to be when this program does.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = wrapAttributes()
	cmd.WaitDelay = 2 * time.Second
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return ending{}, fault.New(fault.Invalid, "cannot start %s: %w", cmd.Path, err)
	}
	started(cmd.Process.Pid)
	var end ending
	err := h.tend(cmd, &end)
	end.took = time.Since(began)
	end.read(cmd, err)
	return end, nil
}

// tend passes signals on to the command's group until the command has ended, and then ends what is left of it.
func (h household) tend(cmd *exec.Cmd, end *ending) error {
	group := -cmd.Process.Pid
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	var limit, patience <-chan time.Time
	killed := false
	if h.limit > 0 {
		limit = time.After(h.limit)
	}
	ask := func(s syscall.Signal) {
		_ = syscall.Kill(group, s)
		_ = syscall.Kill(group, syscall.SIGCONT) // A stopped process would never hear it.
		if patience == nil && !killed {
			patience = time.After(h.grace)
		}
	}
	for {
		select {
		case err := <-done:
			// Process ids are given in rising order: this one is not anybody else's yet.
			h.leave(group, patience)
			return err
		case s := <-h.heard:
			if !cancels(s) {
				_ = syscall.Kill(group, syscall.Signal(number(s)))
				continue
			}
			if end.heard == 0 {
				end.heard = number(s)
			}
			ask(syscall.Signal(number(s)))
		case <-limit:
			end.timedOut, limit = true, nil
			ask(syscall.SIGTERM)
		case <-patience:
			_, _ = fmt.Fprintf(h.talk, "sluice: the command has not ended %s after it was asked to, and is killed\n", h.grace)
			_ = syscall.Kill(group, syscall.SIGKILL)
			patience, killed = nil, true
		}
	}
}

// leave kills what the command left behind. After a signal the rest of the group has the rest of the grace: a shell dies
// at once, the program that it waited for still returns its cluster.
func (h household) leave(group int, patience <-chan time.Time) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for patience != nil && groupLives(-group) {
		select {
		case <-patience:
			patience = nil
		case <-tick.C:
		}
	}
	_ = syscall.Kill(group, syscall.SIGKILL)
}

// read takes the code from the process. A command that ended well and whose output somebody else still holds has ended
// well.
func (e *ending) read(cmd *exec.Cmd, err error) {
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		e.signal = int(status.Signal())
		e.code = 128 + e.signal
		return
	}
	e.code = cmd.ProcessState.ExitCode()
	if err != nil && e.code == 0 && !errors.Is(err, exec.ErrWaitDelay) {
		e.code = int(outcome.CodeUnknown)
	}
}
