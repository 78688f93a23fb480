package scheduler

import (
	"context"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/schedule"
)

// lookUp bounds the questions to the stream before a gate opens.
const lookUp = 5 * time.Second

// current leaves out the openings that are decided on old knowledge: somebody has held, cancelled or retried the run since the
// newest fact that was read, and was told that this was accepted. They are decided again when that fact is read. Everything
// else that is decided on old knowledge is harmless: its place in the stream is taken, or it can be taken back.
func (d *desk) current(ctx context.Context, intents []schedule.Intent) []schedule.Intent {
	kept := intents[:0:0]
	for _, i := range intents {
		if _, opens := i.Payload.(event.GateOpened); opens {
			newest, err := d.s.newest(ctx, i.Cause.Run)
			if err != nil {
				d.s.deps.Log.Warn("cannot look whether somebody holds the gate; looking again", "run", i.Cause.Run, "err", err)
			}
			if err != nil || newest > d.state.Heard(i.Cause.Run) {
				continue
			}
		}
		kept = append(kept, i)
	}
	return kept
}

// newest is the place of the newest order about a run in the stream, now.
func (s *scheduler) newest(ctx context.Context, run release.RunID) (newest uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookUp)
	defer cancel()
	for _, t := range []event.Type{
		event.TypeGateHeld, event.TypeGateResumed, event.TypeRunCancelRequested, event.TypeRunRetryRequested,
	} {
		e, err := s.deps.Bus.Get(ctx, t.FilterRun(run))
		switch {
		case bus.Empty(err):
		case err != nil:
			return 0, fault.As(fault.Transient, err)
		default:
			if held, is := e.Data.(event.GateHeld); is && held.Before != "" {
				continue // it is the publisher's
			}
			newest = max(newest, e.Seq)
		}
	}
	return newest, nil
}
