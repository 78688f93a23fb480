package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/sluiceci/sluice/pkg/client"
	"github.com/sluiceci/sluice/pkg/client/view"
	"github.com/sluiceci/sluice/pkg/release"
)

// logOptions are the flags of `sluice logs`.
type logOptions struct {
	follow  bool
	attempt int32
	from    int64
	tail    int64 // lines from the end; 0 means all
}

func logsCommand() *cobra.Command {
	var o logOptions
	c := &cobra.Command{
		Use:   "logs [RUN[/TASK]]",
		Short: "Print the log of a task, or of every task of a run with the task's name before each line",
		Long: "Print the log of a task's last attempt, or with --attempt of another.\n" +
			"Without a task, those of all tasks: one after the other, or with -f as the lines come.\n" +
			"Sequences that colour text reach a terminal; every other control sequence is removed.",
		Args: arguments(cobra.MaximumNArgs(1)),
	}
	f := c.Flags()
	f.BoolVarP(&o.follow, "follow", "f", false, "go on until the task, or the run, ends")
	f.Int32Var(&o.attempt, "attempt", 0, "of the task (default: the last)")
	f.Int64Var(&o.from, "from-line", 1, "first line to print")
	f.Int64Var(&o.tail, "tail", 0, "only the last lines of each log, so many")
	c.MarkFlagsMutuallyExclusive("tail", "from-line")
	c.PreRunE = func(_ *cobra.Command, args []string) error { return o.check(args) }
	return clientCommand(c, func(ctx context.Context, s *session, args []string) error {
		run, task, err := s.runTask(ctx, args)
		if err != nil {
			return err
		}
		p := &printer{out: s.out, json: s.json, colour: s.style.Colour}
		switch {
		case task != "":
			return s.log(ctx, p, run, source{task: task, attempt: o.attempt}, o)
		case o.follow:
			return s.followLogs(ctx, p, run, o)
		default:
			return s.allLogs(ctx, p, run, o)
		}
	})
}

func (o logOptions) check(args []string) error {
	switch {
	case o.attempt < 0:
		return usage("--attempt is %d, expected at least 1", o.attempt)
	case o.attempt != 0 && (len(args) == 0 || !strings.Contains(args[0], "/")):
		return usage("--attempt is of a task: sluice logs RUN/TASK --attempt %d", o.attempt)
	case o.tail < 0:
		return usage("--tail is %d, expected at least 1", o.tail)
	default:
		return positive("--from-line", o.from)
	}
}

// source is the log of one attempt.
type source struct {
	task    release.TaskID
	attempt int32
	prefix  string // before each line; "" when there is one log only
}

// log prints one log.
func (s *session) log(ctx context.Context, p *printer, run release.RunID, from source, o logOptions) error {
	q := client.LogQuery{Run: run, Task: from.task, Attempt: from.attempt, From: o.from, Follow: o.follow}
	if o.tail > 0 {
		var err error
		if q.From, err = s.LogTail(ctx, q, o.tail); err != nil {
			return err
		}
	}
	n := q.From - 1
	return s.Log(ctx, q,
		func(line string) error {
			n++
			return p.print(from, n, line)
		})
}

// sources are the attempts of a run that have printed, in the order in which they started.
func sources(style view.Style, tasks []client.Task) []source {
	var attempts []client.Attempt
	for _, t := range tasks {
		for _, a := range t.Attempts {
			if !a.Started.IsZero() {
				attempts = append(attempts, a)
			}
		}
	}
	slices.SortStableFunc(attempts, func(a, b client.Attempt) int {
		return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.Task, b.Task), cmp.Compare(a.Number, b.Number))
	})
	wide := 0
	for _, a := range attempts {
		wide = max(wide, len(view.Prefix(view.Style{}, a, 0)))
	}
	var out []source
	for _, a := range attempts {
		out = append(out, source{a.Task, a.Number, view.Prefix(style, a, wide)})
	}
	return out
}

func (s *session) allLogs(ctx context.Context, p *printer, run release.RunID, o logOptions) error {
	status, err := s.Status(ctx, run)
	if err != nil {
		return err
	}
	for _, from := range sources(s.style, status.Tasks) {
		if err := s.log(ctx, p, run, from, o); err != nil {
			return err
		}
	}
	return nil
}

// followLogs prints every attempt's lines as they come, those of attempts that start later too, until the run ends.
func (s *session) followLogs(ctx context.Context, p *printer, run release.RunID, o logOptions) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(64)
	begun := map[string]bool{}
	_, err := s.Watch(ctx, client.Watching{Run: run, Seen: func(status client.Status, _ []client.Moment) error {
		for _, from := range sources(s.style, status.Tasks) {
			key := fmt.Sprintf("%s/%d", from.task, from.attempt)
			if !begun[key] {
				begun[key] = true
				group.Go(func() error { return s.log(ctx, p, run, from, o) })
			}
		}
		return nil
	}})
	if waited := group.Wait(); waited != nil {
		return waited
	}
	return err
}

// printer writes lines of several logs, one at a time.
type printer struct {
	mu     sync.Mutex
	out    io.Writer
	json   bool
	colour bool
}

// logLine is a line of a log as JSON.
type logLine struct {
	Task    release.TaskID `json:"task"`
	Attempt int32          `json:"attempt,omitempty"`
	Line    int64          `json:"line"`
	Text    string         `json:"text"`
}

func (p *printer) print(from source, n int64, line string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.json {
		return json.NewEncoder(p.out).Encode(logLine{from.task, from.attempt, n, line})
	}
	_, err := fmt.Fprintf(p.out, "%s%s\n", from.prefix, client.LogLine(line, p.colour))
	return err
}
