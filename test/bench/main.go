// Bench measures Sluice as ratios to limits that are measured on the same machine in the same run: what a durable publish
// costs, what starting a process costs, what a git fetch costs. It prints a table, and with -json the same as JSON.
//
//	make bench
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
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
	only := flag.String("only", "", "measure this alone: idle, webhook, start or tasks")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	rows, err := bench(ctx, *binary, *tasks, *only)
	stop()
	if err == nil {
		err = print(rows, *asJSON)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench measures the limits, then Sluice.
func bench(ctx context.Context, binary string, tasks int, only string) ([]row, error) {
	steps, err := choose(only, tasks)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "sluice-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	l, err := newLimits(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer l.close()
	p, err := start(ctx, binary, dir)
	if err != nil {
		return nil, err
	}
	defer p.stop()
	var rows []row
	for _, step := range steps {
		say("measuring " + step.name)
		more, err := between(ctx, l, p, step)
		if err != nil {
			return rows, fmt.Errorf("cannot measure %s: %w\n%s", step.name, err, p.tail())
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// between measures the machine before a step and after it: other programs on it come and go.
func between(ctx context.Context, l *limits, p *sluice, s step) ([]row, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	before, err := l.measure(ctx)
	if err != nil {
		return nil, err
	}
	judge, err := s.run(ctx, l, p)
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
	run  func(context.Context, *limits, *sluice) (judgement, error)
}

func choose(only string, tasks int) ([]step, error) {
	steps := []step{
		{"idle", measureIdle},
		{"webhook", measureWebhook},
		{"start", measureStart},
		{"tasks", func(ctx context.Context, _ *limits, p *sluice) (judgement, error) {
			return measureThroughput(ctx, p, tasks)
		}},
	}
	if only == "" {
		return steps, nil
	}
	for _, s := range steps {
		if s.name == only {
			return []step{s}, nil
		}
	}
	return nil, fmt.Errorf("cannot measure %q: expected idle, webhook, start or tasks", only)
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
