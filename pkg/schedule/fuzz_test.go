package schedule

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// FuzzApply folds events that nobody would say in that order, made of few names so that they concern each other, and
// taken through the wire's form. Whatever they say, nothing panics, hearing them twice or backwards changes nothing,
// and decisions are made, sent and explained.
func FuzzApply(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x00\x01\x00\x00\x01\x02\x00\x01\x00\x03\x00\x01\x00\x04\x00\x01\x03"))
	f.Add([]byte("a quick retry of something that was cancelled while it ran, and more"))
	f.Fuzz(func(t *testing.T, text []byte) {
		heard := drawEvents(t, text[:min(len(text), 400)])
		s, backwards := New(Config{Keep: -1}), New(Config{Keep: -1})
		for i, e := range heard {
			s.Apply(e)
			backwards.Apply(heard[len(heard)-1-i])
		}
		once := Dump(s)
		for _, e := range heard {
			s.Apply(e)
		}
		if twice := Dump(s); twice != once {
			t.Fatalf("heard twice:\n%s\nheard once:\n%s", twice, once)
		}
		if other := Dump(backwards); other != once {
			t.Fatalf("heard backwards:\n%s\nheard in order:\n%s", other, once)
		}
		decideOn(s, heard)
	})
}

// drawEvents makes an event of every four bytes.
func drawEvents(t *testing.T, text []byte) []event.Event {
	var out []event.Event
	places := map[string]bool{}
	for i := 0; i+4 <= len(text); i += 4 {
		e := event.Root("r", "/fuzz/1", noon(), drawPayload(text[i], text[i+1], text[i+2], text[i+3]))
		body, err := event.Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		if e, err = event.Decode(body, func(string) string { return "" }); err != nil {
			t.Fatal(err)
		}
		if places[e.Subject()] {
			continue // the stream keeps one event per place
		}
		places[e.Subject()] = true
		e.Seq, e.Stored = uint64(i+1), noon().Add(time.Duration(i)*time.Second)
		out = append(out, e)
	}
	return out
}

func drawPayload(what, a, b, c byte) event.Payload {
	task, n := release.TaskID(fmt.Sprint("t", a%4)), int32(b%4)
	request := fmt.Sprint("q", a%8)
	class := release.Classes()[int(c)%len(release.Classes())]
	switch what % 20 {
	case 0, 1:
		need := release.TaskID(fmt.Sprint("t", b%4))
		return event.TaskRequested{Task: task, Pool: "p", Kind: []release.TaskKind{release.Build, release.Test}[c%2], Needs: []release.TaskID{need}[:b/64%2], SoftFail: c > 200}
	case 2:
		return event.TaskDispatched{Task: task, Attempt: n, Pool: "p"}
	case 3:
		return event.TaskStarted{Task: task, Attempt: n, Pool: "p", Executor: fmt.Sprint("x", c%2)}
	case 4:
		return event.TaskAwaited{Task: task, Attempt: n, Asked: int32(c % 5), Answer: "404"}
	case 5:
		return event.TaskFinished{Task: task, Attempt: n, Pool: "p", Class: class, Outcome: class.Outcome()}
	case 6:
		return event.TaskDelayed{Task: task, Attempt: n, Until: noon().Add(time.Duration(c) * time.Second)}
	case 7:
		return event.TaskConcluded{Task: task, Attempts: n, Round: int32(c % 3), Class: class, Outcome: class.Outcome()}
	case 8:
		return event.TaskCancelRequested{Task: task, Attempt: n, Pool: "p"}
	case 9:
		return push(n, int32(c%3), task)
	case 10:
		return event.RunCancelRequested{Request: request}
	case 11:
		return event.RunRetryRequested{Request: request, Tasks: []release.TaskID{task}[:c%2]}
	case 12:
		return assembled(n)
	case 13:
		return event.CandidateRejected{Round: n}
	case 14:
		return event.GateOpened{Round: n}
	case 15:
		return event.GateClosed{Round: n}
	case 16:
		return event.RunFinished{Round: n}
	case 17:
		return []event.Payload{event.GateHeld{Request: request}, event.GateResumed{Request: request}, approve(request)}[c%3]
	case 18:
		return []event.Payload{event.ReleasePublished{}, event.ReleaseFailed{Round: n}, event.PublicationRetryRequested{Request: request}}[c%3]
	default:
		return event.PublicationFailed{Target: request, State: release.Probed, Fault: []string{"transient", "conflict"}[c%2]}
	}
}

func decideOn(s *State, heard []event.Event) {
	now := noon()
	for range 3 {
		intents, _ := Decide(s, now)
		s.Sent(intents)
		for _, i := range intents {
			s.Apply(event.New(i.Cause, "/fuzz/1", now, i.Payload))
		}
		for _, e := range heard {
			Explain(s, e.Run, "", now)
			if p, ok := e.Data.(event.TaskRequested); ok {
				Explain(s, e.Run, p.Task, now)
			}
		}
		Survey(s)
		now = now.Add(time.Minute)
	}
}
