//go:build unix && !linux

package driver

import (
	"bytes"
	"context"
	"os"
	"syscall"
)

// Without /proc only the group of the attempt is cleaned; macOS has neither a way to see a process's environment nor
// a death signal. What leaves the group there outlives it.

// maxRSSUnit is what getrusage counts memory in, in bytes.
const maxRSSUnit = 1

// deathSignal is sent by nobody here.
const deathSignal = syscall.Signal(-1)

func attributes(*int) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func outputPipe() (*os.File, int, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = w.Close() }()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fd, err := syscall.Dup(int(w.Fd()))
	if err != nil {
		return nil, 0, os.NewSyscallError("dup", err)
	}
	syscall.CloseOnExec(fd)
	return r, fd, nil
}

// awaitExit reaps at once: there is no portable way to wait and leave the leader in place.
func (p *process) awaitExit() { p.reap() }

func (p *process) sweep() (int, error) { return 0, nil }

func (p *process) groupAlive() bool { return false }

func contains(environ []byte, leash string) bool { return bytes.Contains(environ, []byte(leash)) }

func findMarked(func([]byte) bool) []int { return nil }

func killAll(context.Context, func() []int, func([]byte) bool) (int, error) { return 0, nil }

// limited: without prlimit nothing can be limited before it runs. The user's own limits hold.
func (l Limits) limited() bool { return false }

func (l Limits) apply(int) error { return nil }

// callFilter is none: this system has no sandbox that would take one.
func callFilter() (*os.File, error) { return nil, nil } //nolint:nilnil // see above

func again(file *os.File) (*os.File, error) { return os.Open(file.Name()) }
