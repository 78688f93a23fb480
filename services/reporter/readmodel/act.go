package readmodel

import (
	"cmp"
	"context"
	"math"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// Act is what a person did.
type Act struct {
	Seq     uint64        `json:"seq"`
	ID      string        `json:"id"`
	Type    event.Type    `json:"type"`
	At      time.Time     `json:"time"`
	Who     string        `json:"who"`
	Subject string        `json:"subject,omitempty"` // as whom they are known: "oidc:4711"
	Method  string        `json:"method,omitempty"`  // how they showed it
	Remote  string        `json:"remote,omitempty"`  // the address that they asked from
	Run     release.RunID `json:"run,omitempty"`
	Project string        `json:"project,omitempty"` // of the run
	Line    string        `json:"line"`
}

// ActsQuery says which acts to list: the newest first, before a place in the stream.
type ActsQuery struct {
	Limit             int
	Before            uint64 // 0 begins with the newest
	Who, Run, Project string
	Visible           *Visible
}

// projectOfAct is where an act is listed: under the project of its run, or under the one that it names.
const projectOfAct = "COALESCE(acts.project, runs.project)"

// Acts lists what people did. next is the Before of the page after this one, 0 when there is none.
func (m *Model) Acts(ctx context.Context, q ActsQuery) (acts []Act, next uint64, err error) {
	if q.Before == 0 {
		q.Before = math.MaxInt64
	}
	terms, args := []string{"acts.seq < ?"}, []any{int64(min(q.Before, math.MaxInt64))}
	if q.Who != "" {
		terms, args = append(terms, "(acts.who = ? OR acts.subject = ?)"), append(args, q.Who, q.Who)
	}
	for column, value := range map[string]string{"acts.run": q.Run, projectOfAct: q.Project} {
		if value != "" {
			terms, args = append(terms, column+" = ?"), append(args, value)
		}
	}
	if some, values := q.Visible.where(projectOfAct); some != "" {
		terms, args = append(terms, some), append(args, values...)
	}
	acts, err = collect(ctx, m, "SELECT acts.seq, acts.id, acts.type, acts.at, acts.who, acts.subject, acts.method, acts.remote, acts.run, "+projectOfAct+", acts.line"+
		" FROM acts LEFT JOIN runs ON runs.run = acts.run WHERE "+strings.Join(terms, " AND ")+" ORDER BY acts.seq DESC LIMIT ?",
		append(args, q.Limit+1), scanAct)
	if len(acts) > q.Limit {
		acts, next = acts[:q.Limit], acts[q.Limit-1].Seq
	}
	return acts, next, err
}

func scanAct(a *Act) []any {
	return []any{
		&a.Seq, opt(&a.ID), opt(&a.Type), moment(&a.At), opt(&a.Who), opt(&a.Subject), opt(&a.Method), opt(&a.Remote), &a.Run,
		opt(&a.Project), opt(&a.Line),
	}
}

// doer is the person who did what a fact says, or "". People act over HTTP, which their facts carry in the envelope, and by
// comments, which name them.
func doer(e event.Event) string {
	switch p := e.Data.(type) {
	case event.ChangeReceived:
		if p.Change.Kind == release.Manual {
			return cmp.Or(p.Change.RerunBy, p.Change.Author)
		}
	case event.RunCancelRequested:
		return p.By
	case event.RunPermitted:
		return p.By
	case event.RunRetryRequested:
		return p.By
	case event.GateApproved:
		return p.By
	case event.EnvironmentApproved:
		return p.By
	case event.GateHeld:
		return p.By
	case event.GateResumed:
		return p.By
	case event.PublicationRetryRequested:
		return p.By
	case event.PublicationUndoRequested:
		return p.By
	case event.PoolDrainRequested:
		return p.By
	case event.LimitSet:
		return p.By
	case event.PlaceDrainRequested:
		return p.By
	case event.PlaceChanged:
		return p.By
	case event.TestMoved:
		return p.By
	case event.BisectRequested:
		return p.By
	case event.TokenCreated:
		return cmp.Or(p.By, p.Owner)
	case event.TokenRevoked:
		return p.By
	case event.DeadLetterReplayed:
		return p.By
	}
	return e.Actor.Subject
}

// projectOf is the project of a fact that belongs to no run, or "".
func projectOf(p event.Payload) string {
	switch p := p.(type) {
	case event.TestMoved:
		return p.Project
	case event.BisectRequested:
		return p.Project
	case event.BisectEnded:
		return p.Project
	default:
		return ""
	}
}
