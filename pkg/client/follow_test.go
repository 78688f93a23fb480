package client_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/client"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

func TestLogGoesOnWhereTheConnectionBroke(t *testing.T) {
	t.Parallel()
	lines := []string{"one", "two", "three", "", "five without end"}
	var asked []string
	c := serve(t, map[string]http.HandlerFunc{"GET /api/v1/runs/r/tasks/t/log": func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RawQuery)
		var from int
		if _, err := fmt.Sscan(r.FormValue("from_line"), &from); err != nil {
			t.Error(err)
		}
		if from == 1 {
			fmt.Fprint(w, "one\ntwo\nthr")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		fmt.Fprint(w, strings.Join(lines[from-1:], "\n"))
	}})
	var got []string
	err := c.Log(within(t, 20*time.Second), client.LogQuery{Run: "r", Task: "t", Attempt: 2, Follow: true}, func(line string) error {
		got = append(got, line)
		return nil
	})
	if err != nil || strings.Join(got, "|") != strings.Join(lines, "|") {
		t.Errorf("%q, %v; want %q", got, err, lines)
	}
	if want := "attempt=2&follow=true&from_line=1 attempt=2&follow=true&from_line=3"; strings.Join(asked, " ") != want {
		t.Errorf("asked %q, want %q", asked, want)
	}
}

func TestLogOfNothing(t *testing.T) {
	t.Parallel()
	c := serve(t, map[string]http.HandlerFunc{"/": refuses(404, "invalid", "cannot find this attempt")})
	err := c.Log(within(t, 5*time.Second), client.LogQuery{Run: "r", Task: "t"}, func(string) error { return nil })
	if !client.NotFound(err) {
		t.Errorf("%v, want not found at once", err)
	}
}

func TestLogHandsLongLinesOnInPieces(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200_000)
	c := serve(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, long+"\nend\n") }})
	var got []string
	err := c.Log(within(t, 5*time.Second), client.LogQuery{Run: "r", Task: "t"}, func(line string) error {
		got = append(got, line)
		return nil
	})
	if err != nil || len(got) < 3 || strings.Join(got[:len(got)-1], "") != long || got[len(got)-1] != "end" {
		t.Errorf("%d pieces, %v", len(got), err)
	}
}

// story is a run that ends after some looks, on a server that is away once.
func story(t *testing.T) *client.Client {
	t.Helper()
	var looks atomic.Int32
	return serve(t, map[string]http.HandlerFunc{
		"GET /api/v1/runs/r": func(w http.ResponseWriter, r *http.Request) {
			switch n := looks.Add(1); n {
			case 1, 3:
				says(client.Status{Run: client.Run{ID: "r", State: client.StateRunning, Seq: uint64(n)}})(w, r)
			case 2:
				refuses(503, "transient", "cannot reach the bus")(w, r)
			default:
				says(client.Status{Run: client.Run{ID: "r", State: "failure", Outcome: release.Failure, Seq: 4}})(w, r)
			}
		},
		"GET /api/v1/runs/r/timeline": func(w http.ResponseWriter, r *http.Request) {
			page := map[string]any{"timeline": []client.Moment{}}
			if r.FormValue("after") == "" {
				page = map[string]any{"timeline": []client.Moment{{Seq: 1, Line: "planned"}, {Seq: 2, Line: "started"}}, "next": 2}
			} else if looks.Load() > 3 && r.FormValue("after") == "2" {
				page = map[string]any{"timeline": []client.Moment{{Seq: 4, Line: "ended"}}}
			}
			says(page)(w, r)
		},
		"GET /api/v1/runs/r/watch": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for r.Context().Err() == nil {
				fmt.Fprint(w, "event: run\ndata: {}\n\n")
				w.(http.Flusher).Flush()
				select {
				case <-r.Context().Done():
				case <-time.After(20 * time.Millisecond):
				}
			}
		},
	})
}

func TestWatch(t *testing.T) {
	t.Parallel()
	var told []string
	troubles := 0
	run, err := story(t).Watch(within(t, 20*time.Second), client.Watching{
		Run: "r", Moments: true,
		Seen: func(_ client.Status, news []client.Moment) error {
			for _, m := range news {
				told = append(told, m.Line)
			}
			return nil
		},
		Trouble: func(error) { troubles++ },
	})
	if err != nil || run.ExitCode() != 1 || strings.Join(told, " ") != "planned started ended" || troubles != 1 {
		t.Errorf("%+v, %v; told %q, %d troubles", run.State, err, told, troubles)
	}
}

func TestWatchEndsWithItsContextAndWithItsRun(t *testing.T) {
	t.Parallel()
	c := serve(t, map[string]http.HandlerFunc{
		"GET /api/v1/runs/r": says(client.Status{Run: client.Run{ID: "r", State: client.StateRunning}}),
		"GET /api/v1/runs/x": refuses(404, "invalid", "cannot find run x"),
	})
	seen := func(client.Status, []client.Moment) error { return nil }
	if _, err := c.Watch(within(t, 50*time.Millisecond), client.Watching{Run: "r", Seen: seen}); !fault.Is(err, fault.Transient) {
		t.Errorf("%v, want the context's end", err)
	}
	if _, err := c.Watch(within(t, 10*time.Second), client.Watching{Run: "x", Seen: seen}); !client.NotFound(err) {
		t.Errorf("%v, want not found at once", err)
	}
}

func TestWatchWaitsForTheNextEnd(t *testing.T) {
	t.Parallel()
	var looks atomic.Int32
	c := serve(t, map[string]http.HandlerFunc{"GET /api/v1/runs/r": func(w http.ResponseWriter, r *http.Request) {
		run := client.Run{ID: "r", State: "failure", Round: 0}
		switch n := looks.Add(1); {
		case n == 1: // it has not heard of the run yet
			refuses(404, "invalid", "cannot find run r")(w, r)
			return
		case n > 2:
			run.State, run.Round = "success", 1
		}
		says(client.Status{Run: run})(w, r)
	}})
	run, err := c.Watch(within(t, 20*time.Second), client.Watching{
		Run: "r", New: true, Rounds: 1, Seen: func(client.Status, []client.Moment) error { return nil },
	})
	if err != nil || run.Round != 1 || run.ExitCode() != 0 {
		t.Errorf("%+v, %v after %d looks; want the end of round 1", run.State, err, looks.Load())
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]int{
		"success": 0, "failure": 1, "error": 2, "cancel": 3, client.StateRejected: 1, client.StateIgnored: 0, "new state": 2,
	} {
		if got := (client.Run{State: state}).ExitCode(); got != want {
			t.Errorf("a run in state %q exits with %d, want %d", state, got, want)
		}
	}
}
