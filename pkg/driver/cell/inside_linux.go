package cell

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/signal"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A program that is started as a cell becomes one here, before the packages that import this one are prepared, and most others:
// that would take five times as long, and five times the memory for as long as the cell is there. So this package imports little.
func init() { //nolint:gochecknoinits // main would be too late
	if inside() {
		be()
	}
}

// Argument is the only argument of a program that is started as a cell.
const Argument = "be-a-cell"

// Variable is in the environment of cells: a cell makes none.
const Variable = "SLUICE_CELL"

// inside reports whether this process was started as a cell.
func inside() bool {
	return len(os.Args) == 2 && os.Args[1] == Argument && os.Getenv(Variable) != ""
}

// What a cell finds open.
const (
	socketFD = 3
	idsFD    = 4
)

// be makes this process the cell that it was started as; it does not return. Everything is done on one thread, which has given
// away what no command may have: what starts commands, and what waits for them and for orders, never has to wake another.
func be() {
	runtime.LockOSThread()
	w := &warden{link: link{fd: socketFD, file: -1}}
	hearNothing()
	dieFirst()
	// A cell must not be seen or traced by what it runs, which may be the same user.
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	// Nothing that is open reaches a command, also not what the program itself was started with.
	_ = unix.CloseRange(socketFD, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	if os.Getpid() != 1 {
		os.Exit(2) // It is for the program alone to start.
	}
	err := w.setUp()
	if err == nil {
		err = renounce()
	}
	if err != nil {
		_ = w.link.send(frameReady, []byte(err.Error()), -1)
		os.Exit(1)
	}
	w.inherits = inherits()
	w.answer(frameReady, nil)
	w.serve()
}

// hearNothing takes all signals and does nothing: commands may be the same user. What they start gets none of it. That a child
// ended is seen where it is waited for.
func hearNothing() {
	signal.Notify(make(chan os.Signal, 1))
	signal.Reset(unix.SIGCHLD)
}

// dieFirst offers what runs here to the kernel when memory ends, before the platform.
func dieFirst() { _ = os.WriteFile("/proc/self/oom_score_adj", []byte("500"), 0) } // one that is higher stays as it is

// warden is the first process of a cell.
type warden struct {
	link link
	view *view
	user int
	null int
	// inherits is what commands get from the thread that starts them; one that changes it was the last in this cell.
	inherits inherited

	leader int  // 0 when nothing runs
	pidfd  int  // of the leader
	ending bool // everything was asked to end: what outlives the leader has its grace
}

// setUp makes the view that the program asks for.
func (w *warden) setUp() error {
	kind, text, _ := w.hear()
	if kind != frameReady {
		return fmt.Errorf("cannot hear what to be: %w", errFrame)
	}
	var s setup
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	w.user = s.User
	var err error
	if w.null, err = unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
		return os.NewSyscallError("open", err)
	}
	w.view, err = openView(s.View, s.User)
	return err
}

// serve runs one command after the other until the program is gone; then the cell ends, and the kernel kills what is in it.
func (w *warden) serve() {
	for {
		kind, body, file := w.hear()
		if kind != frameRun {
			continue // What this order was for has ended.
		}
		command, err := decodeCommand(body)
		if err != nil {
			os.Exit(1)
		}
		w.run(command, file)
	}
}

// hear waits for the next frame of the program.
func (w *warden) hear() (kind byte, body []byte, file int) {
	program := []unix.PollFd{{Fd: socketFD, Events: unix.POLLIN}}
	for {
		if kind, body, file, ok := w.next(); ok {
			return kind, body, file
		}
		_ = wait(program, -1)
	}
}

// next takes a frame that has come. Without the program, or with one that says nonsense, the cell is over.
func (w *warden) next() (kind byte, body []byte, file int, ok bool) {
	kind, body, file, err := w.link.receive()
	if err == unix.EAGAIN { //nolint:errorlint // a system call returns the number itself
		return 0, nil, -1, false
	}
	if err != nil {
		os.Exit(0)
	}
	return kind, body, file, true
}

// obey does what the program wants of the command that runs.
func (w *warden) obey() {
	for {
		kind, _, _, ok := w.next()
		switch {
		case !ok:
			return
		case kind == frameTerm:
			w.signalAll(unix.SIGTERM)
		case kind == frameKill:
			w.signalAll(unix.SIGKILL)
		default:
			os.Exit(1)
		}
	}
}

// signalAll signals every process of the cell but this one, in one step of the kernel: none can fork away from it.
func (w *warden) signalAll(signal unix.Signal) {
	w.ending = true
	_ = unix.Kill(-1, signal)
	if signal != unix.SIGKILL {
		_ = unix.Kill(-1, unix.SIGCONT) // A stopped process would never hear it.
	}
}

// briefly is how long a wait is made in such a way that Go knows nothing of it: its monitor of threads that wait would wake fifty
// times in the first millisecond of each, which costs as much as all else that a cell does for a command.
const briefly = time.Second

// wait returns when one of some files can be read, or a signal came, or after a number of milliseconds unless that is negative.
// It reports whether the first can be read.
func wait(files []unix.PollFd, most int) bool {
	files[0].Revents = 0
	brief := unix.NsecToTimespec(briefly.Nanoseconds())
	if most >= 0 {
		brief = unix.NsecToTimespec(int64(most) * 1e6)
	}
	n, _, err := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&files[0])), uintptr(len(files)), uintptr(unsafe.Pointer(&brief)), 0, 0, 0)
	if n == 0 && err == 0 && most < 0 {
		_, _ = unix.Poll(files, most) // a signal is looked after as an end of the time is
	}
	return files[0].Revents != 0
}
