package driver

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sluiceci/sluice/pkg/driver/cell"
)

// maxRSSUnit is what getrusage counts memory in, in bytes.
const maxRSSUnit = 1024

// deathSignal is what the kernel sends to a leader when the thread that forked it ends, which the death of the program
// includes. Threads of Go end when a goroutine that locked one ends, whoever's that was; a thread of our own for all forks
// would avoid it but costs half of all starts per second. So the signal is one that nobody uses: it ends the process
// as SIGKILL does, and should it ever come while the program lives, it is known for what it is and not taken for the
// command's fault.
const deathSignal = syscall.SIGSTKFLT

func attributes(pidfd *int) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: deathSignal, PidFD: pidfd}
}

// outputPipe makes a pipe whose read end waits in the poller; the write end blocks, as programs expect of stdout.
func outputPipe() (*os.File, int, error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, 0, os.NewSyscallError("pipe2", err)
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		return nil, 0, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fds[0]), "output"), fds[1], nil
}

// awaitExit returns when the leader has ended, and leaves it to be reaped. It waits in the poller: a hundred running
// attempts block no OS thread.
func (p *process) awaitExit() {
	if p.pidfd < 0 || unix.SetNonblock(p.pidfd, true) != nil {
		waitExited(unix.P_PID, p.pid, 0)
		return
	}
	file := os.NewFile(uintptr(p.pidfd), "pidfd")
	defer func() { _ = file.Close() }()
	conn, err := file.SyscallConn()
	if err == nil {
		err = conn.Read(func(fd uintptr) bool { return waitExited(unix.P_PIDFD, int(fd), unix.WNOHANG) })
	}
	if err != nil {
		waitExited(unix.P_PID, p.pid, 0)
	}
}

func waitExited(kind, id, flags int) bool {
	for {
		var info unix.Siginfo
		err := unix.Waitid(kind, id, &info, unix.WEXITED|unix.WNOWAIT|flags, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		return !errors.Is(err, unix.EAGAIN) && (err != nil || info.Signo != 0)
	}
}

// lastPID is the newest process or thread id of the system: with it a sweep after a short attempt looks at the few
// processes made since, not at all of them.
func lastPID() (int, bool) {
	var buffer [128]byte
	fd, err := unix.Open("/proc/loadavg", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, false
	}
	defer func() { _ = unix.Close(fd) }()
	n, err := unix.Read(fd, buffer[:])
	if err != nil || n == 0 {
		return 0, false
	}
	fields := bytes.Fields(buffer[:n])
	last, err := strconv.Atoi(string(fields[len(fields)-1]))
	return last, err == nil
}

// allPIDs lists the processes of the system.
func allPIDs() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(-1)
	pids := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// readEnviron returns the environment that a process was started with, or nil when it is gone or not ours to see.
func readEnviron(pid int) []byte {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return nil
	}
	return b
}

// zombie reports whether a process has ended and only waits to be reaped.
func zombie(pid int) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return true
	}
	_, rest, _ := bytes.Cut(b[max(0, bytes.LastIndexByte(b, ')')):], []byte(" "))
	return len(rest) == 0 || rest[0] == 'Z' || rest[0] == 'X'
}

// callFilter is a file with the filter of system calls that a cell has too; nil where there is none.
func callFilter() (*os.File, error) {
	filter := cell.Filter()
	if filter == nil {
		return nil, nil //nolint:nilnil // an architecture whose calls nobody has listed
	}
	fd, err := unix.MemfdCreate("filter", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	file := os.NewFile(uintptr(fd), "filter")
	if _, err := file.Write(filter); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// again opens a file once more, to be read from its beginning.
func again(file *os.File) (*os.File, error) {
	return os.Open("/proc/self/fd/" + strconv.Itoa(int(file.Fd())))
}
