package readmodel

import (
	"context"
	"maps"
	"math"
	"strings"
	"sync"

	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/store"
)

// RunsQuery says which runs to list: the newest first, born before a place in the stream.
type RunsQuery struct {
	Limit   int
	Before  uint64 // 0 begins with the newest
	Project string
	Branch  string
	Visible *Visible
	State   string // a state, or "failed" for every state that somebody should look at
}

// Runs lists the runs of changes: those in which places are cleaned and checked are found by name. next is the Before of the page after this one, 0 when there is none.
func (m *Model) Runs(ctx context.Context, q RunsQuery) (runs []Run, next uint64, err error) {
	where, args := q.where()
	query := "SELECT " + runColumns + " FROM runs WHERE " + where + " ORDER BY born DESC LIMIT ?"
	runs, err = collect(ctx, m, query, append(args, q.Limit+1), scanRun)
	if err != nil {
		return nil, 0, err
	}
	if len(runs) > q.Limit {
		runs = runs[:q.Limit]
		next = runs[q.Limit-1].Born
	}
	return runs, next, m.count(ctx, runs)
}

func (q RunsQuery) where() (string, []any) {
	before := q.Before
	if before == 0 {
		before = math.MaxInt64
	}
	terms, args := []string{"born < ?", "run NOT LIKE ?"}, []any{int64(min(before, math.MaxInt64)), release.PlaceRuns + "%"}
	for _, t := range []struct{ column, value string }{{"project", q.Project}, {"branch", q.Branch}} {
		if t.value != "" {
			terms, args = append(terms, t.column+" = ?"), append(args, t.value)
		}
	}
	if some, values := q.Visible.where("project"); some != "" {
		terms, args = append(terms, some), append(args, values...)
	}
	switch q.State {
	case "":
	case "failed":
		terms = append(terms, "state IN (?, ?, ?)")
		args = append(args, StateRejected, string(release.Failure), string(release.Error))
	case StateReceived, StateIgnored, StateUnpermitted:
		terms, args = append(terms, "state IS NULL", stateColumn+" = ?"), append(args, q.State)
	case StateRunning: // both halves are read from the index on state
		terms, args = append(terms, "(state = ? OR state IS NULL AND planned_at IS NOT NULL)"), append(args, q.State)
	default:
		terms, args = append(terms, "state = ?"), append(args, q.State)
	}
	return strings.Join(terms, " AND "), args
}

// count fills in how many tasks of each run are in which state. What was counted holds until the run has a newer fact:
// of the runs that a list shows most have ended.
func (m *Model) count(ctx context.Context, runs []Run) error {
	var args []any
	at := map[release.RunID]int{}
	for i, r := range runs {
		if runs[i].Tasks = m.counted.get(r); runs[i].Tasks == nil {
			runs[i].Tasks = Counts{}
			args = append(args, string(r.ID))
			at[r.ID] = i
		}
	}
	if len(args) == 0 {
		return nil
	}
	counts, err := collect(ctx, m,
		"SELECT run, state, COUNT(*) FROM tasks WHERE run IN ("+store.In(len(args))+") GROUP BY run, state", args,
		func(c *stateCount) []any { return []any{&c.run, opt(&c.state), &c.n} })
	if err != nil {
		return err
	}
	for _, c := range counts {
		runs[at[c.run]].Tasks[c.state] += c.n
	}
	for _, i := range at {
		m.counted.put(runs[i])
	}
	return nil
}

type stateCount struct {
	run   release.RunID
	state string
	n     int
}

// maxCounted is of how many runs the counts are kept.
const maxCounted = 1000

// counted keeps the counts of ended runs, as of their newest fact.
type counted struct {
	mu   sync.Mutex
	runs map[release.RunID]Run
}

func (c *counted) get(r Run) Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.runs[r.ID]; known.Seq == r.Seq {
		return maps.Clone(known.Tasks)
	}
	return nil
}

// put keeps a count. A run that goes on may have been counted with facts that are newer than its row: it is not kept.
func (c *counted) put(r Run) {
	if !r.Ended() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.runs == nil || len(c.runs) >= maxCounted {
		c.runs = map[release.RunID]Run{}
	}
	c.runs[r.ID] = Run{ID: r.ID, Seq: r.Seq, Tasks: maps.Clone(r.Tasks)}
}
