package reporter

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/schedule"
	"github.com/sluiceci/sluice/services/reporter/live"
)

// watchPause is how often a watcher is told at most.
const watchPause = 200 * time.Millisecond

// watch tells, as server-sent events, how a run stands whenever that changes, and "end" when nothing more is expected.
// The id of a message is the place of the run's newest fact.
func (a *api) watch(w http.ResponseWriter, r *http.Request) error {
	id, err := runOf(r)
	if err != nil {
		return err
	}
	watcher := a.hub.Watch(id)
	defer watcher.Close()
	detail, err := a.source.Run(r.Context(), id, 0)
	if err != nil {
		return err
	}
	s := live.NewStream(w)
	for {
		body, err := json.Marshal(detail)
		if err != nil {
			return err
		}
		name := "run"
		if detail.Run.Ended() {
			name = "end"
		}
		if err := s.Send(name, strconv.FormatUint(detail.Run.Seq, 10), string(body)); err != nil || name == "end" {
			return err
		}
		if err := live.Await(r.Context(), s, watcher, watchPause); err != nil {
			return err
		}
		if detail, err = a.source.Run(r.Context(), id, 0); err != nil {
			return err
		}
	}
}

func (a *api) pools(w http.ResponseWriter, r *http.Request) error {
	pools, err := a.source.Pools(r.Context())
	if err != nil {
		return err
	}
	return ok(w, map[string][]schedule.Pool{"pools": pools})
}

func (a *api) streams(w http.ResponseWriter, r *http.Request) error {
	streams, err := a.bus.Status(r.Context())
	if err != nil {
		return err
	}
	return ok(w, map[string][]bus.StreamStatus{"streams": streams})
}

func (a *api) deadLetters(w http.ResponseWriter, r *http.Request) error {
	n, err := limit(r)
	if err != nil {
		return err
	}
	from, err := number(r, "from", 0, math.MaxInt64)
	if err != nil {
		return err
	}
	letters, err := a.bus.DeadLetters(r.Context(), from, n+1)
	if err != nil {
		return err
	}
	next := uint64(0)
	if len(letters) > n {
		next, letters = letters[n].Seq, letters[:n]
	}
	return ok(w, struct {
		Letters []bus.DeadLetter `json:"deadletters"`
		Next    uint64           `json:"next,omitempty"` // "from" of the next page
	}{append([]bus.DeadLetter{}, letters...), next})
}
