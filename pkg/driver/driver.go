package driver

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"
)

// Driver is a place where attempts run.
type Driver interface {
	// Start runs a command until it ends or ctx does. When ctx is done the process is asked to end and, Spec.Grace
	// later, killed; the cause of ctx becomes Exit.Cause. An error is fault.Invalid when this command can never start
	// and fault.Transient when this machine cannot start it now.
	Start(ctx context.Context, spec Spec) (Process, error)
}

// Site is a driver as an executor holds it: opened once, swept before the first Start, closed at the end.
type Site interface {
	Driver
	// Sweep ends and removes what earlier instances of this site left behind, and what anybody's has passed its expiry,
	// and says how many things that were. Call it before the first Start, and then now and again.
	Sweep(ctx context.Context) (int, error)
	// Close ends what still runs and lets go of everything.
	Close() error
}

// Process is a command that was started.
type Process interface {
	// ID names the process for people, within its driver: "local:4711".
	ID() string
	// Wait blocks until the command has ended, its output is written and all its descendants are gone. It may be
	// called more than once and always says the same.
	Wait() Exit
}

// Spec is what to run.
type Spec struct {
	Args   []string          // the command; its first word is looked up in PATH unless it holds a slash
	Dir    string            // working directory, absolute
	Home   string            // HOME and TMPDIR unless Env has them; Dir when empty
	Env    map[string]string // all that the command sees beside PATH, HOME, TMPDIR and LANG
	Output io.Writer         // standard output and error in the order written; nil drops them. Never called twice at once
	Grace  time.Duration     // between SIGTERM and SIGKILL; DefaultGrace when 0, none when negative
	Drain  time.Duration     // how long output may be held open by others after the end; DefaultDrain when 0

	// Root is the tree that the command may write to and finds at the same path wherever it runs; Dir and Home lie in
	// it. Dir when empty. A place that is not this machine gets a copy and sends back what became of it.
	Root    string
	Mounts  []Mount           // other trees that it may see
	Image   string            // what a container is made of, best by digest: "ghcr.io/acme/build@sha256:…"; the driver's own when empty
	Network bool              // whether it may reach the network, where the driver can withhold it
	Limits  Limits            // what it may use
	Labels  map[string]string // whose it is, for people and sweepers: run, task, attempt
}

// Mount is a tree of this machine that a command may see.
type Mount struct {
	Source   string // absolute
	Target   string // where the command sees it; Source when empty. Local can show it nowhere else
	Writable bool
}

// At is where the command sees it.
func (m Mount) At() string { return cmp.Or(m.Target, m.Source) }

// Limits are what a command may use; a zero is no limit. docs/operate/drivers.md says which driver holds which, and how.
type Limits struct {
	CPU       float64       `yaml:"cpu"`       // processors at a time
	CPUTime   time.Duration `yaml:"cpu_time"`  // of one process
	Memory    int64         `yaml:"memory"`    // bytes
	Processes int64         `yaml:"processes"` // and threads, at a time
	FileSize  int64         `yaml:"file_size"` // bytes of the largest file that it may write
}

// Or fills what is not limited with the limits of another.
func (l Limits) Or(other Limits) Limits {
	return Limits{
		CPU: cmp.Or(l.CPU, other.CPU), CPUTime: cmp.Or(l.CPUTime, other.CPUTime), Memory: cmp.Or(l.Memory, other.Memory),
		Processes: cmp.Or(l.Processes, other.Processes), FileSize: cmp.Or(l.FileSize, other.FileSize),
	}
}

// What a Spec that says nothing gets.
const (
	DefaultGrace = 10 * time.Second
	DefaultDrain = time.Second
)

// Trees are the directories that the command may write to: Root and, as far as they do not lie in it, Dir and Home.
func (s Spec) Trees() []string {
	var trees []string
	for _, dir := range []string{s.Root, s.Home, s.Dir} {
		if dir != "" && !slices.ContainsFunc(trees, func(tree string) bool { return Within(dir, tree) }) {
			trees = append(trees, filepath.Clean(dir))
		}
	}
	return trees
}

// Within reports whether a path is a directory or lies in it.
func Within(path, dir string) bool {
	relative, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(relative)
}

// Patience is how long the command has between SIGTERM and SIGKILL.
func (s Spec) Patience() time.Duration {
	if s.Grace == 0 {
		return DefaultGrace
	}
	return max(0, s.Grace)
}

// DrainTime is how long output may be held open after the end.
func (s Spec) DrainTime() time.Duration {
	if s.Drain <= 0 {
		return DefaultDrain
	}
	return s.Drain
}

// Exit says how a process ended.
type Exit struct {
	Code      int           // exit status; -1 when a signal ended it
	Signal    string        // the signal that ended it: "killed", "terminated"
	Cause     error         // why the driver ended it; nil when it ended by itself
	Started   time.Time     //
	Ended     time.Time     // of the command itself, before its descendants were cleaned away
	User      time.Duration // CPU time of the command and the descendants it waited for
	System    time.Duration
	MaxRSS    int64  // bytes, of the largest of them
	Leftovers int    // descendants that outlived it and were killed
	Memory    bool   // it went beyond Limits.Memory and the kernel killed a part of it
	Image     string // what the container was made of, by digest
	Truncated bool   // somebody still held the output open: what came later is lost
	Err       error  // what the driver could not do: write the output, kill a descendant
}

// OK reports whether the command ended by itself with status 0.
func (e Exit) OK() bool { return e.Code == 0 && e.Cause == nil }

// String tells it in a few words: "exit status 2", "killed: timeout after 10m".
func (e Exit) String() string {
	text := fmt.Sprintf("exit status %d", e.Code)
	if e.Signal != "" {
		text = "signal: " + e.Signal
	}
	if e.Memory && !e.OK() {
		text += ": out of memory"
	}
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}
