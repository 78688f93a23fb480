package cell

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/signal"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// Argument is the only argument of a program that is started as a cell.
const Argument = "be-a-cell"

// Variable is in the environment of cells: a cell makes none.
const Variable = "SLUICE_CELL"

// Inside reports whether this process was started as a cell.
func Inside() bool {
	return len(os.Args) == 2 && os.Args[1] == Argument && os.Getenv(Variable) != ""
}

// What a cell finds open.
const (
	socketFD = 3
	idsFD    = 4
)

// Be makes this process the cell that it was started as; it does not return. It is the first statement of main.
func Be() {
	w := &warden{socket: socket{socketFD}}
	hearNothing()
	dieFirst()
	// A cell must not be seen or traced by what it runs, which may be the same user.
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	// Nothing that is open reaches a command, also not what the program itself was started with.
	_ = unix.CloseRange(socketFD, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	if os.Getpid() != 1 {
		os.Exit(2) // It is for the program alone to start.
	}
	commands := make(chan order, 1)
	if err := w.setUp(); err != nil {
		_ = w.socket.send(frameReady, []byte(err.Error()), -1)
		os.Exit(1)
	}
	go w.run(commands)
	w.listen(commands)
}

// hearNothing takes all signals and does nothing: commands may be the same user. What they start gets none of it.
func hearNothing() { signal.Notify(make(chan os.Signal, 1)) }

// dieFirst offers what runs here to the kernel when memory ends, before the platform.
func dieFirst() { _ = os.WriteFile("/proc/self/oom_score_adj", []byte("500"), 0) } // one that is higher stays as it is

// warden is the first process of a cell.
type warden struct {
	socket socket
	view   *view
	user   int
	null   int
	// inherits is what commands get from the thread that starts them; one that changes it was the last in this cell.
	inherits inherited

	mu     sync.Mutex // held while a command begins or ends, and while everything is signalled
	leader int        // 0 when nothing runs
	ending bool       // everything was asked to end: what outlives the leader has its grace
}

// order is a command to run, with the file that takes its output.
type order struct {
	command Command
	output  int
}

// setUp makes the view that the program asks for.
func (w *warden) setUp() error {
	kind, text, _, err := w.socket.receive()
	if err != nil || kind != frameReady {
		return fmt.Errorf("cannot hear what to be: %w", firstOf(err, errFrame))
	}
	var s setup
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	w.user = s.User
	if w.null, err = unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
		return os.NewSyscallError("open", err)
	}
	w.view, err = openView(s.View, s.User)
	return err
}

// listen takes orders until the program is gone; then the cell ends, and the kernel kills what is in it.
func (w *warden) listen(commands chan<- order) {
	for {
		kind, body, file, err := w.socket.receive()
		if err != nil {
			os.Exit(0)
		}
		switch kind {
		case frameRun:
			command, err := decodeCommand(body)
			if err != nil {
				os.Exit(1)
			}
			commands <- order{command, file}
		case frameTerm:
			w.signalAll(unix.SIGTERM)
		case frameKill:
			w.signalAll(unix.SIGKILL)
		}
	}
}

// signalAll signals every process of the cell but this one, in one step of the kernel: none can fork away from it.
func (w *warden) signalAll(signal unix.Signal) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.leader == 0 {
		return // What this order was for has ended.
	}
	w.ending = true
	_ = unix.Kill(-1, signal)
	if signal != unix.SIGKILL {
		_ = unix.Kill(-1, unix.SIGCONT) // A stopped process would never hear it.
	}
}

// run runs commands on one thread, which has given away what no command may have.
func (w *warden) run(commands <-chan order) {
	runtime.LockOSThread()
	if err := renounce(); err != nil {
		_ = w.socket.send(frameReady, []byte(err.Error()), -1)
		os.Exit(1)
	}
	giveBackMemory()
	w.inherits = inherits()
	if w.socket.send(frameReady, nil, -1) != nil {
		os.Exit(0)
	}
	for one := range commands {
		w.runOne(one)
	}
}
