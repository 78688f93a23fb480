package readmodel

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// Moment is a fact in the timeline of a run.
type Moment struct {
	Seq    uint64         `json:"seq"`
	ID     string         `json:"id"`
	Type   event.Type     `json:"type"`
	Key    string         `json:"key,omitempty"`
	Task   release.TaskID `json:"task,omitempty"`
	At     time.Time      `json:"time"`
	Source string         `json:"source"`
	Cause  string         `json:"cause,omitempty"`
	Line   string         `json:"line"`
	Tone   Tone           `json:"tone"`
}

// TimelineQuery says which facts of a run to list, in their order.
type TimelineQuery struct {
	Run   release.RunID
	After uint64
	Limit int
	Type  string // a type, or its first part: "gate" for every "gate.…"
	Task  release.TaskID
}

// Timeline lists facts. next is the After of the next page, 0 when there is none.
func (m *Model) Timeline(ctx context.Context, q TimelineQuery) (moments []Moment, next uint64, err error) {
	terms, args := []string{"run = ?", "seq > ?"}, []any{string(q.Run), int64(q.After)}
	switch {
	case q.Type == "":
	case strings.Contains(q.Type, "."):
		terms, args = append(terms, "type = ?"), append(args, q.Type)
	default:
		terms, args = append(terms, "type LIKE ?"), append(args, q.Type+".%")
	}
	if q.Task != "" {
		terms, args = append(terms, "task = ?"), append(args, string(q.Task))
	}
	moments, err = collect(ctx, m, "SELECT seq, id, type, key, task, at, source, cause, line, tone FROM timeline WHERE "+
		strings.Join(terms, " AND ")+" ORDER BY seq LIMIT ?", append(args, q.Limit+1), scanMoment)
	if len(moments) > q.Limit {
		moments, next = moments[:q.Limit], moments[q.Limit-1].Seq
	}
	return moments, next, err
}

func scanMoment(t *Moment) []any {
	return []any{
		&t.Seq, opt(&t.ID), opt(&t.Type), opt(&t.Key), opt(&t.Task), moment(&t.At), opt(&t.Source), opt(&t.Cause),
		opt(&t.Line), opt(&t.Tone),
	}
}

// routine are the facts that say only that work goes its way.
const routine = "type NOT IN ('task.requested', 'task.dispatched', 'task.started', 'publication.requested')" +
	" AND NOT (type = 'task.finished' AND tone = 'good')"

// Verdicts lists the newest facts of a run that are more than work going its way, the oldest of them first.
func (m *Model) Verdicts(ctx context.Context, run release.RunID, limit int) ([]Moment, error) {
	moments, err := collect(ctx, m, "SELECT seq, id, type, key, task, at, source, cause, line, tone FROM timeline WHERE run = ? AND "+
		routine+" ORDER BY seq DESC LIMIT ?", []any{string(run), limit}, scanMoment)
	slices.Reverse(moments)
	return moments, err
}
