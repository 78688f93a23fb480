package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluiceci/sluice/pkg/client/view"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/schedule"
	"github.com/sluiceci/sluice/services/reporter/readmodel"
)

func eventsReplayCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "replay RUN",
		Short: "Replay the facts of a run through the scheduler's decisions; change nothing",
		Long: "Read the facts of a run and give them, one by one, to the scheduler's own fold and decision, here.\n" +
			"After each fact stands what the scheduler would say, and whether it was said. Nothing is published.\n" +
			"Other runs and the executors' heartbeats are no part of it: what a busy pool delays comes at once here.",
		Args: arguments(cobra.ExactArgs(1)),
	}
	return clientCommand(c, func(ctx context.Context, s *session, args []string) error {
		run, err := s.Resolve(ctx, args[0])
		if err != nil {
			return err
		}
		facts, err := s.History(ctx, run)
		if err != nil {
			return err
		}
		steps := replay(facts)
		now := schedule.Explain(folded(facts), run, "", time.Now())
		if s.json {
			return printJSON(s.out, map[string]any{"run": run, "steps": steps, "now": now})
		}
		return view.Replay(s.out, s.style, steps, now.State+": "+now.Reason)
	})
}

// replaying is how the scheduler is configured for a replay: nobody's heartbeats are heard, so nobody is lost.
func replaying() schedule.Config {
	return schedule.Config{LostAfter: 100 * 365 * 24 * time.Hour, Keep: -1}
}

func folded(facts []event.Event) *schedule.State {
	s := schedule.New(replaying())
	for _, e := range facts {
		s.Apply(e)
	}
	return s
}

// replay folds facts one by one and tells what is decided after each. What was decided once is not told again.
func replay(facts []event.Event) []view.ReplayStep {
	s := schedule.New(replaying())
	said := map[string]uint64{} // place → the fact there
	for _, e := range facts {
		said[e.Subject()] = e.Seq
	}
	told := map[string]bool{}
	var out []view.ReplayStep
	for _, e := range facts {
		s.Apply(e)
		line, _ := readmodel.Line(e)
		step := view.ReplayStep{Seq: e.Seq, Type: e.Type, Line: line, Decided: []view.Decision{}}
		intents, _ := schedule.Decide(s, moment(e))
		s.Sent(intents)
		for _, i := range intents {
			d := decision(e.Run, i)
			if !told[d.Subject] {
				told[d.Subject] = true
				d.Fact = said[d.Subject]
				step.Decided = append(step.Decided, d)
			}
		}
		out = append(out, step)
	}
	return out
}

// moment is when a fact was stored, or said where that is not known.
func moment(e event.Event) time.Time {
	if !e.Stored.IsZero() {
		return e.Stored
	}
	return e.Time
}

func decision(run release.RunID, i schedule.Intent) view.Decision {
	e := event.Event{Run: run, Type: i.Payload.EventType(), Key: i.Payload.Key(), Data: i.Payload}
	line, _ := readmodel.Line(e)
	return view.Decision{Subject: e.Subject(), Type: e.Type, Line: line}
}
