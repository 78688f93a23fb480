package driver

import (
	"cmp"
	"errors"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluiceci/sluice/pkg/driver/cell"
	"github.com/sluiceci/sluice/pkg/fault"
)

// isolated reports whether the process runs in a cell.
func (p *process) isolated() bool { return p.held != nil }

// startInCell starts the process in a cell that is free.
func (p *process) startInCell(program string, env []string) error {
	h, err := p.local.cells.take()
	if err != nil {
		return err
	}
	command := cell.Command{
		Program: program, Args: p.spec.Args, Env: env, Dir: cmp.Or(p.spec.Dir, "/"), Home: cmp.Or(p.spec.Home, p.spec.Dir), Trees: p.trees(),
		Limits: p.spec.Limits.beside(h.room),
	}
	output := -1
	if p.spec.Output != nil {
		r, w, err := outputPipe()
		if err != nil {
			p.local.cells.giveBack(h, false)
			return err
		}
		defer func() { _ = syscall.Close(w) }()
		p.output, output = r, w
	}
	p.exit.Started = time.Now()
	if err = h.room.limit(p.spec.Limits.Or(p.local.cells.usual)); err == nil {
		err = h.cell.Start(command, output)
	}
	if err != nil {
		p.closeOutput()
		var refused *cell.StartError
		p.local.cells.giveBack(h, !errors.As(err, &refused))
		return err
	}
	p.held, p.pid = h, h.cell.PID()
	p.local.leaders.add(p)
	p.beginCopy()
	return nil
}

// trees are what the command sees below what is hidden.
func (p *process) trees() []cell.Tree {
	var trees []cell.Tree
	for _, tree := range p.spec.Trees() {
		if tree != "/" {
			real := p.local.real(tree)
			trees = append(trees, cell.Tree{Source: real, Target: real, Writable: true})
		}
	}
	for _, m := range p.spec.Mounts {
		trees = append(trees, cell.Tree{Source: p.local.real(m.Source), Target: p.local.real(m.At()), Writable: m.Writable})
	}
	return trees
}

// real is a path below the executor's directory without the links that lead to that.
func (l *Local) real(path string) string {
	if !Within(path, l.dir) {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return real
		}
		return path
	}
	rest, _ := filepath.Rel(l.dir, path)
	return filepath.Join(l.resolved, rest)
}

// errCellEnded is why a command ended whose cell was killed by somebody else.
var errCellEnded = fault.New(fault.Transient, "its cell was killed")

// runInCell sees the process through to its end. The cell has killed all that was left of it.
func (p *process) runInCell() {
	defer close(p.done)
	x, err := p.held.cell.Wait()
	p.exit.Ended = x.Ended
	p.unwatch()
	p.finish()
	status := syscall.WaitStatus(x.Status)
	if err != nil {
		p.exit.Ended, status = time.Now(), syscall.WaitStatus(unix.SIGKILL)
		if p.exit.Cause == nil {
			p.exit.Cause = errCellEnded
		}
	}
	p.exit.Code = status.ExitStatus()
	if status.Signaled() {
		p.exit.Code, p.exit.Signal = -1, status.Signal().String()
	}
	p.exit.User, p.exit.System, p.exit.MaxRSS, p.exit.Leftovers = x.User, x.System, x.MaxRSS*maxRSSUnit, x.Leftovers
	p.exit.Memory = !p.exit.OK() && p.held.room.killedForMemory()
	p.local.cells.giveBack(p.held, err != nil || x.Dirty)
	p.drain()
}

// signal asks all of the process to end, or kills it.
func (p *process) signal(s syscall.Signal) {
	switch {
	case !p.isolated():
		_ = syscall.Kill(-p.pid, s)
		if s != syscall.SIGKILL {
			_ = syscall.Kill(-p.pid, syscall.SIGCONT) // A stopped process would never hear it.
		}
	case s == syscall.SIGKILL:
		p.held.cell.Kill()
	default:
		p.held.cell.Term()
	}
}
