package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/client"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/lease"
)

// lab serves two places, and notes what is asked of them.
func lab(t *testing.T, asked *[]string) string {
	places := []lease.Place{
		{Provider: "lab", Place: "node-1", State: lease.Leased, Reason: "held by r/long/1", Token: 7, Holders: []lease.Holder{{
			AttemptRef: event.AttemptRef{Run: "r", Task: "long", Attempt: 1}, Token: 7, Since: time.Now(), Until: time.Now().Add(time.Hour),
		}}, Waiting: 3},
		{Provider: "lab", Place: "node-2", State: lease.Quarantined, Reason: "3 failures in a row; the last: health failed as command"},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, _ := io.ReadAll(r.Body)
			*asked = append(*asked, r.URL.Path+" "+string(body))
			w.WriteHeader(http.StatusAccepted)
			_, _ = io.WriteString(w, "{}")
			return
		}
		must(t, json.NewEncoder(w).Encode(map[string]any{"places": places}))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestPlaces(t *testing.T) {
	t.Setenv("SLUICE_TOKEN", "t0ken")
	var asked []string
	url := lab(t, &asked)
	for line, says := range map[string][]string{
		"places":                                 {"lab/node-1", "● held", "r/long #1", "7", "3", "✗ quarantined", "health failed"},
		"places --json":                          {`"state": "quarantined"`, `"run": "r"`},
		"places drain lab/node-1 --reason disks": {"Place lab/node-1 is leased to nobody any more"},
		"places resume lab/node-1":               {"Place lab/node-1 may be leased again."},
		"places release lab/node-2":              {"Place lab/node-2 is released."},
	} {
		got := sluice(t, append(strings.Fields(line), "--server", url)...)
		for _, s := range says {
			if got.code != 0 || !strings.Contains(got.out, s) {
				t.Errorf("%s: exit %d without %q:\n%s%s", line, got.code, s, got.out, got.talk)
			}
		}
	}
	all := strings.Join(asked, "\n")
	for _, want := range []string{
		`/api/v1/places/lab/node-1/drain {"resume":false,"reason":"disks"}`, `/api/v1/places/lab/node-1/drain {"resume":true}`,
		"/api/v1/places/lab/node-2/release {}",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("nobody asked for %s in\n%s", want, all)
		}
	}
	if got := sluice(t, "places", "drain", "node-1", "--server", url); got.code != 2 || !strings.Contains(got.talk, "expected PROVIDER/PLACE") {
		t.Errorf("exit %d: %s", got.code, got.talk)
	}
}

func TestClientReadsPlaces(t *testing.T) {
	t.Parallel()
	for _, pair := range []struct{ server, client any }{{lease.Place{}, client.PlaceStatus{}}, {lease.Holder{}, client.PlaceHolder{}}} {
		want, got := fields(reflect.TypeOf(pair.server)), fields(reflect.TypeOf(pair.client))
		if !reflect.DeepEqual(want, got) {
			t.Errorf("%T has %v, %T has %v", pair.server, want, pair.client, got)
		}
	}
}
