package builder

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"time"

	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/fetch"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/stamp"
)

const (
	lookEvery  = time.Second      // for orders to stop, while a download runs
	sayPause   = time.Second      // before a result that the stream did not store is said again
	sayTimeout = 30 * time.Second // for a result, when the builder ends
)

// download claims an attempt whose file is there, takes the file and says what it is. From the claim on the attempt is
// this builder's alone: its heartbeat names it, and if that stops the scheduler gives the attempt to another.
func (f *fetcher) download(ctx context.Context, cancel context.CancelCauseFunc, w *wait, body *fetch.Body) error {
	defer f.hold(w.ref, cancel)()
	mine, err := w.Claim(ctx, event.TaskStarted{
		Task: w.ref.Task, Attempt: w.ref.Attempt, Pool: release.FetchPool, Executor: f.deps.Instance,
	})
	if err != nil || !mine {
		return err
	}
	if err := w.Ack(); err != nil {
		f.deps.Log.Warn("cannot acknowledge an attempt that was claimed; its message will come again and be known", "err", err)
	}
	if limit := w.Data.Timeouts.Command.Std(); limit > 0 {
		var done context.CancelFunc
		late := &stopped{release.ClassInfraTimeout, fmt.Sprintf("it was there, and did not come down within %s", limit)}
		ctx, done = context.WithTimeoutCause(ctx, limit, late)
		defer done()
	}
	defer context.AfterFunc(ctx, func() { _ = body.Close() })()
	go f.obey(ctx, w.ref)
	return f.say(ctx, w, f.fetched(ctx, w, body))
}

// obey looks for orders to stop until the download ends.
func (f *fetcher) obey(ctx context.Context, ref event.AttemptRef) {
	same := func(other event.AttemptRef) bool { return other == ref }
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookEvery):
		}
		for _, order := range []event.Payload{
			event.TaskCancelRequested{Task: ref.Task, Attempt: ref.Attempt, Pool: release.FetchPool},
			event.TaskFinished{Task: ref.Task, Attempt: ref.Attempt, Pool: release.FetchPool},
		} {
			e, err := f.deps.Bus.Get(ctx, event.Root(ref.Run, Name, f.deps.Now(), order).Subject())
			if err != nil {
				continue // no order, or nobody to ask: the next look will tell
			}
			reason := "the attempt was declared ended"
			if p, is := e.Data.(event.TaskCancelRequested); is {
				reason = p.Reason
			}
			f.stop(same, release.ClassCancelled, reason)
			return
		}
	}
}

// say claims the result until the stream has it.
func (f *fetcher) say(ctx context.Context, w *wait, result event.TaskFinished) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sayTimeout)
	defer cancel()
	for {
		_, err := w.Claim(ctx, result)
		if err == nil || !fault.Is(err, fault.Transient) || ctx.Err() != nil {
			return err
		}
		f.deps.Log.Warn("cannot say a result; trying again", "task", result.Task, "err", err)
		select {
		case <-ctx.Done():
		case <-time.After(sayPause):
		}
	}
}

// fetched takes the file and checks it, and is the attempt's result.
func (f *fetcher) fetched(ctx context.Context, w *wait, body *fetch.Body) event.TaskFinished {
	result, start := f.result(w), f.deps.Now()
	artifact, err := f.keep(ctx, w, body)
	if err == nil {
		err = f.check(ctx, w, artifact)
	}
	took := f.deps.Now().Sub(start)
	result.Phases = []event.Phase{{Name: "command", Start: start.UTC(), Took: release.Duration(took)}}
	result.Class, result.Reason = classOf(ctx, err)
	result.Outcome = result.Class.Outcome()
	if err != nil {
		return result
	}
	result.Artifacts = []release.Artifact{artifact}
	result.LastLines = []string{
		fmt.Sprintf("fetched %s in %s: %d bytes, %s", body.From, took.Round(time.Millisecond), artifact.Size, artifact.Digest),
	}
	if commit := w.task.Fetch.Commit; commit != "" {
		result.LastLines = append(result.LastLines, "it carries commit "+string(commit))
	}
	return result
}

// keep stores the bytes as they come, hashed on the way.
func (f *fetcher) keep(ctx context.Context, w *wait, body *fetch.Body) (release.Artifact, error) {
	out := w.task.Outputs[0]
	a := release.Artifact{
		Name: nameOf(w.task.Fetch.URL), Type: out.Type, Task: w.ref.Task, Job: w.task.Job, MediaType: out.MediaType,
		Stamped: out.Stamped, StampIn: out.StampIn, Matrix: w.task.Matrix,
	}
	var err error
	if a.Digest, a.Size, err = f.deps.Blobs.Put(ctx, body); err != nil {
		return a, fmt.Errorf("cannot take %s: %w", a.Name, err)
	}
	if want := w.task.Fetch.Digest; want != "" && a.Digest != want {
		return a, fault.New(fault.Invalid, "cannot take %s: its digest is %s, expected %s", a.Name, a.Digest, want)
	}
	return a, nil
}

// check looks for the commit in what was fetched, before anything is made or tested with it.
func (f *fetcher) check(ctx context.Context, w *wait, a release.Artifact) error {
	if w.task.Fetch.Commit == "" {
		return nil
	}
	open := func() (stamp.File, int64, error) { return blob.OpenAt(ctx, f.deps.Blobs, a.Digest) }
	return stamp.Check(ctx, a, open, w.task.Fetch.Commit)
}

// classOf is what an error of a download means. An order from outside wins over what went wrong because of it.
func classOf(ctx context.Context, err error) (release.Class, string) {
	var order *stopped
	switch {
	case err == nil:
		return release.ClassOK, ""
	case errors.As(context.Cause(ctx), &order):
		return order.class, order.reason
	case ctx.Err() != nil:
		return release.ClassLost, "the builder ends"
	case fault.Is(err, fault.Transient), fault.Is(err, fault.Internal):
		return release.ClassInfra, err.Error()
	default: // It is the file that is wrong.
		return release.ClassCommand, err.Error()
	}
}

// nameOf is the file's name: what its URL ends with.
func nameOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return path.Base(address)
	}
	return path.Base(u.Path)
}
