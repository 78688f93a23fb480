package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/client"
	"github.com/sluiceci/sluice/pkg/client/view"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/service"
	"github.com/sluiceci/sluice/services/reporter/readmodel"
)

func eventsCommand() *cobra.Command {
	return family("events", "Facts: tail, show, replay", eventsTailCommand(), eventsShowCommand(), eventsReplayCommand())
}

// fact is an event as JSON, on one line.
type fact struct {
	client.Moment
	Run  release.RunID `json:"run"`
	Data event.Payload `json:"data,omitempty"`
}

func factOf(e event.Event) fact {
	line, tone := readmodel.Line(e)
	return fact{Run: e.Run, Data: e.Data, Moment: client.Moment{
		Seq: e.Seq, ID: e.ID, Type: e.Type, Key: e.Key, Task: readmodel.TaskOf(e.Data), At: e.Time, Source: e.Source,
		Cause: e.Cause, Line: line, Tone: string(tone),
	}}
}

func eventsTailCommand() *cobra.Command {
	var run, kind string
	var last uint64
	c := &cobra.Command{
		Use:   "tail",
		Short: "Print facts as they are stored; with --run, from the first of that run",
		Args:  arguments(cobra.NoArgs),
	}
	c.Flags().StringVar(&run, "run", "", "only this run; stop when it ends")
	c.Flags().StringVar(&kind, "type", "", "event type or its prefix: task.finished, gate")
	c.Flags().Uint64Var(&last, "last", 10, "start with the last N facts")
	c.PreRunE = func(*cobra.Command, []string) error { return checkEventType(kind) }
	return clientCommand(c, func(ctx context.Context, s *session, _ []string) error {
		types := eventTypes(kind)
		if run != "" {
			return s.tailRun(ctx, run, types)
		}
		if s.at.NATS == "" {
			return s.Tail(ctx, kind, last, func(e event.Event) error { return s.print(factOf(e), true) })
		}
		return s.tail(ctx, types, last)
	})
}

// tail prints every fact of the types, from the last few on, until it is interrupted. On the machine of the bus it listens itself.
func (s *session) tail(ctx context.Context, types []event.Type, last uint64) error {
	b, err := s.bus(ctx)
	if err != nil {
		return err
	}
	defer b.Close()
	facts, err := b.StreamStatus(ctx, bus.Facts)
	if err != nil {
		return err
	}
	from := facts.LastSeq + 1 - min(last, facts.LastSeq)
	f, err := b.Follow(ctx, bus.Following{Name: "events-tail", Types: types, From: from})
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		batch, err := f.Next(ctx, time.Minute)
		if err != nil {
			return err
		}
		for _, e := range batch.Events {
			if err := s.print(factOf(e), true); err != nil {
				return err
			}
		}
	}
}

// tailRun prints the facts of a run until it has ended.
func (s *session) tailRun(ctx context.Context, name string, types []event.Type) error {
	run, err := s.Resolve(ctx, name)
	if err != nil {
		return err
	}
	_, err = s.Watch(ctx, client.Watching{Run: run, Moments: true, Seen: func(_ client.Status, news []client.Moment) error {
		for _, m := range news {
			if !among(types, m.Type) {
				continue
			}
			if err := s.print(fact{Moment: m, Run: run}, false); err != nil {
				return err
			}
		}
		return nil
	}})
	return err
}

func (s *session) print(f fact, several bool) error {
	if s.json {
		return jsonLines(s.out, []fact{f})
	}
	run := ""
	if several {
		run = string(f.Run)
	}
	_, err := fmt.Fprint(s.out, view.Moment(s.style, f.Moment, run))
	return err
}

// bus connects to the bus of the Sluice, to listen only.
func (s *session) bus(ctx context.Context) (*bus.Bus, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	o := bus.Options{Name: "sluice-cli", Onlooker: true}
	if s.at.NATSSeed == "" { // a server that knows no identities
		return bus.Connect(ctx, s.at.NATS, o)
	}
	key, err := bus.ReadKey([]byte(s.at.NATSSeed))
	if err != nil {
		return nil, fault.As(fault.Invalid, err)
	}
	o.Identity, o.Key = service.Onlooker, &key
	return bus.Connect(ctx, s.at.NATS, o)
}

func eventsShowCommand() *cobra.Command {
	var q client.FactsQuery
	c := &cobra.Command{
		Use:   "show RUN",
		Short: "Print the facts of a run in stream order; with --json one object per line",
		Args:  arguments(cobra.ExactArgs(1)),
	}
	c.Flags().StringVar(&q.Type, "type", "", "event type or its prefix: task.finished, gate")
	c.Flags().Uint64Var(&q.After, "after", 0, "start after this sequence number")
	c.Flags().IntVar(&q.Limit, "limit", 500, "maximum number of facts")
	c.PreRunE = func(*cobra.Command, []string) error {
		return errors.Join(checkEventType(q.Type), positive("--limit", q.Limit))
	}
	return clientCommand(c, func(ctx context.Context, s *session, args []string) error {
		var err error
		if q.Run, err = s.Resolve(ctx, args[0]); err != nil {
			return err
		}
		next, err := s.show(ctx, q)
		if next != 0 {
			fmt.Fprintf(s.talk, "There are more: sluice events show %s --after %d\n", q.Run, next)
		}
		return err
	})
}

// show prints a page of facts and tells where the next begins.
func (s *session) show(ctx context.Context, q client.FactsQuery) (next uint64, err error) {
	if s.json {
		page, err := s.Events(ctx, q)
		if err != nil {
			return 0, err
		}
		return page.Next, jsonLines(s.out, page.Events)
	}
	page, err := s.Timeline(ctx, q)
	if err != nil {
		return 0, err
	}
	return page.Next, view.Moments(s.out, s.style, page.Timeline)
}
