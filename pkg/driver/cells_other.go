//go:build unix && !linux

package driver

import (
	"runtime"
	"syscall"

	"github.com/sluiceci/sluice/pkg/fault"
)

// This system has no namespaces: commands run as the platform's user and see what it sees.

type cells struct{}

func (*cells) close() {}

type held struct{}

func (p *process) isolated() bool { return false }

func (p *process) startInCell(string, []string) error { return nil }

func (p *process) runInCell() {}

func (p *process) signal(s syscall.Signal) {
	_ = syscall.Kill(-p.pid, s)
	if s != syscall.SIGKILL {
		_ = syscall.Kill(-p.pid, syscall.SIGCONT) // A stopped process would never hear it.
	}
}

func (l *Local) openIsolation(o LocalOptions) error {
	if o.Isolation == IsolationRequired || o.Network == "none" {
		return fault.New(fault.Invalid, "cannot isolate commands, which the configuration requires: %s has no namespaces", runtime.GOOS)
	}
	l.isolation.Missing = []string{"users and namespaces: " + runtime.GOOS + " has none"}
	return nil
}
