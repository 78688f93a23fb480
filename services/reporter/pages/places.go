package pages

import (
	"context"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/lease"
	"github.com/sluiceci/sluice/pkg/schedule"
)

// placeRow is a place with one of its holders: the first row of a place tells what it is, further ones only who else
// has it.
type placeRow struct {
	lease.Place
	Look   look
	First  bool
	Holder *lease.Holder
	Path   string // of the holder's task
	Since  time.Time
	Until  time.Time
	Left   time.Duration
	Token  int64
	Next   string // the command for it, if a person may do something
}

// limitRow is a limit or a weight.
type limitRow struct {
	schedule.Quota
	Full bool
	Next string
}

// addPlaces adds what the scheduler says of places and limits; what it does not say is told.
func (p *pages) addPlaces(ctx context.Context, page *poolsPage) (unanswered string) {
	places, err := p.Source.Places(ctx)
	if err != nil {
		return err.Error()
	}
	now := p.Now()
	for _, one := range places {
		page.Places = append(page.Places, placeRowsOf(one, now)...)
	}
	limits, err := p.Source.Limits(ctx)
	if err != nil {
		return err.Error()
	}
	for _, q := range limits {
		page.Limits = append(page.Limits, limitRow{
			Quota: q, Full: q.Limited && q.Waiting > 0,
			Next: "sluice limits set " + string(q.Of) + " " + q.Name + " AMOUNT" + resourceFlag(q),
		})
	}
	return ""
}

func resourceFlag(q schedule.Quota) string {
	if q.Of == event.LimitGroup || q.Resource == "" || q.Resource == "tasks" {
		return ""
	}
	return " --resource " + q.Resource
}

func placeRowsOf(p lease.Place, now time.Time) []placeRow {
	first := placeRow{Place: p, Look: placeLook(p.State), First: true, Since: p.Since, Until: p.Until, Next: placeNext(p)}
	if len(p.Holders) == 0 {
		first.Left = left(p.Until, now)
		return []placeRow{first}
	}
	var rows []placeRow
	for i := range p.Holders {
		h := &p.Holders[i]
		row := placeRow{Place: p}
		if i == 0 {
			row = first
		}
		row.Holder, row.Path, row.Token = h, taskPath(h.Run, h.Task), h.Token
		row.Since, row.Until, row.Left = h.Since, h.Until, left(h.Until, now)
		rows = append(rows, row)
	}
	return rows
}

func left(until, now time.Time) time.Duration {
	if until.IsZero() {
		return 0
	}
	return max(until.Sub(now), 0)
}

// placeLook shows what a place is in.
func placeLook(state lease.State) look {
	switch state {
	case lease.Free:
		return look{"check", "free", "good"}
	case lease.Leased, lease.Cleaning, lease.Checking:
		return look{"ring", string(state), "live"}
	case lease.Kept:
		return look{"clock", "kept", "warn"}
	case lease.CleanupPending:
		return look{"bang", "to be cleaned", "warn"}
	case lease.Quarantined:
		return look{"cross", "quarantined", "bad"}
	case lease.Drained:
		return look{"slash", "drained", "warn"}
	default:
		return look{"minus", string(state), "calm"}
	}
}

// placeNext is what a person may do about a place.
func placeNext(p lease.Place) string {
	name := p.Provider + "/" + p.Place
	switch p.State {
	case lease.Kept, lease.CleanupPending, lease.Quarantined:
		return "sluice places release " + name
	case lease.Drained:
		return "sluice places resume " + name
	default:
		return ""
	}
}
