package gateway

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/event"
)

func TestALimitIsAFact(t *testing.T) {
	t.Parallel()
	w := newActingWorld(t, remote{})
	got := w.do("/api/v1/limits", `{"of": "pool", "name": "gpu", "resource": "gpu", "amount": 0, "reason": "new driver"}`)
	e := w.get(event.Fleet, event.TypeLimitSet)
	set, _ := e.Data.(event.LimitSet)
	if got.code != http.StatusAccepted || e.ID != got.Event {
		t.Fatalf("%d %s, stored as %s", got.code, got.text, e.ID)
	}
	want := event.LimitSet{Request: set.Request, Of: event.LimitPool, Name: "gpu", Resource: "gpu", By: "ada", Reason: "new driver"}
	if set != want || set.Request == "" {
		t.Fatalf("stored %+v, want %+v", set, want)
	}
}

func TestLimitsThatMeanNothingAreRefused(t *testing.T) {
	t.Parallel()
	w := newActingWorld(t, remote{})
	for body, says := range map[string]string{
		`{}`: "expected one of",
		`{"of": "pond", "name": "a", "amount": 1}`:                                         "expected one of",
		`{"of": "group", "amount": 1}`:                                                     "a name of 1 to",
		`{"of": "group", "name": "a\u001bb", "amount": 1}`:                                 "a name of 1 to",
		`{"of": "pool", "name": "gpu", "amount": 1}`:                                       "its resource",
		`{"of": "pool", "name": "gpu", "resource": "ponies", "amount": 1}`:                 "its resource",
		`{"of": "group", "name": "a", "resource": "cpu", "amount": 1}`:                     "has resources",
		`{"of": "group", "name": "a"}`:                                                     "amount is missing",
		`{"of": "group", "name": "a", "amount": 1, "unset": true}`:                         "leave the amount out",
		`{"of": "group", "name": "a", "amount": -1}`:                                       "expected 0 to",
		`{"of": "group", "name": "a", "amount": 1e13}`:                                     "expected 0 to",
		`{"of": "group", "name": "` + strings.Repeat("x", maxName+1) + `", "unset": true}`: "a name of 1 to",
	} {
		if got := w.do("/api/v1/limits", body); got.code != http.StatusBadRequest || !strings.Contains(got.text, says) {
			t.Errorf("%s: %d %s, expected 400 that says %q", body, got.code, got.text, says)
		}
	}
	if n := len(w.facts()); n != 0 {
		t.Errorf("%d facts were stored", n)
	}
}
