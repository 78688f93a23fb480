package cell

import (
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// renounce makes sure that what this thread starts can never gain a privilege: not by a setuid program, not by file
// capabilities, not by what it inherits.
func renounce() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl no_new_privs", err)
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl ambient", err)
	}
	for capability := range uintptr(64) {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) {
			break // The kernel has no more of them.
		}
		if err != nil {
			return os.NewSyscallError("prctl bounding set", err)
		}
	}
	if err := dropInheritable(); err != nil {
		return err
	}
	return refuse()
}

func dropInheritable() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return os.NewSyscallError("capget", err)
	}
	data[0].Inheritable, data[1].Inheritable = 0, 0
	return os.NewSyscallError("capset", unix.Capset(&header, &data[0]))
}

// run runs a command and everything that it leaves behind to its end.
func (w *warden) run(c Command, output int) {
	laid, err := w.view.lay(c.Trees, c.Home)
	if err == nil {
		err = w.fork(c, output)
	}
	if output >= 0 {
		_ = unix.Close(output)
	}
	if err != nil {
		w.clear(laid)
		w.answer(frameStarted, startError(err))
		return
	}
	w.answer(frameStarted, nil)
	exit := w.await()
	// The program hears of the end before the view is cleared: the next command waits for that, and nobody else.
	exit.Dirty = w.view.leftIPC() || w.changed()
	w.answer(frameExit, exit.encode())
	w.clear(laid)
}

// changed reports whether a command did something to the cell itself, which only the program's own user can.
func (w *warden) changed() bool {
	return w.user < 0 && (w.view.closed() || inherits() != w.inherits)
}

// clear takes away what was there for a command. A cell that cannot do that is of no use any more.
func (w *warden) clear(l *laid) {
	if err := w.view.clear(l); err != nil {
		os.Stderr.WriteString("sluice: cannot clear a cell: " + err.Error() + "\n")
		os.Exit(1)
	}
}

// answer tells the program something. One that is gone needs no cell.
func (w *warden) answer(kind byte, payload []byte) {
	if w.link.send(kind, payload, -1) != nil {
		os.Exit(0)
	}
}

func startError(err error) []byte {
	var number syscall.Errno
	var start *execError
	if errors.As(err, &start) {
		errors.As(err, &number)
	}
	e := encoder{}
	e.number(uint64(number))
	e.text(err.Error())
	return e.b
}

// execError is the kernel's answer to the start itself.
type execError struct{ error }

func (e *execError) Unwrap() error { return e.error }

// fork starts the leader.
func (w *warden) fork(c Command, output int) error {
	out := uintptr(w.null)
	if output >= 0 {
		out = uintptr(output)
	}
	w.pidfd = -1
	sys := &syscall.SysProcAttr{Setsid: true, Ptrace: len(c.Limits) > 0, PidFD: &w.pidfd}
	if w.user >= 0 {
		sys.Credential = &syscall.Credential{Uid: uint32(w.user), Gid: uint32(w.user)}
	}
	pid, err := syscall.ForkExec(c.Program, c.Args, &syscall.ProcAttr{
		Dir: c.Dir, Env: c.Env, Files: []uintptr{uintptr(w.null), out, out}, Sys: sys,
	})
	if err != nil {
		return &execError{err}
	}
	if sys.Ptrace {
		err = w.limit(pid, c.Limits)
	}
	if err != nil {
		_ = unix.Kill(-1, unix.SIGKILL)
		reapAll()
		_ = unix.Close(w.pidfd)
		return err
	}
	w.leader, w.ending = pid, false
	return nil
}

// limit sets the limits of a process that stands still before its first instruction, and lets it go.
func (w *warden) limit(pid int, limits []Limit) error {
	var status unix.WaitStatus
	if _, err := retry(func() (int, error) { return unix.Wait4(pid, &status, 0, nil) }); err != nil {
		return os.NewSyscallError("wait4", err)
	}
	if w.user >= 0 {
		defer w.resemble(os.Getuid(), os.Getgid())
		w.resemble(w.user, w.user)
	}
	for _, l := range limits {
		var now unix.Rlimit
		err := unix.Prlimit(pid, int(l.Resource), nil, &now)
		if err == nil { // None is ever raised.
			err = unix.Prlimit(pid, int(l.Resource), &unix.Rlimit{Cur: min(l.Soft, now.Max), Max: min(l.Hard, now.Max)}, nil)
		}
		if err != nil {
			return os.NewSyscallError("prlimit", err)
		}
	}
	return os.NewSyscallError("ptrace", unix.PtraceDetach(pid))
}

// resemble sets the real ids of this thread alone. The kernel lets a process set the limits of its own user's processes
// without CAP_SYS_RESOURCE, which many containers lack.
func (w *warden) resemble(user, group int) {
	const same = ^uintptr(0)
	_, _, _ = unix.RawSyscall(unix.SYS_SETRESGID, uintptr(group), same, uintptr(group))
	_, _, _ = unix.RawSyscall(unix.SYS_SETRESUID, uintptr(user), same, uintptr(user))
}

func reapAll() {
	for {
		if _, err := retry(func() (int, error) { return unix.Wait4(-1, nil, 0, nil) }); err != nil {
			return
		}
	}
}

// await returns when nothing is left. The first process of a PID namespace is the parent of all orphans in it: when it has no
// child any more, the namespace is empty. Orphans that end before the leader are taken when a signal says so.
func (w *warden) await() Exit {
	exit := Exit{Started: time.Now()}
	files, most := []unix.PollFd{{Fd: socketFD, Events: unix.POLLIN}, {Fd: int32(w.pidfd), Events: unix.POLLIN}}, -1
	for {
		if wait(files, most) {
			w.obey()
		}
		if !w.reap(&exit, unix.WNOHANG) {
			return exit
		}
		if w.leader != 0 {
			continue
		}
		if !w.ending {
			_ = unix.Kill(-1, unix.SIGKILL)
			for w.reap(&exit, 0) { // What was killed ends.
			}
			return exit
		}
		files, most = files[:1], graceLook
	}
}

// graceLook is how often it is looked whether what outlived its leader has used its grace, in milliseconds. Mostly a signal
// says so before.
const graceLook = 20

// reap takes what has ended, and reports whether anything is left. Without WNOHANG it takes one, and waits for it.
func (w *warden) reap(exit *Exit, how int) (left bool) {
	for {
		var status unix.WaitStatus
		var usage unix.Rusage
		pid, err := retry(func() (int, error) { return unix.Wait4(-1, &status, how, &usage) })
		if err != nil {
			return false
		}
		if pid == 0 {
			return true
		}
		w.note(exit, pid, status, &usage)
		if how == 0 {
			return true
		}
	}
}

// note writes down how a process of the cell ended.
func (w *warden) note(exit *Exit, pid int, status unix.WaitStatus, usage *unix.Rusage) {
	switch {
	case pid == w.leader:
		exit.Ended, exit.Status = time.Now(), uint32(status)
		exit.User, exit.System = time.Duration(usage.Utime.Nano()), time.Duration(usage.Stime.Nano())
		exit.MaxRSS = usage.Maxrss
		w.leader = 0
		_ = unix.Close(w.pidfd)
	case w.leader == 0 && status.Signaled() && status.Signal() == unix.SIGKILL:
		exit.Leftovers++
	}
}
