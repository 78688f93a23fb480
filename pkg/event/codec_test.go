package event_test

import (
	"strings"
	"testing"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

var at = time.Date(2026, 11, 21, 10, 0, 0, 123_000_000, time.UTC)

func finished() event.Event {
	cause := event.Root("4f2a9c1d-k3m2pa7q", "/test-scheduler/h1", at, event.TaskDispatched{Task: "wheel-3_12", Attempt: 1, Pool: "linux"})
	return event.New(cause, "/executor/h1", at, event.TaskFinished{
		Task: "wheel-3_12", Attempt: 1, Pool: "linux", Outcome: release.Success, Class: release.ClassOK, LogLines: 1 << 40,
		Artifacts: []release.Artifact{{Name: "a.whl", Type: "wheel", Digest: release.DigestOf(nil), Size: 12}},
	})
}

func noHeader(string) string { return "" }

func TestEncodeIsACloudEventThatTheSDKReads(t *testing.T) {
	t.Parallel()
	e := finished()
	text, err := event.Encode(e)
	if err != nil {
		t.Fatal(err)
	}
	var ce cloudevents.Event
	if err := ce.UnmarshalJSON(text); err != nil {
		t.Fatal(err)
	}
	if err := ce.Validate(); err != nil {
		t.Fatal(err)
	}
	if ce.Type() != "dev.sluice.task.finished.v1" || ce.Subject() != "linux.wheel-3_12.1" || ce.DataSchema() != "urn:proto:sluice.v1.TaskFinished" ||
		ce.Extensions()["run"] != "4f2a9c1d-k3m2pa7q" || ce.Extensions()["causationid"] != e.Cause {
		t.Fatalf("the SDK read %s", ce)
	}
	back, err := event.Decode(text, noHeader)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(e, back); diff != "" {
		t.Fatal(diff)
	}
}

func TestDecodeReadsBinaryMode(t *testing.T) {
	t.Parallel()
	headers := map[string]string{
		"ce-specversion": "1.0", "ce-id": "i1", "ce-source": "/x", "ce-type": "dev.sluice.gate.opened.v1", "ce-subject": "0",
		"ce-run": "r1", "ce-time": "2026-11-21T10:00:00.123Z", "Content-Type": "application/json",
	}
	e, err := event.Decode([]byte(`{"candidate":"sha256:x"}`), func(h string) string { return headers[h] })
	if err != nil {
		t.Fatal(err)
	}
	want := event.Event{ID: "i1", Type: event.TypeGateOpened, Source: "/x", Run: "r1", Key: "0", Time: at, Data: event.GateOpened{Candidate: "sha256:x"}}
	if diff := cmp.Diff(want, e); diff != "" {
		t.Fatal(diff)
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	good, err := event.Encode(finished())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ old, new, want string }{
		"not JSON":         {"{", "<", "not a structured CloudEvent"},
		"another version":  {`"specversion":"1.0"`, `"specversion":"0.3"`, `specversion is "0.3"`},
		"unknown type":     {"task.finished.v1", "task.finnished.v1", "not in the catalogue"},
		"no id":            {`"id":"`, `"di":"`, "must both be set"},
		"wrong data":       {`"attempt":1`, `"attempt":"one"`, "no sluice.v1.TaskFinished"},
		"key of another":   {`"attempt":1`, `"attempt":2`, "its subject is"},
		"run with a star":  {"4f2a9c1d-k3m2pa7q", "*", "not letters, digits"},
		"task with a dot":  {"wheel-3_12", "wheel.3.12.>", "not letters, digits"},
		"subject injected": {`"run":"4f2a9c1d-k3m2pa7q"`, `"run":"a.b"`, "not letters, digits"},
	} {
		_, err := event.Decode([]byte(strings.ReplaceAll(string(good), c.old, c.new)), noHeader)
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v (%s), want an invalid %q", name, err, fault.Of(err), c.want)
		}
	}
}

func TestIdsAreDerived(t *testing.T) {
	t.Parallel()
	a, b := finished(), finished()
	if a.ID != b.ID {
		t.Fatalf("the same cause gave %s and %s", a.ID, b.ID)
	}
	other := event.New(event.Event{ID: "other", Run: a.Run}, a.Source, at, a.Data)
	if other.ID == a.ID {
		t.Fatal("another cause gave the same id")
	}
}

func TestSubjectsAndFilters(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		finished().Subject():                                "sluice.fact.4f2a9c1d-k3m2pa7q.task.finished.linux.wheel-3_12.1",
		event.TypeTaskFinished.Filter():                     "sluice.fact.*.task.finished.>",
		event.TypeTaskDispatched.Filter("linux"):            "sluice.fact.*.task.dispatched.linux.>",
		event.TypeRunPlanned.Filter():                       "sluice.fact.*.run.planned",
		event.TypeRunPlanned.FilterRun("r1"):                "sluice.fact.r1.run.planned",
		event.TypeExecutorHeartbeat.Filter("linux"):         "sluice.fleet.executor.heartbeat.linux.>",
		event.TypeTaskStarted.FilterRun("r", "p", "t", "1"): "sluice.fact.r.task.started.p.t.1",
		event.RunFilter("r1"):                               "sluice.fact.r1.>",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	good, err := event.Encode(finished())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good, "")
	f.Add([]byte(`{"candidate":"x"}`), "1.0")
	f.Fuzz(func(t *testing.T, body []byte, version string) {
		headers := map[string]string{"ce-specversion": version, "ce-id": "i", "ce-source": "/s", "ce-type": "dev.sluice.gate.opened.v1", "ce-subject": "0", "ce-run": "r"}
		e, err := event.Decode(body, func(h string) string { return headers[h] })
		if err != nil {
			return
		}
		text, err := event.Encode(e)
		if err != nil {
			t.Fatalf("decoded what cannot be encoded: %v", err)
		}
		back, err := event.Decode(text, noHeader)
		if err != nil || back.Subject() != e.Subject() {
			t.Fatalf("%s came back as %s, %v", e.Subject(), back.Subject(), err)
		}
	})
}
