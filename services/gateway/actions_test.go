package gateway

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/access"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// tokens lets two people act; the first has a token too many, during a rotation.
func tokens() []access.Static {
	return []access.Static{{Owner: "ada", Secret: "token"}, {Owner: "ada", Secret: "token-old"}, {Owner: "bob", Secret: "other"}}
}

func newActingWorld(t testing.TB, refs remote) *world {
	return newWorld(t, Config{Projects: []Project{widget()}, Tokens: tokens()}, refs, bus.Options{})
}

// do acts as ada, under an Idempotency-Key when one is given.
func (w *world) do(path, body string, key ...string) answer {
	w.t.Helper()
	h := http.Header{"Authorization": {"Bearer t0ken"}, "Content-Type": {"application/json"}}
	if len(key) > 0 {
		h.Set("Idempotency-Key", key[0])
	}
	return w.post(path, h, strings.NewReader(body))
}

// planned puts a run that has a plan into the stream.
func (w *world) planned(n int, more ...event.Payload) release.RunID {
	w.t.Helper()
	c := release.Change{Kind: release.Push, Repo: "acme/widget", Ref: "refs/heads/master", Branch: "master", Commit: numbered(n)}
	for _, p := range append([]event.Payload{event.ChangeReceived{Change: c}, event.RunPlanned{Change: c}}, more...) {
		if err := w.bus.Publish(w.t.Context(), event.Root(c.RunID(), "/test/1", time.Now(), p)); err != nil {
			w.t.Fatal(err)
		}
	}
	return c.RunID()
}

func TestEveryActionIsAFact(t *testing.T) {
	t.Parallel()
	w := newActingWorld(t, remote{})
	run := w.planned(1, event.CandidateAssembled{Candidate: release.DigestOf([]byte("candidate"))})
	opened := w.planned(2, event.GateOpened{})
	for _, k := range []struct {
		path, body string
		run        release.RunID
		want       func(request string) event.Payload
	}{
		{
			"/api/v1/runs/" + string(run) + "/cancel", `{"reason": "wrong branch"}`, run,
			func(id string) event.Payload {
				return event.RunCancelRequested{Request: id, By: "ada", Reason: "wrong branch"}
			},
		},
		{"/api/v1/runs/" + string(run) + "/retry", `{"tasks": ["a", "b"]}`, run, func(id string) event.Payload {
			return event.RunRetryRequested{Request: id, By: "ada", Tasks: []release.TaskID{"a", "b"}}
		}},
		{
			"/api/v1/runs/" + string(run) + "/approve", `{"note": "looks good"}`, run,
			func(string) event.Payload {
				return event.GateApproved{Approver: "token:ada", By: "ada", Note: "looks good", Candidate: release.DigestOf([]byte("candidate"))}
			},
		},
		{
			"/api/v1/runs/" + string(run) + "/hold", `{"reason": "wait"}`, run,
			func(id string) event.Payload { return event.GateHeld{Request: id, By: "ada", Reason: "wait"} },
		},
		{
			"/api/v1/runs/" + string(run) + "/resume", "", run,
			func(id string) event.Payload { return event.GateResumed{Request: id, By: "ada"} },
		},
		{
			"/api/v1/runs/" + string(opened) + "/retry", "{}", opened,
			func(id string) event.Payload { return event.PublicationRetryRequested{Request: id, By: "ada"} },
		},
		{"/api/v1/runs/" + string(opened) + "/undo", `{"reason": "half a release"}`, opened, func(id string) event.Payload {
			return event.PublicationUndoRequested{Request: id, By: "ada", Reason: "half a release"}
		}},
		{"/api/v1/runs/" + string(opened) + "/cancel", `{"reason": "the key is out", "now": true}`, opened, func(id string) event.Payload {
			return event.RunCancelRequested{Request: id, By: "ada", Reason: "the key is out", Now: true}
		}},
		{"/api/v1/pools/gpu/drain", `{"resume": true, "reason": "back"}`, event.Fleet, func(id string) event.Payload {
			return event.PoolDrainRequested{Request: id, Pool: "gpu", Resume: true, By: "ada", Reason: "back"}
		}},
	} {
		got := w.do(k.path, k.body)
		if got.code != http.StatusAccepted || got.Event == "" {
			t.Errorf("%s: %d %s", k.path, got.code, got.text)
			continue
		}
		e := w.get(k.run, k.want("").EventType())
		request := e.Key[strings.LastIndex(e.Key, ".")+1:]
		if e.ID != got.Event || fmt.Sprint(e.Data) != fmt.Sprint(k.want(request)) {
			t.Errorf("%s stored %+v as %s, expected %+v as %s", k.path, e.Data, e.ID, k.want(request), got.Event)
		}
	}
}

func TestActionsUnderOneKeyAreOneFact(t *testing.T) {
	t.Parallel()
	w := newActingWorld(t, remote{})
	run := w.planned(1)
	path := "/api/v1/runs/" + string(run) + "/retry"
	first, again, other := w.do(path, "{}", "k1"), w.do(path, "{}", "k1"), w.do(path, "{}", "k2")
	if first.Event != again.Event || first.Event == other.Event {
		t.Errorf("events %s and %s of one key, %s of another", first.Event, again.Event, other.Event)
	}
	if one, two := w.do(path, "{}"), w.do(path, "{}"); one.Event == two.Event {
		t.Error("two requests without a key are one fact")
	}
	if n := len(w.facts()); n != 6 { // the change, the plan, four retries
		t.Errorf("%d facts, expected 6", n)
	}
}

func TestWhoMayAct(t *testing.T) {
	t.Parallel()
	w := newActingWorld(t, remote{"refs/heads/master": numbered(1)})
	trigger := func(w *world, authorization string) answer {
		h := http.Header{}
		if authorization != "" {
			h.Set("Authorization", authorization)
		}
		return w.post("/api/v1/runs", h, strings.NewReader(`{"project": "widget", "branch": "master"}`))
	}
	for authorization, code := range map[string]int{
		"Bearer t0ken": 202, "Bearer 0ld": 202, "bearer oth3r": 202,
		"": 401, "Bearer": 401, "Bearer ": 401, "Bearer t0ke": 401, "Bearer t0kenn": 401, "Basic t0ken": 401, "t0ken": 401,
	} {
		got := trigger(w, authorization)
		if got.code != code || code == 401 && (got.header.Get("WWW-Authenticate") != "Bearer" || got.Error.Kind != fault.Denied) {
			t.Errorf("%q: %d %s, expected %d", authorization, got.code, got.text, code)
		}
	}
	for name, tokens := range map[string][]access.Static{"none": nil, "empty": {{Owner: "eve", Secret: "empty"}}, "absent": {{Owner: "eve", Secret: "absent"}}} {
		none := newWorld(t, Config{Projects: []Project{widget()}, Tokens: tokens}, remote{}, bus.Options{})
		if got := trigger(none, "Bearer "); got.code < 400 || len(none.facts()) != 0 {
			t.Errorf("%s: %d %s", name, got.code, got.text)
		}
		got := trigger(none, "Bearer x")
		if want := map[string]int{"none": 401, "empty": 401, "absent": 500}[name]; got.code != want || strings.Contains(got.text, "absent") {
			t.Errorf("%s: %d %s, expected %d", name, got.code, got.text, want)
		}
	}
	half := newWorld(t, Config{Projects: []Project{widget()}, Tokens: append(tokens(), access.Static{Owner: "eve", Secret: "absent"})}, remote{"refs/heads/master": numbered(1)}, bus.Options{})
	if got := trigger(half, "Bearer t0ken"); got.code != http.StatusAccepted {
		t.Errorf("beside a token whose value is missing: %d %s", got.code, got.text)
	}
}

func TestTrigger(t *testing.T) {
	t.Parallel()
	refs := remote{"refs/heads/master": numbered(1)}
	w := newActingWorld(t, refs)
	got := w.do("/api/v1/runs", `{"project": "widget", "branch": "master", "parameters": {"frequency": "nightly"}}`)
	c := w.get(got.Run, event.TypeChangeReceived).Data.(event.ChangeReceived).Change
	if c.Kind != release.Manual || c.Commit != numbered(1) || c.Branch != "master" || c.Author != "ada" || c.Verified != "api" ||
		c.Parameters["frequency"] != "nightly" || c.Project != "widget" || c.RunID() != got.Run {
		t.Errorf("%+v", c)
	}
	alone := w.do("/api/v1/runs", `{"project": "widget", "commit": "`+string(numbered(7))+`"}`)
	c = w.get(alone.Run, event.TypeChangeReceived).Data.(event.ChangeReceived).Change
	if publishes, why := (release.ReleasePolicy{Branch: "master", Also: []string{"*"}, Tags: []string{"*"}}).Allows(c); publishes {
		t.Errorf("a commit on no branch may publish: %s", why)
	}
	if one, two := w.do("/api/v1/runs", `{"project": "widget", "branch": "master"}`), got; one.Run == two.Run {
		t.Error("two requests are one run")
	}
	first := w.do("/api/v1/runs", `{"project": "widget", "branch": "master"}`, "k")
	refs["refs/heads/master"] = numbered(2) // the branch moves while the answer is on its way
	if again := w.do("/api/v1/runs", `{"project": "widget", "branch": "master"}`, "k"); again.Run != first.Run || first.Run == "" {
		t.Errorf("one key started %s and %s", first.Run, again.Run)
	}
}

func TestActionsThatAreRefused(t *testing.T) {
	t.Parallel()
	w := newActingWorld(t, remote{"refs/heads/master": numbered(1)})
	run, opened := w.planned(1), w.planned(2, event.GateOpened{})
	published := w.planned(3, event.GateOpened{}, event.ReleasePublished{})
	before := len(w.facts())
	for _, k := range []struct {
		path, body string
		code       int
		says       string
	}{
		{"/api/v1/runs", `{"project": "other", "branch": "master"}`, 404, "there are: widget"},
		{"/api/v1/runs", `{"project": "widget"}`, 400, "name a branch or a commit"},
		{"/api/v1/runs", `{"project": "widget", "branch": "gone"}`, 400, `no branch \"gone\"`},
		{"/api/v1/runs", `{"project": "widget", "branch": "*"}`, 400, "no branch's name"},
		{"/api/v1/runs", `{"project": "widget", "branch": "a b"}`, 400, "no branch's name"},
		{"/api/v1/runs", `{"project": "widget", "commit": "abc"}`, 400, "expected 40 hexadecimal digits"},
		{"/api/v1/runs", `{"project": "widget", "branch": "master", "commit": "` + string(numbered(9)) + `"}`, 400, "is not the head"},
		{"/api/v1/runs", `{"project": "widget", "brnch": "x"}`, 400, "brnch"},
		{"/api/v1/runs", `{"project": "widget"} trailing`, 400, "something follows"},
		{"/api/v1/runs", `[]`, 400, "no JSON object"},
		{"/api/v1/runs", `{"project": "` + strings.Repeat("x", smallBody) + `"}`, 400, "too large"},
		{"/api/v1/runs/no-such-run/cancel", "", 404, "cannot find run no-such-run"},
		{"/api/v1/runs/-/cancel", "", 400, "cannot find run"},
		{"/api/v1/runs/a.b/cancel", "", 400, "letters, digits"},
		{"/api/v1/runs/" + string(opened) + "/retry", `{"tasks": ["a"]}`, 409, "what was tested is what is published"},
		{"/api/v1/runs/" + string(opened) + "/undo", `{}`, 400, "say why"},
		{"/api/v1/runs/" + string(run) + "/undo", `{"reason": "x"}`, 409, "nothing is visible"},
		{"/api/v1/runs/" + string(published) + "/undo", `{"reason": "x"}`, 409, "it is published"},
		{"/api/v1/pools/a.b/drain", "", 400, "letters, digits"},
		{"/api/v1/deadletters/x/replay", "", 400, "expected its number"},
		{"/api/v1/deadletters/7/replay", "", 404, "there is none"},
	} {
		got := w.do(k.path, k.body)
		if got.code != k.code || !strings.Contains(got.text, k.says) {
			t.Errorf("%s %.80s: %d %s, expected %d with %q", k.path, k.body, got.code, got.text, k.code, k.says)
		}
	}
	if got := w.do("/api/v1/runs/"+string(run)+"/cancel", "", strings.Repeat("k", maxKey+1)); got.code != http.StatusBadRequest {
		t.Errorf("an endless key: %d %s", got.code, got.text)
	}
	if n := len(w.facts()); n != before {
		t.Errorf("%d facts of refused actions are stored", n-before)
	}
	away := newActingWorld(t, nil)
	if got := away.do("/api/v1/runs", `{"project": "widget", "branch": "master"}`); got.code != http.StatusServiceUnavailable {
		t.Errorf("with the forge away: %d %s", got.code, got.text)
	}
}

// A dead letter goes to its consumer once more, and is gone when that has taken it.
func TestReplayOfADeadLetter(t *testing.T) {
	t.Parallel()
	w := newActingWorld(t, remote{})
	var mended atomic.Bool
	route := bus.On("mend", nil, func(context.Context, event.Event, event.ChangeReceived) ([]event.Payload, error) {
		if mended.Load() {
			return nil, nil
		}
		return nil, fault.New(fault.Invalid, "cannot take it")
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.bus.Serve(ctx, "test", "/test/1", route) }()
	t.Cleanup(func() { cancel(); <-ended })
	w.deliver("push-master-first.json")
	var letters []bus.DeadLetter
	for end := time.Now().Add(time.Minute); len(letters) == 0 && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		letters, _ = w.bus.DeadLetters(t.Context(), 0, 10)
	}
	if len(letters) != 1 {
		t.Fatalf("%d dead letters, expected 1", len(letters))
	}
	path := fmt.Sprintf("/api/v1/deadletters/%d/replay", letters[0].Seq)
	if got := w.do(path, ""); got.code != http.StatusConflict || !strings.Contains(got.text, "cannot take it") {
		t.Errorf("replayed before it was mended: %d %s", got.code, got.text)
	}
	mended.Store(true)
	if got := w.do(path, ""); got.code != http.StatusAccepted {
		t.Errorf("replayed: %d %s", got.code, got.text)
	}
	if letters, err := w.bus.DeadLetters(t.Context(), 0, 10); err != nil || len(letters) != 0 {
		t.Errorf("%d dead letters are left, %v", len(letters), err)
	}
}

// A run that was only just announced can be cancelled and held, but has nothing to retry, and no candidate to approve.
func TestRunWithoutPlan(t *testing.T) {
	t.Parallel()
	w := newActingWorld(t, remote{})
	run := w.deliver("push-master-first.json").Run
	for verb, code := range map[string]int{"cancel": 202, "hold": 202, "resume": 202, "approve": 409, "retry": 404} {
		if got := w.do("/api/v1/runs/"+string(run)+"/"+verb, ""); got.code != code {
			t.Errorf("%s: %d %s, expected %d", verb, got.code, got.text, code)
		}
	}
}
