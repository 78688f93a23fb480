package pages

import (
	"cmp"
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
	for _, s := range streams {
		row := streamRowOf(s)
		for _, c := range row.Readers {
			if c.Tone != "good" {
				page.Behind++
			}
		}
		page.Streams = append(page.Streams, row)
	}
	return p.draw(w, http.StatusOK, "streams", frame{Title: "Streams", Section: "streams", Command: "sluice top", Page: page})
}

func streamRowOf(s bus.StreamStatus) streamRow {
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
		row.Readers = append(row.Readers, readerRowOf(c))
	}
	slices.SortStableFunc(row.Readers, func(a, b readerRow) int { return cmp.Compare(b.Lag(), a.Lag()) })
	return row
}

// readerRowOf says how a consumer is: one that nobody serves is worse than one that is busy.
func readerRowOf(c bus.ConsumerStatus) readerRow {
	switch {
	case !c.Durable:
		return readerRow{c, "live", "catches up"}
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
