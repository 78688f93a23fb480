package planner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/sluiceci/sluice/pkg/definition"
)

// The memory of a worker. The collector works harder from the first on; what needs more than the second ends the process.
const (
	memoryGoal  = 512 << 20
	memoryLimit = 1 << 30
)

// largeJob is a text or a plan after which a worker gives its memory back.
const largeJob = 4 << 20

// Serve is a worker's life: jobs come on in, questions and plans go to out, until in ends. However busy the worker is, it
// ends when in does: the process that started it is gone then.
func Serve(ctx context.Context, in io.Reader, out io.Writer, here Here) error {
	debug.SetMemoryLimit(memoryGoal)
	if err := limitMemory(memoryLimit); err != nil {
		return fmt.Errorf("cannot limit the memory of the planner: %w", err)
	}
	ctx, gone := context.WithCancelCause(ctx)
	w := &worker{in: make(chan message), out: out}
	go w.listen(in, gone)
	done := make(chan error, 1)
	go func() { done <- w.work(ctx, here) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	if err := context.Cause(ctx); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

type worker struct {
	in  chan message
	out io.Writer
}

func (w *worker) listen(in io.Reader, gone context.CancelCauseFunc) {
	for {
		m, err := read(in)
		if err != nil {
			gone(err)
			return
		}
		w.in <- m
	}
}

func (w *worker) work(ctx context.Context, here Here) error {
	for {
		m, err := w.hear(ctx)
		if err != nil {
			return err
		}
		if m.Job == nil {
			return errors.New("expected a job")
		}
		if err := write(w.out, message{End: w.plan(ctx, here, *m.Job)}); err != nil {
			return err
		}
		if len(m.Job.Text) > largeJob {
			debug.FreeOSMemory()
		}
	}
}

func (w *worker) hear(ctx context.Context) (message, error) {
	select {
	case m := <-w.in:
		return m, nil
	case <-ctx.Done():
		return message{}, context.Cause(ctx)
	}
}

func (w *worker) plan(ctx context.Context, here Here, job Job) *end {
	outcome, err := here.Plan(ctx, job, w)
	var problems definition.Errors
	if errors.As(err, &problems) {
		return &end{Problems: problems}
	}
	return &end{Outcome: outcome, Failed: failureOf(err)}
}

func (w *worker) ask(ctx context.Context, a ask) (message, error) {
	if err := write(w.out, message{Ask: &a}); err != nil {
		return message{}, err
	}
	m, err := w.hear(ctx)
	if err == nil {
		err = m.Failed.err()
	}
	return m, err
}

// Glob implements definition.Loader.
func (w *worker) Glob(ctx context.Context, repo definition.Repo, glob string) ([]string, error) {
	m, err := w.ask(ctx, ask{What: "glob", Repo: repo, Name: glob})
	return m.Names, err
}

// Read implements definition.Loader.
func (w *worker) Read(ctx context.Context, repo definition.Repo, name string, limit int64) ([]byte, error) {
	m, err := w.ask(ctx, ask{What: "read", Repo: repo, Name: name, Limit: limit})
	return m.Text, err
}

// Request implements Host.
func (w *worker) Request(ctx context.Context) (definition.Request, error) {
	m, err := w.ask(ctx, ask{What: "request"})
	if err == nil && m.Request == nil {
		err = errors.New("expected a request")
	}
	if err != nil {
		return definition.Request{}, err
	}
	return *m.Request, nil
}

// Answers implements Host.
func (w *worker) Answers(ctx context.Context, questions []definition.Question) (map[string]string, error) {
	m, err := w.ask(ctx, ask{What: "answers", Questions: questions})
	return m.Answers, err
}
