package cell

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Kind says which namespaces a cell has.
type Kind int

// The kinds of cells, the better one first.
const (
	Users     Kind = iota // commands run as a user of their own; the program must be root
	Namespace             // commands run as the program's user in a user namespace that maps nobody else
)

// Options say what a cell is.
type Options struct {
	Kind    Kind
	User    int    // of commands, for kind Users
	View    View   // of the machine
	Offline bool   // a network of its own, which leads nowhere
	Leash   string // one more variable of the cell's environment: NAME=value
	Cgroup  int    // descriptor of the version 2 cgroup that it starts in; 0 for none
}

// Cell is a cell that is ready for a command.
type Cell struct {
	process *os.Process
	file    *os.File
	link    link
	ended   chan struct{}

	mu      sync.Mutex
	running bool
	closed  bool
}

// Open starts a cell and returns when its view is made. What it needs beyond its start is told to it by enter, which is
// called between its start and its first step.
func Open(o Options, enter func(pid int) error) (*Cell, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer func() { _ = theirs.Close() }()
	c := &Cell{file: ours, link: link{file: -1}, ended: make(chan struct{})}
	if err := c.start(o, theirs); err != nil {
		_ = ours.Close()
		return nil, err
	}
	err = enter(c.PID())
	if err == nil {
		err = c.prepare(o)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func socketPair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	if err := unix.SetNonblock(fds[0], true); err != nil { // a thread of the program waits for no cell
		return nil, nil, errors.Join(os.NewSyscallError("fcntl", err), unix.Close(fds[0]), unix.Close(fds[1]))
	}
	return os.NewFile(uintptr(fds[0]), "cell"), os.NewFile(uintptr(fds[1]), "program"), nil
}

// start starts this program again as the first process of the namespaces.
func (c *Cell) start(o Options, theirs *os.File) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { _ = null.Close() }()
	files := []*os.File{null, null, os.Stderr, theirs}
	if o.Kind == Users {
		ids, err := idMap(os.Geteuid(), os.Getegid(), o.User)
		if err != nil {
			return err
		}
		defer func() { _ = ids.Close() }()
		files = append(files, ids)
	}
	c.process, err = os.StartProcess(self, []string{os.Args[0], Argument}, &os.ProcAttr{
		Env: environment(o.Leash), Dir: "/", Files: files, Sys: attributes(o),
	})
	if err != nil {
		return fmt.Errorf("cannot start a cell: %w", err)
	}
	go func() {
		_, _ = c.process.Wait() // how it ended is of no interest: it is over
		close(c.ended)
	}()
	return nil
}

const self = "/proc/self/exe"

// environment is that of a cell, which does one thing at a time and keeps nothing.
func environment(leash string) []string {
	return []string{Variable + "=1", "GOMAXPROCS=2", "GOGC=50", "GODEBUG=asyncpreemptoff=1", leash}
}

func attributes(o Options) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{
		Setsid:     true,
		Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWIPC,
	}
	if o.Offline {
		a.Cloneflags |= unix.CLONE_NEWNET
	}
	if o.Cgroup > 0 {
		a.UseCgroupFD, a.CgroupFD = true, o.Cgroup
	}
	if o.Kind == Namespace {
		a.Cloneflags |= unix.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
		a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP, unix.CAP_KILL, unix.CAP_NET_ADMIN}
	}
	return a
}

// idMap makes a user namespace that shows the program's own files as those of a user. The process that it is made with is
// killed before it does anything.
func idMap(owner, group, user int) (*os.File, error) {
	pid, err := syscall.ForkExec(self, []string{os.Args[0], Argument}, &syscall.ProcAttr{Dir: "/", Env: []string{}, Sys: &syscall.SysProcAttr{
		Setsid: true, Cloneflags: unix.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: owner, HostID: user, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: group, HostID: user, Size: 1}},
	}})
	if err != nil {
		return nil, fmt.Errorf("cannot map the ids of user %d: %w", user, err)
	}
	defer func() {
		_ = unix.Kill(pid, unix.SIGKILL)
		_, _ = unix.Wait4(pid, nil, 0, nil)
	}()
	return os.Open("/proc/" + strconv.Itoa(pid) + "/ns/user")
}

// setup is what a cell is told before anything else.
type setup struct {
	View View
	User int // that commands run as; -1 for the cell's own
}

// readyTime bounds the start of a cell.
const readyTime = 30 * time.Second

// prepare tells the cell what it is and waits until it is that.
func (c *Cell) prepare(o Options) error {
	s := setup{View: o.View, User: -1}
	if o.Kind == Users {
		s.User = o.User
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := c.send(frameReady, text, -1); err != nil {
		return err
	}
	late := time.AfterFunc(readyTime, c.kill)
	defer late.Stop()
	kind, said, err := c.receive()
	switch {
	case err != nil:
		return fmt.Errorf("the cell ended while it was made: %w", err)
	case kind != frameReady:
		return fmt.Errorf("the cell said %q, expected that it is ready", kind)
	case len(said) > 0:
		return errors.New(string(said))
	}
	return nil
}

// PID is the cell's own process.
func (c *Cell) PID() int { return c.process.Pid }

// StartError is why a command could not be started.
type StartError struct {
	Errno syscall.Errno // 0 when it is not the kernel's answer to the start itself
	Text  string
}

func (e *StartError) Error() string { return e.Text }

// Unwrap gives the kernel's answer.
func (e *StartError) Unwrap() error {
	if e.Errno == 0 {
		return nil
	}
	return e.Errno
}

// Start starts a command whose output goes to a file, which the caller closes. One command runs at a time; Wait must be
// called after each.
func (c *Cell) Start(command Command, output int) error {
	if err := c.send(frameRun, command.encode(), output); err != nil {
		return fmt.Errorf("the cell is gone: %w", err)
	}
	kind, said, err := c.receive()
	if err != nil || kind != frameStarted {
		return fmt.Errorf("the cell is gone: %w", firstOf(err, errFrame))
	}
	if len(said) > 0 {
		d := decoder{b: said}
		return &StartError{Errno: syscall.Errno(d.number()), Text: d.text()}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = true
	return nil
}

// Wait returns when nothing of the command is left. An error means that the cell ended, and everything in it.
func (c *Cell) Wait() (Exit, error) {
	kind, body, err := c.receive()
	c.mu.Lock()
	c.running = false
	c.mu.Unlock()
	if err == nil && kind != frameExit {
		err = errFrame
	}
	if err != nil {
		c.Close()
		return Exit{}, fmt.Errorf("the cell ended: %w", err)
	}
	return decodeExit(body)
}

// Term asks everything that runs to end.
func (c *Cell) Term() { c.order(frameTerm) }

// Kill kills everything that runs.
func (c *Cell) Kill() { c.order(frameKill) }

func (c *Cell) order(kind byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running {
		_ = c.send(kind, nil, -1) // a cell that does not hear has ended
	}
}

// send writes a frame, with an open file beside it unless that is negative.
func (c *Cell) send(kind byte, payload []byte, file int) error {
	conn, err := c.file.SyscallConn()
	if err != nil {
		return err
	}
	rest := frame(kind, payload)
	failed := conn.Write(func(fd uintptr) bool {
		before := len(rest)
		rest, err = (&link{fd: int(fd)}).write(rest, file)
		if len(rest) < before {
			file = -1
		}
		return err != unix.EAGAIN //nolint:errorlint // a system call returns the number itself
	})
	return firstOf(failed, os.NewSyscallError("sendmsg", err))
}

// receive waits for a frame.
func (c *Cell) receive() (kind byte, body []byte, err error) {
	conn, err := c.file.SyscallConn()
	if err != nil {
		return 0, nil, err
	}
	failed := conn.Read(func(fd uintptr) bool {
		c.link.fd = int(fd)
		kind, body, _, err = c.link.receive()
		return err != unix.EAGAIN //nolint:errorlint // a system call returns the number itself
	})
	return kind, body, firstOf(failed, err)
}

func (c *Cell) kill() { _ = c.process.Kill() }

// Close ends the cell and everything in it, and returns when that is gone.
func (c *Cell) Close() {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	c.closed = true
	c.mu.Unlock()
	c.kill()
	<-c.ended
	_ = c.file.Close()
}
