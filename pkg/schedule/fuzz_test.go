package schedule

import (
	"bytes"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
)

// FuzzApply folds events from anywhere: whatever they say, nothing panics, hearing them twice changes nothing, and
// decisions are made, sent and explained.
func FuzzApply(f *testing.F) {
	b := newBench(f, Config{})
	b.say(pushed(nil)...)
	b.follow()
	b.say(event.RunRetryRequested{Request: "1"}, event.RunCancelRequested{Request: "2"}, event.PublicationRetryRequested{Request: "3"})
	b.store(event.Fleet, event.PoolDrainRequested{Pool: "linux", Request: "1"})
	f.Add(lines(f, b.stream))
	r := failedRun(f)
	f.Add(lines(f, r.stream))
	f.Fuzz(func(t *testing.T, text []byte) {
		var heard []event.Event
		s := New(Config{})
		for i, line := range bytes.Split(text, []byte("\n")) {
			e, err := event.Decode(line, func(string) string { return "" })
			if err != nil {
				continue
			}
			e.Seq = uint64(i + 1)
			heard = append(heard, e)
			s.Apply(e)
		}
		once := Dump(s)
		for _, e := range heard {
			s.Apply(e)
		}
		if twice := Dump(s); twice != once {
			t.Fatalf("heard twice:\n%s\nheard once:\n%s", twice, once)
		}
		decideOn(s, heard)
	})
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

func lines(f *testing.F, stream []event.Event) []byte {
	var out []byte
	for _, e := range stream {
		line, err := event.Encode(e)
		if err != nil {
			f.Fatal(err)
		}
		out = append(append(out, line...), '\n')
	}
	return out
}
