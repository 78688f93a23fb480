package pages

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/sluiceci/sluice/pkg/bus"
)

const lettersOnPage = 50

// streamsPage is how the bus is: what lags, what was given up.
type streamsPage struct {
	Streams []streamRow
	Letters []bus.DeadLetter
	Next    string
	Behind  int // consumers that lag or redeliver
}

type streamRow struct {
	bus.StreamStatus
	Percent int
	Tone    string
	Readers []readerRow
	Hidden  int // followers, which come and go
}

type readerRow struct {
	bus.ConsumerStatus
	Tone string
	Word string
}

func (p *pages) streams(w http.ResponseWriter, r *http.Request) error {
	streams, err := p.Bus.Status(r.Context())
	if err != nil {
		return err
	}
	from, _ := strconv.ParseUint(r.FormValue("from"), 10, 63)
	letters, err := p.Bus.DeadLetters(r.Context(), from, lettersOnPage+1)
	if err != nil {
		return err
	}
	page := streamsPage{}
	if len(letters) > lettersOnPage {
		page.Next = fmt.Sprintf("/streams?from=%d", letters[lettersOnPage].Seq)
		letters = letters[:lettersOnPage]
	}
	page.Letters = letters
	busy := p.busyConsumers(r.Context())
	for _, s := range streams {
		row := streamRowOf(s, busy)
		for _, c := range row.Readers {
			if c.Tone != "good" {
				page.Behind++
			}
		}
		page.Streams = append(page.Streams, row)
	}
	return p.draw(w, http.StatusOK, "streams", frame{Title: "Streams", Section: "streams", Command: "sluice top", Page: page})
}

// busyConsumers are those of pools whose executors are alive and have no free slot: they ask for nothing, and are there.
func (p *pages) busyConsumers(ctx context.Context) map[string]bool {
	pools, err := p.Source.Pools(ctx)
	if err != nil {
		return nil // nobody knows: the page tells what the stream does
	}
	out := map[string]bool{}
	for _, pool := range pools {
		out["executor-run-"+pool.Name] = pool.Slots > 0 && pool.Running >= pool.Slots
	}
	return out
}

func streamRowOf(s bus.StreamStatus, busy map[string]bool) streamRow {
	row := streamRow{StreamStatus: s, Percent: int(s.Full() * 100), Tone: "good"}
	switch {
	case s.Full() > 0.9:
		row.Tone = "bad"
	case s.Full() > 0.7, s.Name == bus.Dead && s.Messages > 0:
		row.Tone = "warn"
	}
	for _, c := range s.Consumers {
		if !c.Durable && (c.Pending == 0 || c.Waiting == 0) {
			row.Hidden++ // up to date, or left behind by one who has gone
			continue
		}
		row.Readers = append(row.Readers, readerRowOf(c, busy[c.Name]))
	}
	slices.SortStableFunc(row.Readers, func(a, b readerRow) int { return cmp.Compare(b.Lag(), a.Lag()) })
	return row
}

// readerRowOf says how a consumer is: one that nobody serves is worse than one that is busy.
func readerRowOf(c bus.ConsumerStatus, busy bool) readerRow {
	switch {
	case !c.Durable:
		return readerRow{c, "live", "catches up"}
	case busy && c.Waiting == 0 && c.Lag() > 0:
		return readerRow{c, "live", "all slots are taken"}
	case c.Waiting == 0 && c.Lag() > 0 && c.AckPending == 0:
		return readerRow{c, "bad", "nobody serves it"}
	case c.Redelivered > 0:
		return readerRow{c, "warn", "tries again"}
	case c.Lag() > 0:
		return readerRow{c, "live", "at work"}
	default:
		return readerRow{c, "good", "up to date"}
	}
}
