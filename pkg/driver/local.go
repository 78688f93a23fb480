//go:build unix

package driver

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// LocalOptions configure Local.
type LocalOptions struct {
	Place string       // the executor's directory: processes of earlier instances of the same place are ours to kill
	Path  string       // PATH of commands that state none; the executor's own when empty
	Log   *slog.Logger // the default logger when nil

	// Sandbox is "bubblewrap", which shows commands the system's programs and nothing else of this machine, with /tmp, processes
	// and a network of their own; or empty.
	Sandbox string

	Isolation string   // IsolationAuto, IsolationRequired or IsolationNone
	Cells     bool     // commands run in cells, which are this program started again; otherwise on leashes
	Warm      int      // cells that wait for commands from the start: those that run at a time, and one that is being cleared
	Users     Users    // that commands run as where the executor is root; a range of its own when empty
	Hide      []string // the platform's files and directories, which do not exist for commands
	Show      []Mount  // what commands see although it is hidden, or may write to
	Network   string   // "none" for commands without a network; they share the machine's when empty
}

// How commands are isolated where there is no sandbox.
const (
	IsolationAuto     = ""         // as far as the machine can
	IsolationRequired = "required" // or not at all
	IsolationNone     = "none"     // they run as the platform's user and see what it sees
)

// Local runs commands as processes of this machine.
type Local struct {
	place    string // prefix of the leashes of every instance of this place
	instance string // prefix of the leashes of this instance
	session  int    // of this process
	outer    string // the leash that this executor itself is on, when it runs within an attempt
	dir      string // of the place
	resolved string // the same without links
	path     string
	sandbox  string   // the program that makes one; none when empty
	filter   *os.File // of system calls in a sandbox; nil for none
	shown    []Mount  // what a sandbox shows beside the system's programs
	log      *slog.Logger
	count    atomic.Int64
	null     *os.File
	watchdog *watchdog
	leaders  leaders
	programs programs
	buffers  sync.Pool

	cells     *cells // nil where commands are not isolated
	isolation Isolation
}

// NewLocal makes a driver. It must be closed.
func NewLocal(o LocalOptions) (*Local, error) {
	place, err := filepath.Abs(o.Place)
	if err != nil {
		return nil, fault.New(fault.Internal, "cannot name the place %q: %w", o.Place, err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, fault.New(fault.Internal, "cannot open the null device: %w", err)
	}
	l := &Local{
		place: release.Derive("place", place)[:12] + "-",
		outer: os.Getenv(leashVariable),
		dir:   place,
		path:  o.Path,
		log:   o.Log,
		null:  null,
	}
	l.instance = l.place + rand.Text()[:12] + "-"
	if l.path == "" {
		l.path = os.Getenv("PATH")
	}
	if l.log == nil {
		l.log = slog.Default()
	}
	l.shown = o.Show
	if err := l.openSandbox(o.Sandbox); err != nil {
		_ = null.Close()
		return nil, err
	}
	if l.session, err = unix.Getsid(0); err != nil {
		_ = null.Close()
		return nil, fault.New(fault.Internal, "cannot tell the session of this process: %w", err)
	}
	l.buffers.New = func() any { return new([bufferSize]byte) }
	if l.resolved, err = filepath.EvalSymlinks(l.dir); err != nil {
		l.resolved = l.dir
	}
	if err := l.openIsolation(o); err != nil {
		_ = null.Close()
		return nil, err
	}
	if l.cells == nil { // Cells end with this process.
		l.watchdog = startWatchdog(l.instance, l.outer, l.log)
	}
	return l, nil
}

// Close ends the driver. Processes that still run are killed.
func (l *Local) Close() error {
	for _, p := range l.leaders.all() {
		p.end(errClosed, 0)
	}
	for _, p := range l.leaders.all() {
		p.Wait()
	}
	l.cells.close()
	if l.watchdog != nil {
		l.watchdog.stop()
	}
	if l.filter != nil {
		_ = l.filter.Close()
	}
	return l.null.Close()
}

var errClosed = fault.New(fault.Transient, "the driver was closed")

// Start implements Driver.
func (l *Local) Start(ctx context.Context, spec Spec) (Process, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, fault.New(fault.Transient, "cannot start a process: %w", err)
	}
	for _, m := range spec.Mounts {
		if l.sandbox == "" && l.cells == nil && m.At() != m.Source {
			return nil, fault.New(fault.Invalid, "cannot show %s at %s: without isolation it is seen where it is", m.Source, m.Target)
		}
	}
	p := &process{local: l, spec: spec, done: make(chan struct{})}
	p.leash = l.instance + strconv.FormatInt(l.count.Add(1), 10) + ","
	env := l.environ(spec, p.leash)
	program, err := l.programs.find(spec, env)
	if err != nil {
		return nil, err
	}
	if wrapped := l.sandbox != "" || spec.Limits.limited(); wrapped && !executable(from(spec.Dir, program)) {
		return nil, fault.New(fault.Invalid, "cannot start %s in %s: no such program", program, spec.Dir)
	}
	if err := p.start(program, env); err != nil {
		return nil, startError(spec, program, err)
	}
	p.unwatch = context.AfterFunc(ctx, func() { p.end(context.Cause(ctx), spec.Patience()) })
	if p.isolated() {
		go p.runInCell()
	} else {
		go p.run()
	}
	return p, nil
}

// Reclaim kills what earlier instances of this place left running and says how many processes that were. Call it
// before the first Start, and only when no other executor works in the same place.
func (l *Local) Reclaim(ctx context.Context) (int, error) {
	mine := func(environ []byte) bool {
		return contains(environ, l.place) && !contains(environ, l.instance)
	}
	killed, err := killAll(ctx, func() []int { return findMarked(mine) }, mine)
	if err != nil {
		return killed, fmt.Errorf("cannot clear %d processes that an earlier executor left: %w", killed, err)
	}
	return killed, nil
}

// Isolation implements Isolated.
func (l *Local) Isolation() Isolation { return l.isolation }

// Sweep implements Site.
func (l *Local) Sweep(ctx context.Context) (int, error) { return l.Reclaim(ctx) }

// leaders are the processes that were started here and have not been reaped yet.
type leaders struct {
	mu    sync.Mutex
	byPID map[int]*process
}

func (s *leaders) add(p *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byPID == nil {
		s.byPID = map[int]*process{}
	}
	s.byPID[p.pid] = p
}

func (s *leaders) remove(pid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byPID, pid)
}

func (s *leaders) has(pid int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byPID[pid] != nil
}

func (s *leaders) all() []*process {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*process, 0, len(s.byPID))
	for _, p := range s.byPID {
		list = append(list, p)
	}
	return list
}
