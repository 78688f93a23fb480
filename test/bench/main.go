// Bench measures Sluice as ratios to limits that are measured on the same machine in the same run: what a durable publish
// costs, what starting a process costs, what a git fetch costs. It prints a table, and with -json the same as JSON.
//
//	make bench
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

// row is one measurement beside its limit.
type row struct {
	What  string  `json:"what"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	Limit float64 `json:"limit"` // the same unit; what the machine allows
	Of    string  `json:"of"`    // what the limit is
	Ratio float64 `json:"ratio"`
	Goal  float64 `json:"goal"` // of the ratio
	More  bool    `json:"more"` // a ratio above the goal is good
	Met   bool    `json:"met"`
}

// measured compares a value with its limit.
func measured(what string, value float64, unit string, limit float64, of string, goal float64, more bool) row {
	r := row{What: what, Value: value, Unit: unit, Limit: limit, Of: of, Ratio: value / limit, Goal: goal, More: more}
	r.Met = r.Ratio <= goal
	if more {
		r.Met = r.Ratio >= goal
	}
	return r
}

func main() {
	asJSON := flag.Bool("json", false, "print JSON")
	binary := flag.String("sluice", "bin/sluice", "the binary to measure")
	tasks := flag.Int("tasks", 1000, "no-op tasks of the throughput run")
	only := flag.String("only", "", "measure these alone, separated by commas: "+strings.Join(names(), ", "))
	history := flag.Int("history", 100_000, "facts of history in the restart")
	most := flag.Int("most", 10_000, "tasks of the largest run whose cost is compared with that of a small one")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	b := bench{binary: *binary, tasks: *tasks, history: *history, most: *most}
	rows, err := b.run(ctx, *only)
	stop()
	err = errors.Join(err, print(rows, *asJSON)) // what was measured is told although the rest failed
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench is what is measured.
type bench struct {
	binary               string
	tasks, history, most int
	dir                  string
}

// run measures the limits, then Sluice.
func (b *bench) run(ctx context.Context, only string) ([]row, error) {
	steps, err := choose(only)
	if err != nil {
		return nil, err
	}
	if b.dir, err = os.MkdirTemp("", "sluice-bench-"); err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(b.dir) }()
	l, err := newLimits(ctx, b.dir)
	if err != nil {
		return nil, err
	}
	defer l.close()
	var rows []row
	for _, step := range steps {
		say("measuring " + step.name)
		more, err := b.between(ctx, l, step)
		if err != nil {
			return rows, fmt.Errorf("cannot measure %s: %w", step.name, err)
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// between measures the machine before a step and after it: other programs on it come and go.
func (b *bench) between(ctx context.Context, l *limits, s step) ([]row, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	before, err := l.measure(ctx)
	if err != nil {
		return nil, err
	}
	judge, err := s.run(ctx, b, l)
	if err != nil {
		return nil, err
	}
	after, err := l.measure(ctx)
	if err != nil {
		return nil, err
	}
	return judge(mean(before, after)), nil
}

// judgement compares what was measured with what the machine could do meanwhile.
type judgement func(machine) []row

// step is what -only chooses.
type step struct {
	name string
	run  func(context.Context, *bench, *limits) (judgement, error)
}

func steps() []step {
	return []step{
		{"idle", alone(withSlots(slots), measureIdle)},
		{"webhook", alone(withSlots(slots), measureWebhook)},
		{"start", alone(withSlots(slots), measureStart)},
		{"tasks", measureThroughput},
		{"fan", alone(withSlots(slots), measureFan)},
		{"grow", measureGrowth},
		{"killed", measureKilled},
		{"isolation", measureIsolation},
		{"restart", measureRestart},
		{"logs", alone(withSlots(slots), measureLogs)},
		{"queue", measureQueue},
		{"plan", measurePlan},
	}
}

func names() []string {
	var out []string
	for _, s := range steps() {
		out = append(out, s.name)
	}
	return out
}

// alone gives a measurement a Sluice of its own.
func alone(executors string, measure func(context.Context, *limits, *sluice) (judgement, error)) func(context.Context, *bench, *limits) (judgement, error) {
	return func(ctx context.Context, b *bench, l *limits) (judgement, error) {
		p, err := b.start(ctx, executors)
		if err != nil {
			return nil, err
		}
		defer p.stop()
		judge, err := measure(ctx, l, p)
		if err != nil {
			return nil, fmt.Errorf("%w\n%s", err, p.tail())
		}
		return judge, nil
	}
}

// start starts Sluice in a new directory.
func (b *bench) start(ctx context.Context, executors string) (*sluice, error) {
	dir, err := os.MkdirTemp(b.dir, "up-")
	if err != nil {
		return nil, err
	}
	return start(ctx, b.binary, dir, executors)
}

func choose(only string) ([]step, error) {
	if only == "" {
		return steps(), nil
	}
	var out []step
	for name := range strings.SplitSeq(only, ",") {
		i := slices.Index(names(), name)
		if i < 0 {
			return nil, fmt.Errorf("cannot measure %q: expected some of %s", name, strings.Join(names(), ", "))
		}
		out = append(out, steps()[i])
	}
	return out, nil
}

func say(text string) { fmt.Fprintln(os.Stderr, text+" …") }

func print(rows []row, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		return e.Encode(rows)
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "what\tmeasured\tlimit\tratio\tgoal\t\twhat the limit is\t")
	for _, r := range rows {
		sign, mark := "≤", "met"
		if r.More {
			sign = "≥"
		}
		if !r.Met {
			mark = "NOT MET"
		}
		fmt.Fprintf(w, "%s\t%.3g %s\t%.3g %s\t%.2f\t%s %.3g\t%s\t%s\t\n", r.What, r.Value, r.Unit, r.Limit, r.Unit, r.Ratio, sign, r.Goal, mark, r.Of)
	}
	return w.Flush()
}
