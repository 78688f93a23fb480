package planner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
)

// Options of Workers.
type Options struct {
	Command []string      // program and arguments of a process that runs Serve on its standard input and output
	Args0   string        // what the process takes for its own name; the program when empty
	Timeout time.Duration // that one plan may compute, beside what it waits for; DefaultTimeout when 0
	Keep    int           // processes that wait for work; 1 when 0
}

// DefaultTimeout is far above what the largest plan takes.
const DefaultTimeout = 20 * time.Second

// idleFor is how long a process beyond the first waits for work before it ends.
const idleFor = 30 * time.Second

// Workers makes plans in other processes.
type Workers struct {
	options Options

	mu     sync.Mutex
	idle   []*process // the last one was used last
	closed bool
}

// New makes a Workers; processes start when they are needed, or by Warm.
func New(o Options) *Workers {
	o.Timeout, o.Keep = cmp.Or(o.Timeout, DefaultTimeout), cmp.Or(o.Keep, 1)
	return &Workers{options: o}
}

// Warm starts the first process and, when ctx is done, ends those that wait.
func (w *Workers) Warm(ctx context.Context) error {
	p, err := w.take()
	if err != nil {
		return err
	}
	w.give(p)
	<-ctx.Done()
	w.Close()
	return nil
}

// Close ends the processes that wait for work. The others end when their plans do.
func (w *Workers) Close() {
	w.mu.Lock()
	idle := w.idle
	w.idle, w.closed = nil, true
	w.mu.Unlock()
	for _, p := range idle {
		p.end()
	}
}

// Plan makes the plan of a job as Here does. A plan that is late, or whose process ends, is an error of kind Invalid: the
// same definition would do it again.
func (w *Workers) Plan(ctx context.Context, job Job, host Host) (Outcome, error) {
	p, err := w.take()
	if err != nil {
		return Outcome{}, err
	}
	outcome, err := w.try(ctx, p, job, host)
	var died *died
	if !errors.As(err, &died) {
		return outcome, err
	}
	if p, err = w.start(); err != nil { // It may have been dead already, or ended by an accident of the machine.
		return Outcome{}, err
	}
	if outcome, err = w.try(ctx, p, job, host); errors.As(err, &died) {
		err = stopped("the process that plans it ends: %s", died.how)
	}
	return outcome, err
}

func (w *Workers) try(ctx context.Context, p *process, job Job, host Host) (Outcome, error) {
	c := &conversation{process: p, host: host, left: w.options.Timeout, timeout: w.options.Timeout}
	outcome, whole, err := c.plan(ctx, job)
	if whole {
		w.give(p)
	} else {
		p.kill()
	}
	return outcome, err
}

func (w *Workers) start() (*process, error) {
	p, err := start(w.options)
	if err != nil {
		return nil, fault.New(fault.Transient, "cannot start a process to plan in: %w", err)
	}
	return p, nil
}

// take returns the process that was used last, or a new one.
func (w *Workers) take() (*process, error) {
	w.mu.Lock()
	last := len(w.idle) - 1
	if last < 0 {
		w.mu.Unlock()
		return w.start()
	}
	p := w.idle[last]
	w.idle = w.idle[:last]
	w.mu.Unlock()
	if p.reaper != nil {
		p.reaper.Stop()
	}
	return p, nil
}

// give keeps a process for the next plan. Those beyond what is to be kept end after a while.
func (w *Workers) give(p *process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		go p.end()
		return
	}
	p.reaper = nil
	if len(w.idle) >= w.options.Keep {
		p.reaper = time.AfterFunc(idleFor, func() { w.reap(p) })
	}
	w.idle = append(w.idle, p)
}

// reap ends a process that still waits.
func (w *Workers) reap(p *process) {
	w.mu.Lock()
	i := slices.Index(w.idle, p)
	if i >= 0 {
		w.idle = slices.Delete(w.idle, i, i+1)
	}
	w.mu.Unlock()
	if i >= 0 {
		p.end()
	}
}

// died is the error of a process that ended before its plan did.
type died struct{ how string }

func (d *died) Error() string { return fmt.Sprintf("the process that plans ended: %s", d.how) }
