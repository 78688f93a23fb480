package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/sluiceci/sluice/pkg/dialect/ray/outcome"
	"github.com/sluiceci/sluice/pkg/dialect/ray/wrapper"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// wrapping does what the wrapper's rules decide.
type wrapping struct {
	config    wrapper.Config
	command   []string
	out, talk io.Writer
	json      bool
	heard     <-chan os.Signal
	after     func(time.Duration) <-chan time.Time
	grace     time.Duration
	results   string
	seed      uint64

	state wrapper.State
}

// run follows the rules to their end and exits as they say.
//
// It listens to signals and not to the command's context: main's context ends by the same signals and does not say by
// which.
func (w *wrapping) run() error {
	w.talk = inTurn(w.talk)
	waited := false
	for {
		w.listen()
		step := wrapper.Next(w.config, w.state, w.seed, waited)
		waited = false
		switch step.Do {
		case wrapper.Run:
			if err := w.attempt(step); err != nil {
				return exitWith(exitError, err)
			}
		case wrapper.Wait:
			waited = w.wait(step)
		default:
			w.report(step)
			return exitWith(int(step.Code), nil)
		}
	}
}

// inTurn lets the command and the wrapper write to one place that is no file, which takes care of itself.
func inTurn(w io.Writer) io.Writer {
	if _, ok := w.(*os.File); ok {
		return w
	}
	return &turns{w: w}
}

type turns struct {
	mu sync.Mutex
	w  io.Writer
}

func (t *turns) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.w.Write(p)
}

// listen takes what was heard while nothing ran: a signal that came as an attempt ended cancels the run too.
func (w *wrapping) listen() {
	for {
		select {
		case s := <-w.heard:
			if cancels(s) && w.state.Signal == 0 {
				w.state.Signal = number(s)
			}
		default:
			return
		}
	}
}

// wait says why and until when, and lets itself be interrupted.
func (w *wrapping) wait(step wrapper.Step) bool {
	until := time.Now().Add(step.Wait).Format(time.TimeOnly)
	_, _ = fmt.Fprintf(w.talk, "sluice: attempt %d of %d begins in %s, at %s: %s\n", step.Attempt, w.config.Attempts, step.Wait, until, step.Why)
	over := w.after(step.Wait)
	for {
		select {
		case <-over:
			return true
		case s := <-w.heard:
			if cancels(s) {
				w.state.Signal = number(s)
				return false
			}
		}
	}
}

// attempt runs the command once.
func (w *wrapping) attempt(step wrapper.Step) error {
	if err := emptyResults(w.results); err != nil {
		return err
	}
	cmd := exec.Command(w.command[0], w.command[1:]...)
	cmd.Stdout, cmd.Stderr = w.out, w.talk
	cmd.Env = append(os.Environ(), w.config.ChildEnv()...)
	end, err := household{heard: w.heard, grace: w.grace, talk: w.talk}.run(cmd, func(pid int) {
		_, _ = fmt.Fprintf(w.talk, "sluice: attempt %d of %d is process %d: %s\n", step.Attempt, w.config.Attempts, pid, step.Why)
	})
	if err != nil {
		return err
	}
	w.state.Signal = end.heard
	w.state.Attempts = append(w.state.Attempts, wrapper.Attempt{Code: outcome.Code(end.code), Signal: end.signal, Took: end.took})
	return nil
}

// emptyResults removes what an earlier attempt left in the directory, and never the directory itself.
func emptyResults(dir string) error {
	if dir == "" {
		return nil
	}
	if err := refuseAncestor(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fault.New(fault.Invalid, "cannot make the directory of results: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fault.New(fault.Invalid, "cannot open the directory of results: %w", err)
	}
	defer func() { _ = root.Close() }()
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		err = errors.Join(err, root.RemoveAll(e.Name()))
	}
	if err != nil {
		return fault.New(fault.Transient, "cannot empty the directory of results %s: %w", dir, err)
	}
	return nil
}

// refuseAncestor refuses a directory that holds the one that the command runs in.
func refuseAncestor(dir string) error {
	here, err := os.Getwd()
	if err != nil {
		return fault.New(fault.Invalid, "cannot tell the working directory: %w", err)
	}
	there, err := filepath.Abs(dir)
	if err == nil {
		if real, linked := filepath.EvalSymlinks(there); linked == nil {
			there = real
		}
	}
	if rel, relErr := filepath.Rel(there, here); err != nil || relErr != nil || rel == "." || !strings.HasPrefix(rel, "..") {
		return fault.New(fault.Invalid, "cannot empty %s before each attempt: the command runs in it; name a directory of its own with --results", dir)
	}
	return nil
}

// report is the table of attempts, and what the last means.
func (w *wrapping) report(end wrapper.Step) {
	if w.json {
		w.reportJSON(end)
		return
	}
	_, _ = fmt.Fprintf(w.talk, "\nsluice: %s\n", plural(len(w.state.Attempts)))
	table := tabwriter.NewWriter(w.talk, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "ATTEMPT\tEXIT\tTOOK\tREASON\tCLASS")
	for i, a := range w.state.Attempts {
		_, _ = fmt.Fprintf(table, "%d\t%d\t%s\t%s\t%s\n", i+1, a.Code, a.Took.Round(time.Millisecond), outcome.Reason(a.Code), outcome.Of(a.Code).Class)
	}
	_ = table.Flush()
	_, _ = fmt.Fprintf(w.talk, "%s\nRELEASE MANAGER: %s\n", end.Why, end.Advice())
}

// wrapRecord is the report as data.
type wrapRecord struct {
	Attempts []wrapAttempt   `json:"attempts"`
	Exit     int             `json:"exit"`
	Class    release.Class   `json:"class"`
	Outcome  release.Outcome `json:"outcome"`
	Why      string          `json:"why"`
	Advice   string          `json:"advice"`
}

type wrapAttempt struct {
	Exit   int           `json:"exit"`
	Signal int           `json:"signal,omitempty"`
	TookS  float64       `json:"took_s"`
	Reason string        `json:"reason"`
	Class  release.Class `json:"class"`
}

func (w *wrapping) reportJSON(end wrapper.Step) {
	r := wrapRecord{Attempts: []wrapAttempt{}, Exit: int(end.Code), Class: end.Class, Outcome: end.Class.Outcome(), Why: end.Why, Advice: end.Advice()}
	for _, a := range w.state.Attempts {
		r.Attempts = append(r.Attempts, wrapAttempt{int(a.Code), a.Signal, a.Took.Seconds(), outcome.Reason(a.Code), outcome.Of(a.Code).Class})
	}
	line, err := json.Marshal(r)
	if err == nil {
		_, _ = fmt.Fprintf(w.talk, "%s\n", line)
	}
}
