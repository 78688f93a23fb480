//go:build unix

package driver

import (
	"errors"
	"io"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
)

// process is one command of Local.
//
// Its leader is reaped last, after every signal was sent: until then the kernel cannot give its id to anybody else,
// so that "kill the group" always means this group.
type process struct {
	local   *Local
	held    *held // the cell that it runs in; nil where it is not isolated
	spec    Spec
	leash   string
	pid     int
	pidfd   int // -1 where the system has none
	unwatch func() bool
	output  *os.File // read end of the pipe; nil when nobody listens
	copied  chan error
	done    chan struct{}
	exit    Exit // written before done is closed
	reaped  bool

	mu     sync.Mutex
	gone   bool        // reaped, or about to be: no more signals
	cause  error       // why it is being ended
	killer *time.Timer // ends the grace
	over   time.Time   // when the grace ends
}

// ID implements Process.
func (p *process) ID() string { return "local:" + strconv.Itoa(p.pid) }

// Wait implements Process.
func (p *process) Wait() Exit {
	<-p.done
	return p.exit
}

// start forks with one pipe for both outputs, so that their order is kept.
func (p *process) start(program string, env []string) error {
	if p.local.cells != nil {
		return p.startInCell(program, env)
	}
	program, args := p.wrapped(program)
	door, err := p.door()
	if err != nil {
		return err
	}
	defer door.open()
	out := p.local.null.Fd()
	if p.spec.Output != nil {
		r, w, err := outputPipe()
		if err != nil {
			return err
		}
		defer func() { _ = syscall.Close(w) }()
		p.output, out = r, uintptr(w)
	}
	p.pidfd = -1
	attr := &syscall.ProcAttr{Dir: p.spec.Dir, Env: env, Files: []uintptr{door.stdin, out, out}, Sys: attributes(&p.pidfd)}
	if p.local.filter != nil {
		file, err := again(p.local.filter)
		if err != nil {
			p.closeOutput()
			return err
		}
		defer func() { _ = file.Close() }()
		attr.Files = append(attr.Files, file.Fd())
	}
	p.exit.Started = time.Now()
	pid, err := syscall.ForkExec(program, args, attr)
	if err != nil {
		p.closeOutput()
		return err
	}
	p.pid = pid
	p.local.leaders.add(p)
	p.beginCopy()
	if err := p.spec.Limits.apply(pid); err != nil {
		p.end(fault.New(fault.Transient, "cannot limit process %d: %w", pid, err), 0)
	}
	return nil
}

func (p *process) beginCopy() {
	if p.output != nil {
		p.copied = make(chan error, 1)
		go func() { p.copied <- p.copyOutput() }()
	}
}

func (p *process) closeOutput() {
	if p.output != nil {
		_ = p.output.Close()
	}
}

// run sees the process through to its end.
func (p *process) run() {
	defer close(p.done)
	p.awaitExit()
	p.exit.Ended = time.Now()
	p.unwatch()
	p.awaitGrace()
	_ = syscall.Kill(-p.pid, syscall.SIGKILL)
	p.exit.Leftovers, p.exit.Err = p.sweep()
	if p.local.sandbox != "" {
		p.exit.Leftovers = max(0, p.exit.Leftovers-1) // The sandbox's own process 1 is nobody's daemon.
	}
	p.finish()
	p.reap()
	p.drain()
}

// end asks the group to end and kills it when the grace is over. The first cause is the one that is told.
func (p *process) end(cause error, grace time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone || (p.cause != nil && !time.Now().Add(grace).Before(p.over)) {
		return
	}
	if p.cause == nil {
		p.cause = cause
	}
	p.over = time.Now().Add(grace)
	if p.killer != nil {
		p.killer.Stop()
	}
	if grace == 0 {
		p.signal(syscall.SIGKILL)
		return
	}
	p.signal(syscall.SIGTERM)
	p.killer = time.AfterFunc(grace, p.kill)
}

func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.gone {
		p.signal(syscall.SIGKILL)
	}
}

// awaitGrace lets the rest of a group that was asked to end use its grace: a shell dies of SIGTERM at once, the test
// runner that it waited for still writes its report.
func (p *process) awaitGrace() {
	wait := time.Millisecond
	for {
		p.mu.Lock()
		left := time.Until(p.over)
		ending := p.cause != nil
		p.mu.Unlock()
		if !ending || left <= 0 || !p.groupAlive() {
			return
		}
		time.Sleep(min(wait, left))
		wait = min(2*wait, 20*time.Millisecond)
	}
}

// finish forbids further signals and writes down who ended it.
func (p *process) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone = true
	p.exit.Cause = p.cause
	if p.killer != nil {
		p.killer.Stop()
	}
	p.local.leaders.remove(p.pid)
}

// reap collects the leader, which has exited.
func (p *process) reap() {
	if p.reaped {
		return
	}
	p.reaped = true
	var status syscall.WaitStatus
	var usage syscall.Rusage
	err := error(syscall.EINTR)
	for errors.Is(err, syscall.EINTR) {
		_, err = syscall.Wait4(p.pid, &status, 0, &usage)
	}
	if err != nil {
		p.exit.Code = -1
		p.exit.Err = errors.Join(p.exit.Err, os.NewSyscallError("wait4", err))
		return
	}
	p.exit.Code = status.ExitStatus()
	if status.Signaled() {
		p.exit.Code, p.exit.Signal = -1, status.Signal().String()
	}
	if status.Signaled() && status.Signal() == deathSignal && p.exit.Cause == nil {
		p.exit.Cause = errThreadEnded
	}
	p.exit.User, p.exit.System = time.Duration(usage.Utime.Nano()), time.Duration(usage.Stime.Nano())
	p.exit.MaxRSS = int64(usage.Maxrss) * maxRSSUnit
}

// errThreadEnded is why a process ended for which nobody asked. It never happens unless something in this program locks
// goroutines to threads and lets both end.
var errThreadEnded = fault.New(fault.Transient, "the thread of the executor that had started it ended")

// drain waits for the end of the output, which comes at once unless somebody who escaped holds it open.
func (p *process) drain() {
	if p.output == nil {
		return
	}
	_ = p.output.SetReadDeadline(time.Now().Add(p.spec.DrainTime()))
	err := <-p.copied
	p.closeOutput()
	p.exit.Truncated = errors.Is(err, os.ErrDeadlineExceeded)
	if !p.exit.Truncated {
		p.exit.Err = errors.Join(p.exit.Err, err)
	}
}

// bufferSize is that of a pipe: one read can take all that waits.
const bufferSize = 64 << 10

// copyOutput reads until nobody holds the pipe. A writer that fails is told of at the end; the process must not
// block on it, so that its output is read on and dropped.
func (p *process) copyOutput() error {
	buffer := p.local.buffers.Get().(*[bufferSize]byte)
	defer p.local.buffers.Put(buffer)
	var failed error
	for {
		n, err := p.output.Read(buffer[:])
		if n > 0 && failed == nil {
			_, failed = p.spec.Output.Write(buffer[:n])
		}
		if errors.Is(err, io.EOF) {
			return failed
		}
		if err != nil {
			return err
		}
	}
}
