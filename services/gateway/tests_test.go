package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
)

// list reads one of the lists of health.
func list[T any](w *world, path string) T {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, w.url+path, nil)
	must(w.t, err)
	got, err := http.DefaultClient.Do(r)
	must(w.t, err)
	defer func() { _ = got.Body.Close() }()
	var out T
	must(w.t, json.NewDecoder(got.Body).Decode(&out))
	return out
}

// TestPeopleJailAndFreeTests follows what people say of a test, and what others are told of it.
func TestPeopleJailAndFreeTests(t *testing.T) {
	t.Parallel()
	w := newActingWorld(t, remote{})
	type tests struct{ Tests []TestStatus }
	if got := list[tests](w, "/api/v1/tests"); got.Tests == nil || len(got.Tests) != 0 {
		t.Errorf("at first there are %+v", got)
	}
	until := time.Now().Add(72 * time.Hour).UTC().Truncate(time.Second)
	body := fmt.Sprintf(`{"test": "soak.aws", "owner": "perf", "until": %q, "reason": "hardware"}`, until.Format(time.RFC3339))
	if a := w.do("/api/v1/tests/jail", body); a.code != http.StatusAccepted || a.Event == "" {
		t.Fatalf("jailing is answered %d %s", a.code, a.text)
	}
	w.publish(event.IssueSynced{Project: "widget", Test: "soak.aws", Intent: "1", Issue: 9, URL: "http://forge/9", Open: true},
		event.BisectEnded{Bisect: "b1", Project: "widget", Test: "soak.aws", Blamed: numbered(3)})
	got := list[tests](w, "/api/v1/tests?project=widget").Tests
	if len(got) != 1 || got[0].State != "jailed" || got[0].Owner != "perf" || !got[0].Until.Equal(until) || got[0].By != "ada" ||
		got[0].Issue != 9 || got[0].Blamed != string(numbered(3)) || got[0].Reason != "hardware" {
		t.Errorf("jailed it is %+v", got)
	}
	if got := list[tests](w, "/api/v1/tests?project=other").Tests; len(got) != 0 {
		t.Errorf("of another project there are %+v", got)
	}
	m := w.get(event.Fleet, event.TypeTestMoved).Data.(event.TestMoved)
	if m.From != "passing" || m.Number != 1 || m.Want != event.IssueOpen || m.Title == "" || m.Labels[0] != labelJailed {
		t.Errorf("said is %+v", m)
	}
	if a := w.do("/api/v1/tests/free", `{"project": "widget", "test": "soak.aws"}`); a.code != http.StatusAccepted {
		t.Errorf("freeing is answered %d %s", a.code, a.text)
	}
	if a := w.do("/api/v1/tests/free", `{"test": "soak.aws"}`); a.code != http.StatusConflict {
		t.Errorf("freeing what is free is answered %d %s", a.code, a.text)
	}
	if got := list[tests](w, "/api/v1/tests").Tests; got[0].State != "passing" || got[0].Reason != "freed by ada" {
		t.Errorf("freed it is %+v", got)
	}
}

func (w *world) publish(payloads ...event.Payload) {
	w.t.Helper()
	for _, p := range payloads {
		must(w.t, w.bus.Publish(w.t.Context(), event.Root(event.Fleet, "/test/1", time.Now(), p)))
	}
}

// TestRequestsAboutTestsAreChecked refuses what would be no fact worth keeping.
func TestRequestsAboutTestsAreChecked(t *testing.T) {
	t.Parallel()
	w := newActingWorld(t, remote{})
	good, bad := numbered(1), numbered(2)
	search := func(more string) string {
		return fmt.Sprintf(`{"task": "soak", "good": %q, "bad": %q%s}`, good, bad, more)
	}
	for _, one := range []struct{ path, body, says string }{
		{"tests/jail", `{"owner": "x"}`, "expected the name of a test"},
		{"tests/jail", `{"test": "a\u001bb", "owner": "x"}`, "expected the name of a test"},
		{"tests/jail", `{"test": "a"}`, "who is to repair it"},
		{"tests/jail", `{"test": "a", "owner": "x", "until": "2001-01-01T00:00:00Z"}`, "within the next year"},
		{"bisects", `{"task": "soak"}`, "whole names of two commits"},
		{"bisects", fmt.Sprintf(`{"good": %q, "bad": %q}`, good, bad), "the id or the name of a task"},
		{"bisects", fmt.Sprintf(`{"task": "soak", "good": %q, "bad": %q}`, good, good), "whole names of two commits"},
		{"bisects", search(`, "ways": 1000`), "ways 1000"},
		{"bisects", search(`, "budget": -1`), "budget -1"},
		{"bisects", search(`, "confirm": -1`), "confirm -1"},
		{"bisects", search(`, "deadline": "2001-01-01T00:00:00Z"`), "within the next 30 days"},
		{"bisects", search(`, "parameters": {"a": "\u0007"}`), "expected plain text"},
	} {
		if a := w.do("/api/v1/"+one.path, one.body); a.code != http.StatusBadRequest || !strings.Contains(a.text, one.says) {
			t.Errorf("%s %s is answered %d %s, expected %q", one.path, one.body, a.code, a.text, one.says)
		}
	}
	if n := len(w.facts()); n != 0 {
		t.Errorf("%d facts are stored", n)
	}
	for range 2 {
		if a := w.do("/api/v1/bisects", search(`, "confirm": 0`), "k1"); a.code != http.StatusAccepted || !strings.Contains(a.text, `"bisect"`) {
			t.Errorf("a search is answered %d %s", a.code, a.text)
		}
	}
	type bisects struct{ Bisects []BisectStatus }
	if got := list[bisects](w, "/api/v1/bisects").Bisects; len(got) != 1 || got[0].State != "running" || got[0].By != "ada" || got[0].Good != good {
		t.Errorf("the searches are %+v", got)
	}
	w.stops()
	b := w.get(event.Fleet, event.TypeBisectRequested).Data.(event.BisectRequested)
	if b.Ways != 3 || b.Runs != 1 || b.Confirm != 0 || b.Budget != 30 || b.Deadline.IsZero() || b.Project != "widget" || b.Test != "soak" {
		t.Errorf("asked for is %+v", b)
	}
}

// stops ends the one search that there is, and the one of its runs that goes on.
func (w *world) stops() {
	w.t.Helper()
	id := w.get(event.Fleet, event.TypeBisectRequested).Data.(event.BisectRequested).Bisect
	over, on := w.planned(7, event.RunFinished{}), w.planned(8)
	w.publish(event.BisectAdvanced{Bisect: id, Started: []event.BisectRun{{Run: over}, {Run: on, Number: 1}}})
	if a := w.do("/api/v1/bisects/none/stop", ""); a.code != http.StatusNotFound {
		w.t.Errorf("stopping what is not there is answered %d %s", a.code, a.text)
	}
	if a := w.do("/api/v1/bisects/"+id[:6]+"/stop", `{"reason": "too dear"}`); a.code != http.StatusAccepted || !strings.Contains(a.text, id) {
		w.t.Errorf("stopping is answered %d %s", a.code, a.text)
	}
	if a := w.do("/api/v1/bisects/"+id+"/stop", ""); a.code != http.StatusConflict {
		w.t.Errorf("stopping again is answered %d %s", a.code, a.text)
	}
	if got := w.get(event.Fleet, event.TypeBisectEnded).Data.(event.BisectEnded); got.Reason != "stopped by ada: too dear" {
		w.t.Errorf("it ended with %+v", got)
	}
	if got := w.get(on, event.TypeRunCancelRequested).Data.(event.RunCancelRequested); got.By != "ada" {
		w.t.Errorf("its run was told %+v", got)
	}
	if there, err := w.gateway.said(w.t.Context(), over, event.TypeRunCancelRequested); there || err != nil {
		w.t.Errorf("a run that was over was cancelled (%v)", err)
	}
}
