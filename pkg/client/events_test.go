package client_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/sluiceci/sluice/pkg/client"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
)

func TestHistory(t *testing.T) {
	t.Parallel()
	c := serve(t, map[string]http.HandlerFunc{"GET /api/v1/runs/r/events": func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("after") == "" {
			says(map[string]any{"events": []any{map[string]any{
				"seq": 3, "id": "a", "type": "task.started", "run": "r", "data": map[string]any{"task": "t", "attempt": 1, "pool": "linux"},
			}}, "next": 3})(w, r)
			return
		}
		says(map[string]any{"events": []any{map[string]any{
			"seq": 4, "id": "b", "type": "run.finished", "run": "r", "data": map[string]any{"round": 1, "outcome": "success"},
		}}})(w, r)
	}})
	all, err := c.History(t.Context(), "r")
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	if got := all[0].Subject() + " " + all[1].Subject(); got != "sluice.fact.r.task.started.linux.t.1 sluice.fact.r.run.finished.1" {
		t.Errorf("the places are %s", got)
	}
}

func TestDecodeRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	for _, e := range []client.Event{
		{Type: "task.teleported", Data: []byte("{}")},
		{Type: event.TypeTaskStarted, Data: []byte("[]")},
		{Type: event.TypeTaskStarted},
	} {
		if _, err := e.Decode(); !fault.Is(err, fault.Invalid) {
			t.Errorf("%+v: %v, want invalid", e, err)
		}
	}
}

func FuzzEvent(f *testing.F) {
	f.Add([]byte(`{"seq":1,"type":"task.started","data":{"task":"t"}}`))
	f.Add([]byte(`{"type":"gate.closed","data":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var e client.Event
		if json.Unmarshal(text, &e) != nil {
			return
		}
		if decoded, err := e.Decode(); err == nil && decoded.Data == nil {
			t.Fatal("an event without data")
		}
	})
}
