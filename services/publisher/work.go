package publisher

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
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
	tries  int32 // deliveries of the request, with this one
	done   event.PublicationAdvanced
}

// look is how soon a commit comes again that waits for a person or for another run.
const look = 2 * time.Second

// make opens what was tested, and nothing else, and lets the target make the step.
func (w *work) make(ctx context.Context) error {
	if may := w.book.permit(w.run, w.want, w.deps.Now()); may.gone || may.made {
		return errGone
	}
	r, t, err := w.open(ctx, w.run, w.want, w.seq)
	if err != nil {
		return err
	}
	leave := w.lanes.enter(r.Project+" "+t.Name, string(w.run)+" "+string(w.want.State), w.deps.Now())
	if leave == nil {
		return fmt.Errorf("other steps of target %s are under way: %w", t.Name, bus.Again(laneFull))
	}
	defer leave()
	target, err := Open(t, w.setup(), w.granted(r, t))
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
	if err := w.ready(ctx, target, r); err != nil {
		return w.begun(ctx, target, r, err)
	}
	leave, err := w.permitted(ctx)
	if err != nil {
		return w.begun(ctx, target, r, err)
	}
	if w.book.permit(w.run, w.want, w.deps.Now()).made {
		return errGone
	}
	if r.Leave = leave; len(leave) > 0 {
		w.done.Detail = "a run that was pushed later has " + strings.Join(leave, ", ")
	}
	names := w.book.moved(w.run, w.want)
	if err := w.visible(ctx, target, r); err != nil {
		return err
	}
	return w.giveBack(ctx, target, r, names)
}

// visible lets a target make a commit that is permitted; it is broken off when somebody stops the release.
func (w *work) visible(ctx context.Context, target Target, r Release) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go w.book.stopped(ctx, w.run, stop)
	err := target.Commit(fencedBy(ctx, w.fence(r.Leave)), r)
	var stopped *stoppedError
	if err != nil && errors.As(context.Cause(ctx), &stopped) {
		return stopped
	}
	return err
}

// begun tells a commit that was forbidden before it began from one that an earlier try had begun: then a part is visible.
func (w *work) begun(ctx context.Context, target Target, r Release, err error) error {
	var forbidden *refused
	if w.tries < 2 || !errors.As(err, &forbidden) {
		return err
	}
	probe, failed := target.Probe(ctx, r)
	if failed == nil && probe.Present() == 0 {
		return err
	}
	return &stoppedError{forbidden.why}
}

// ready looks, before a commit that cannot be undone, whether every target that has nothing of the release yet can still take it:
// hours may have gone since it was probed. What would fail then fails now, with nothing more visible than there is.
func (w *work) ready(ctx context.Context, target Target, r Release) error {
	if kindNamed(w.want.Kind).Undoes {
		return nil
	}
	for _, t := range r.plan.Targets {
		if w.book.committed(w.run, t.Name, t.Kind) {
			continue
		}
		err := error(nil)
		if t.Name == w.want.Target {
			_, err = ask(ctx, target, r)
		} else {
			_, err = w.probe(ctx, w.run, r.plan, r.Candidate, t)
		}
		if fault.Is(err, fault.Transient) {
			return fmt.Errorf("this commit cannot be undone, and it is not known whether target %s takes the release: %w", t.Name, err)
		}
		if err != nil {
			return &refused{fmt.Sprintf("this commit cannot be undone, and target %s would not take the release: %v", t.Name, err)}
		}
	}
	return nil
}

// giveBack looks once more who has the names that were just moved. A process that stood still after its last question may have
// moved one from a release that was pushed later: that one gets it back.
func (w *work) giveBack(ctx context.Context, target Target, r Release, names moved) error {
	if !kindNamed(w.want.Kind).Moves {
		return nil
	}
	if err := w.current(ctx, w.run); err != nil {
		return err
	}
	lost := w.book.lost(w.run, names, r.Leave)
	if len(lost) == 0 {
		return nil
	}
	r.Had = lost
	w.done.Detail = "given back to a run that was pushed later: " + strings.Join(slices.Sorted(maps.Keys(lost)), ", ")
	return target.(undoer).Undo(ctx, r)
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
	if r.Had = w.book.had(w.run, w.want); len(r.Had) == 0 {
		return fault.New(fault.Invalid, "cannot undo the commit to target %q: nothing is known of what was there before", w.want.Target)
	}
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
