package publisher

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// work is one try at one step.
type work struct {
	*publisher
	run    release.RunID
	want   event.PublicationRequested
	stored time.Time
	seq    uint64
	done   event.PublicationAdvanced
}

// look is how soon a commit comes again that waits for a person or for another run.
const look = 2 * time.Second

// make opens what was tested, and nothing else, and lets the target make the step.
func (w *work) make(ctx context.Context) error {
	if may := w.book.permit(w.run, w.want, w.deps.Now()); may.gone || may.made {
		return errGone
	}
	r, t, err := w.open(ctx, w.run, w.want)
	if err != nil {
		return err
	}
	leave := w.lanes.enter(r.Project+" "+t.Name, string(w.run)+" "+string(w.want.State), w.deps.Now())
	if leave == nil {
		return fmt.Errorf("other steps of target %s are under way: %w", t.Name, bus.Again(laneFull))
	}
	defer leave()
	target, err := Open(t, Setup{Temp: w.config.Temp, Root: w.config.Root, Now: w.deps.Now}, w.granted(r, t))
	if err != nil {
		return err
	}
	return w.perform(ctx, target, r)
}

func (w *work) perform(ctx context.Context, target Target, r Release) error {
	switch w.want.State {
	case release.Probed:
		probe, err := ask(ctx, target, r)
		w.done.Files, w.done.Shared, w.done.Detail = published(probe), probe.Shared, probe.String()
		return err
	case release.Staged:
		return target.Stage(ctx, r)
	case release.Committed:
		return w.commit(ctx, target, r)
	case release.Verified:
		return w.verify(ctx, target, r)
	case release.Undone:
		return w.undo(ctx, target, r)
	default:
		return fault.New(fault.Invalid, "cannot bring target %q to state %q: the states are %v", w.want.Target, w.want.State, release.PublicationStates())
	}
}

// commit makes the release visible, if that is still allowed. The answer is as new as the stream.
func (w *work) commit(ctx context.Context, target Target, r Release) error {
	leave, err := w.permitted(ctx)
	if err != nil {
		return err
	}
	if w.book.permit(w.run, w.want, w.deps.Now()).made {
		return errGone
	}
	if r.Leave = leave; len(leave) > 0 {
		w.done.Detail = "a run that was pushed later has " + strings.Join(leave, ", ")
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go w.book.stopped(ctx, w.run, stop)
	err = target.Commit(ctx, r)
	var stopped *stoppedError
	if err != nil && errors.As(context.Cause(ctx), &stopped) {
		return stopped
	}
	return err
}

// stoppedError ends a commit that was under way: what it had made visible by then is visible.
type stoppedError struct{ why string }

func (e *stoppedError) Error() string {
	return "it was stopped on the way, a part may be visible: " + e.why
}

// undo takes back what the release has made visible, unless somebody has thought better of it.
func (w *work) undo(ctx context.Context, target Target, r Release) error {
	if err := w.current(ctx, w.run); err != nil {
		return err
	}
	if err := w.book.reach(ctx, w.seq); err != nil {
		return err
	}
	if may := w.book.permit(w.run, w.want, w.deps.Now()); may.gone || may.made {
		return errGone
	}
	r.Had = w.book.had(w.run, w.want)
	return target.(undoer).Undo(ctx, r)
}

// permitted decides on current facts whether the release may be made visible now, and which names it leaves alone.
func (w *work) permitted(ctx context.Context) ([]string, error) {
	if err := w.current(ctx, w.run); err != nil {
		return nil, err
	}
	if err := w.book.reach(ctx, w.seq); err != nil {
		return nil, err
	}
	want := w.want
	want.State = release.Committed
	switch may := w.book.permit(w.run, want, w.deps.Now()); {
	case may.gone:
		return nil, errGone
	case may.refuse != "":
		return nil, &refused{may.refuse}
	case may.wait != "":
		return nil, fmt.Errorf("%s: %w", may.wait, bus.Again(look))
	default:
		return may.leave, nil
	}
}

// verify looks at what users see. What was accepted and cannot be seen is sent again: at once when a person asked, else after
// the time that pages need. Sending the same bytes again changes nothing where they are.
func (w *work) verify(ctx context.Context, target Target, r Release) error {
	if err := w.current(ctx, w.run); err != nil {
		return err
	}
	r.Leave = w.book.permit(w.run, w.want, w.deps.Now()).leave
	err := target.Verify(ctx, r)
	if !fault.Is(err, fault.Transient) || !w.overdue() {
		return err
	}
	leave, forbidden := w.permitted(ctx)
	if forbidden != nil {
		return err
	}
	r.Leave = leave
	if again := target.Commit(ctx, r); again != nil {
		return fmt.Errorf("%w; sending it again: %w", err, again)
	}
	return target.Verify(ctx, r)
}

func (w *work) overdue() bool {
	return w.book.repeated(w.run, w.want) || w.deps.Now().Sub(w.stored) >= w.config.Recommit
}
