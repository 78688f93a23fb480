package driver

import (
	"bytes"
	"context"
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluiceci/sluice/pkg/fault"
)

func contains(environ []byte, leash string) bool { return bytes.Contains(environ, []byte(leash)) }

// sweepTime bounds the hunt for descendants that fork faster than they are killed.
const sweepTime = 5 * time.Second

// sweep kills what is left of the session and what carries the leash elsewhere.
func (p *process) sweep() (int, error) {
	if len(p.descendants()) == 0 {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), sweepTime)
	defer cancel()
	return killAll(ctx, p.descendants, nil)
}

func (p *process) groupAlive() bool { return len(p.descendants()) > 0 }

// descendants lists the living processes of the attempt but for its leader.
func (p *process) descendants() []int {
	var found []int
	for _, pid := range p.candidates() {
		if pid != p.pid && p.owns(pid) {
			found = append(found, pid)
		}
	}
	return found
}

// candidates are the processes that can be descendants: ids are given in rising order, so that after a short attempt
// only the range since its own can be. A long attempt, or a wrap of the ids, means all.
func (p *process) candidates() []int {
	const few, short = 512, time.Second
	last, ok := lastPID()
	if !ok || last < p.pid || last-p.pid > few || time.Since(p.exit.Started) > short {
		return allPIDs()
	}
	pids := make([]int, 0, last-p.pid)
	for pid := p.pid + 1; pid <= last; pid++ {
		pids = append(pids, pid)
	}
	return pids
}

// owns reports whether a process belongs to this attempt: by its session, which costs one system call, or by the
// leash in its environment. Nobody can enter the session of another attempt, nor that of the executor, in which its own
// threads are, and children that have not begun yet.
func (p *process) owns(pid int) bool {
	session, err := unix.Getsid(pid)
	switch {
	case err != nil:
		return false
	case session == p.pid:
		return !zombie(pid)
	case session == p.local.session, p.local.leaders.has(session):
		return false
	}
	return contains(readEnviron(pid), p.leash)
}

// findMarked lists the processes whose environment is one of ours.
func findMarked(mine func([]byte) bool) []int {
	var found []int
	for _, pid := range allPIDs() {
		if mine(readEnviron(pid)) {
			found = append(found, pid)
		}
	}
	return found
}

// killAll kills until nothing is found any more, and returns when all of it is dead. Who forks while it is hunted is
// found in the next round.
func killAll(ctx context.Context, find func() []int, check func([]byte) bool) (int, error) {
	killed := 0
	for {
		pids := find()
		if len(pids) == 0 {
			return killed, nil
		}
		var dying []int
		for _, pid := range pids {
			if fd, ok := killOne(pid, check); ok {
				dying = append(dying, fd)
			}
		}
		killed += len(dying)
		for _, fd := range dying {
			awaitDeath(ctx, fd)
		}
		if ctx.Err() != nil {
			return killed, fault.New(fault.Transient, "processes %v do not die", pids)
		}
		if len(dying) == 0 {
			time.Sleep(100 * time.Microsecond) // They are dying already: their death is all that is awaited.
		}
	}
}

// killOne kills a process that was found a moment ago and returns a handle on it. With a check, it is looked at again
// once the handle holds it, so that an id that changed hands meanwhile is left alone.
func killOne(pid int, check func([]byte) bool) (fd int, ok bool) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		// It is gone, or it is a thread of a process that is in the list itself; or the kernel is older than 5.3.
		if errors.Is(err, unix.ENOSYS) {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		return 0, false
	}
	if check != nil && !check(readEnviron(pid)) || unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) != nil {
		_ = unix.Close(fd)
		return 0, false
	}
	return fd, true
}

// awaitDeath waits until the process that fd holds is dead, and closes fd. As process 1 of a container the executor
// inherits orphans, which are then its own to reap.
func awaitDeath(ctx context.Context, fd int) {
	defer func() { _ = unix.Close(fd) }()
	for ctx.Err() == nil {
		n, _ := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 50)
		if n > 0 {
			_ = unix.Waitid(unix.P_PIDFD, fd, nil, unix.WEXITED|unix.WNOHANG, nil) // no child of ours: nothing to reap
			return
		}
	}
}
