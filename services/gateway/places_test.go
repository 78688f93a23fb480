package gateway

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/lease"
	"github.com/sluiceci/sluice/pkg/release"
)

// offer answers the question for places, as the scheduler does.
func (w *world) offer(places ...lease.Place) {
	w.t.Helper()
	err := bus.Answer(w.t.Context(), w.bus, lease.Topic, func(context.Context, lease.Everything) ([]lease.Place, error) { return places, nil })
	if err != nil {
		w.t.Fatal(err)
	}
}

func TestPlacesAreListedForEverybody(t *testing.T) {
	t.Parallel()
	w := newActingWorld(t, remote{})
	w.offer(lease.Place{Provider: "lab", Place: "n1", State: lease.Leased, Holders: []lease.Holder{{AttemptRef: event.AttemptRef{Run: "r", Task: "t", Attempt: 2}, Token: 7}}})
	r, err := http.Get(w.url + "/api/v1/places")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	text, _ := io.ReadAll(r.Body)
	var got struct{ Places []lease.Place }
	if err := json.Unmarshal(text, &got); err != nil || len(got.Places) != 1 || got.Places[0].Holders[0].Task != "t" || got.Places[0].Holders[0].Token != 7 {
		t.Errorf("%d %s, %v", r.StatusCode, text, err)
	}
}

// What a person may release is taken at their word; what they may not says what to do instead.
func TestPlacesAreReleased(t *testing.T) {
	t.Parallel()
	for state, want := range map[lease.State]release.PlaceState{
		lease.Kept: release.PlaceCleanupPending, lease.CleanupPending: release.PlaceFree, lease.Quarantined: release.PlaceFree,
		lease.Free: "", lease.Leased: "", lease.Cleaning: "", lease.Drained: "",
	} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			w := newActingWorld(t, remote{})
			w.offer(lease.Place{
				Provider: "lab", Place: "n1", State: state, Change: 4, Holders: []lease.Holder{{AttemptRef: event.AttemptRef{Run: "r"}}},
			})
			got := w.do("/api/v1/places/lab/n1/release", `{"reason": "rebooted"}`)
			if want == "" {
				if got.code != http.StatusConflict || !strings.Contains(got.text, "cannot release lab/n1") {
					t.Errorf("%d %s", got.code, got.text)
				}
				return
			}
			if got.code != http.StatusAccepted {
				t.Fatalf("%d %s", got.code, got.text)
			}
			c := w.get(event.Fleet, event.TypePlaceChanged).Data.(event.PlaceChanged)
			if c.State != want || c.Change != 5 || c.By != "ada" || c.Reason != "rebooted" {
				t.Errorf("%+v", c)
			}
		})
	}
}

// Of two people who saw the same, one is told that it is so no longer.
func TestAPlaceIsReleasedOnce(t *testing.T) {
	t.Parallel()
	w := newActingWorld(t, remote{})
	w.offer(lease.Place{Provider: "lab", Place: "n1", State: lease.Quarantined})
	if err := w.bus.Publish(t.Context(), event.Root(event.Fleet, "/gateway/other", w.gateway.deps.Now(), event.PlaceChanged{
		Provider: "lab", Place: "n1", Change: 1, State: release.PlaceFree, By: "bob",
	})); err != nil {
		t.Fatal(err)
	}
	if got := w.do("/api/v1/places/lab/n1/release", ""); got.code != http.StatusConflict || !strings.Contains(got.text, "changed meanwhile") {
		t.Errorf("%d %s", got.code, got.text)
	}
}

func TestPlacesAreDrained(t *testing.T) {
	t.Parallel()
	w := newActingWorld(t, remote{})
	if got := w.do("/api/v1/places/lab/n1/drain", `{"reason": "new disks"}`); got.code != http.StatusAccepted {
		t.Fatalf("without a scheduler: %d %s", got.code, got.text)
	}
	d := w.get(event.Fleet, event.TypePlaceDrainRequested).Data.(event.PlaceDrainRequested)
	if d.Provider != "lab" || d.Place != "n1" || d.By != "ada" || d.Resume || d.Reason != "new disks" {
		t.Errorf("%+v", d)
	}
	w.offer(lease.Place{Provider: "lab", Place: "n1"})
	for path, code := range map[string]int{
		"/api/v1/places/lab/n1/drain": http.StatusAccepted, "/api/v1/places/lab/n2/drain": http.StatusNotFound,
		"/api/v1/places/lab/a.b/drain": http.StatusBadRequest, "/api/v1/places/lab/n2/release": http.StatusNotFound,
	} {
		if got := w.do(path, `{"resume": true}`); got.code != code {
			t.Errorf("%s: %d %s, expected %d", path, got.code, got.text, code)
		}
	}
}
