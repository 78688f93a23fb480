package gateway

import (
	"log/slog"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/definition"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/service"
)

// TestOverlap: whether a time of a schedule starts a run follows from when the run before it ended, whoever looks and whenever.
func TestOverlap(t *testing.T) {
	t.Parallel()
	at := func(clock string) time.Time {
		parsed, err := time.Parse(time.RFC3339, "2026-11-20T"+clock+"Z")
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	ends := map[string]event.Payload{
		"finished": event.RunFinished{Outcome: release.Success}, "rejected": event.RunRejected{}, "ignored": event.ChangeIgnored{Kind: release.Schedule},
	}
	for name, c := range map[string]struct {
		overlap, end, now string
		starts            bool
	}{
		"no end":                       {"", "", "04:00:05", false},
		"ended before":                 {"", "03:59:00", "04:00:05", true},
		"ended on time":                {"skip", "04:00:00", "04:00:05", true},
		"ended too late":               {"skip", "04:00:01", "04:00:05", false},
		"ended too late, looked later": {"skip", "04:00:01", "04:50:00", false},
		"queued, no end":               {"queue", "", "04:00:05", false},
		"queued, ended":                {"queue", "04:30:00", "04:30:01", true},
		"allowed":                      {"allow", "", "04:00:05", true},
		"allowed, ended":               {"allow", "03:00:00", "04:00:05", true},
	} {
		for how, payload := range ends {
			project := Project{Name: "p", Repo: "a/p"}
			now := at(c.now)
			k := &clock{
				gateway: &gateway{deps: service.Deps{Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)}}, project: project,
				fired: map[string]time.Time{}, latest: map[string]scheduledRun{}, skipped: map[string]time.Time{}, arrived: map[string][]release.Change{},
			}
			s := definition.Time{Name: "hourly", Overlap: c.overlap}
			if !k.free(s, at("03:00:00")) {
				t.Fatal("the first run waits for none")
			}
			change := scheduled(project, "master", "4f2a9c1d4f2a9c1d4f2a9c1d4f2a9c1d4f2a9c1d", s, at("03:00:00"))
			said := event.Root(change.RunID(), "/t/1", at("03:00:00"), event.ChangeReceived{Change: change})
			k.hear(said)
			if c.end != "" {
				end := event.Root(said.Run, "/t/1", at(c.end), payload)
				end.Stored = at(c.end)
				k.hear(end)
				end.Stored = at("05:00:00") // of a later round: the first end counts
				k.hear(end)
			}
			if got := k.free(s, at("04:00:00")); got != c.starts {
				t.Errorf("%s, %s: starts a run: %v, want %v", name, how, got, c.starts)
			}
		}
	}
}
