package driver

import (
	"context"
	"fmt"
	"io"
	"time"
)

// Driver is a place where attempts run.
type Driver interface {
	// Start runs a command until it ends or ctx does. When ctx is done the process is asked to end and, Spec.Grace
	// later, killed; the cause of ctx becomes Exit.Cause. An error is fault.Invalid when this command can never start
	// and fault.Transient when this machine cannot start it now.
	Start(ctx context.Context, spec Spec) (Process, error)
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
}

// What a Spec that says nothing gets.
const (
	DefaultGrace = 10 * time.Second
	DefaultDrain = time.Second
)

func (s Spec) grace() time.Duration {
	if s.Grace == 0 {
		return DefaultGrace
	}
	return max(0, s.Grace)
}

func (s Spec) drain() time.Duration {
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
	MaxRSS    int64 // bytes, of the largest of them
	Leftovers int   // descendants that outlived it and were killed
	Truncated bool  // somebody still held the output open: what came later is lost
	Err       error // what the driver could not do: write the output, kill a descendant
}

// OK reports whether the command ended by itself with status 0.
func (e Exit) OK() bool { return e.Code == 0 && e.Cause == nil }

// String tells it in a few words: "exit status 2", "killed: timeout after 10m".
func (e Exit) String() string {
	text := fmt.Sprintf("exit status %d", e.Code)
	if e.Signal != "" {
		text = "signal: " + e.Signal
	}
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}
