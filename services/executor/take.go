package executor

import (
	"context"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// take runs one attempt: claims it, acknowledges, runs it to its end and claims the result. ctx goes on for a while
// after the order to end (patience); until then the attempt itself is told by live.
func (e *executor) take(ctx context.Context, d *bus.Delivery[event.TaskDispatched]) error {
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a, err := e.register(event.AttemptRef{Run: d.Event.Run, Task: d.Data.Task, Attempt: d.Data.Attempt}, d.Event.Seq, cancel)
	if a == nil || err != nil {
		return err
	}
	defer e.release(a)
	if over, err := e.ended(ctx, d.Event, d.Data); over || err != nil {
		return err
	}
	claimed, err := d.Claim(ctx, event.TaskStarted{
		Task: d.Data.Task, Attempt: d.Data.Attempt, Pool: e.config.Pool, Executor: e.deps.Instance,
	})
	if err != nil || !claimed {
		return err // With no error another executor has it, and the message is done with.
	}
	e.start(a)
	if err := d.Ack(); err != nil {
		e.log.Warn("cannot acknowledge an attempt that was claimed; its message will come again and be known", "err", err)
	}
	return e.report(ctx, d, a.run(running, d.Data))
}

// report says the result until the stream has it. While there is no stream nothing else can be done either: the slot
// stays taken, and the heartbeat names the attempt as soon as it is heard again.
func (e *executor) report(ctx context.Context, d *bus.Delivery[event.TaskDispatched], result event.TaskFinished) error {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		mine, err := d.Claim(ctx, result)
		switch {
		case err == nil && !mine:
			e.log.Info("the attempt was declared ended before its result came; the result is dropped",
				"run", d.Event.Run, "task", result.Task, "attempt", result.Attempt, "class", result.Class)
			return nil
		case fault.Is(err, fault.Invalid):
			result = bare(result, err)
		case err == nil || !fault.Is(err, fault.Transient):
			return err
		}
		e.log.Warn("cannot say a result; trying again", "task", result.Task, "err", err, "pause", pause)
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}

// bare is a result without what makes it too large for the stream.
func bare(result event.TaskFinished, why error) event.TaskFinished {
	return event.TaskFinished{
		Task: result.Task, Attempt: result.Attempt, Pool: result.Pool, Executor: result.Executor, ExitCode: result.ExitCode,
		Class: release.ClassConfig, Outcome: release.ClassConfig.Outcome(), Log: result.Log, LogLines: result.LogLines,
		Reason: "cannot say the result: " + why.Error(),
	}
}
