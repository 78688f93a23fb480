package lease_test

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/lease"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/test/property"
)

// TestPlacesOfAnyOrderAreTheSame: facts that come in another order, and more than once, come to the same.
func TestPlacesOfAnyOrderAreTheSame(t *testing.T) {
	t.Parallel()
	property.Check(t, func(rt *rapid.T) {
		s := seed(rapid.Uint64().Draw(rt, "seed"))
		if s.roll("tenth", 10) > 0 {
			return // worlds are many already
		}
		w := newWorld(rt, &s)
		for range s.roll("steps", 60) {
			w.step()
		}
		stream := w.stream[:min(len(w.stream), 100)]
		straight, shuffled := lease.New(simConfig), lease.New(simConfig)
		for _, e := range stream {
			straight.Apply(e)
		}
		for range 2 {
			for _, i := range shuffle(&s, len(stream)) {
				shuffled.Apply(stream[i])
			}
		}
		if a, b := straight.Places(), shuffled.Places(); !reflect.DeepEqual(a, b) {
			rt.Fatalf("in order\n%+v\nin another\n%+v%s", a, b, w.tell())
		}
	})
}

func shuffle(d dice, n int) []int {
	out := make([]int, n)
	for i := range out {
		j := d.roll("order", i+1)
		out[i], out[j] = out[j], i
	}
	return out
}

// TestLongHistoriesAreFolded: what a place went through long ago costs no memory, and changes nothing.
func TestLongHistoriesAreFolded(t *testing.T) {
	t.Parallel()
	l := newLab(t, lease.Config{}, event.PlaceRegistered{Clean: true})
	for i := range 200 {
		task := fmt.Sprint("t", i)
		l.must(l.ask(task, one))
		l.start(ref(task))
		l.finish(ref(task), release.ClassOK)
		l.maintain("p0", release.ClassOK)
	}
	before := l.table.Places()
	l.restart(lease.Config{})
	if !reflect.DeepEqual(before, l.table.Places()) || before[0].Token != 400 || before[0].State != lease.Free {
		t.Fatalf("%+v\n%+v", before, l.table.Places())
	}
	for _, e := range l.stream { // as when somebody asks for an old run
		l.table.Apply(e)
	}
	if !reflect.DeepEqual(before, l.table.Places()) {
		t.Fatalf("%+v\n%+v", before, l.table.Places())
	}
}

// TestTheTableReadsNoClock reads this package's own files.
func TestTheTableReadsNoClock(t *testing.T) {
	t.Parallel()
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasSuffix(f.Name(), "_test.go") || !strings.HasSuffix(f.Name(), ".go") {
			continue
		}
		text, err := os.ReadFile(f.Name())
		if err != nil || strings.Contains(string(text), "time.Now") || strings.Contains(string(text), "time.Since") {
			t.Errorf("%s reads a clock, or cannot be read: %v", f.Name(), err)
		}
	}
}

// BenchmarkGrant asks for each of 10 000 tasks that wait for 500 places, all held.
func BenchmarkGrant(b *testing.B) {
	table := lease.New(lease.Config{})
	seq := uint64(0)
	say := func(p event.Payload) {
		seq++
		table.Apply(event.Event{Run: event.Fleet, Type: p.EventType(), Key: p.Key(), Data: p, Seq: seq, Stored: noon})
	}
	for i := range 500 {
		name := fmt.Sprint("p", i)
		say(event.PlaceRegistered{Provider: "lab", Place: name, Version: "1"})
		say(event.LeaseGranted{Provider: "lab", Place: name, Token: 1, Holder: event.AttemptRef{Run: "h", Task: release.TaskID(name), Attempt: 1}})
	}
	asks := make([]lease.Ask, 10_000)
	for i := range asks {
		asks[i] = lease.Ask{
			Holder: event.AttemptRef{Run: "r", Task: release.TaskID(fmt.Sprint("t", i)), Attempt: 1}, Since: noon.Add(time.Duration(i)),
			Request: release.LeaseRequest{Provider: "lab", Nodes: int32(1 + i%4)},
		}
		table.Grant(asks[i], noon)
	}
	b.ResetTimer()
	for b.Loop() {
		for i := range asks {
			if table.Grant(asks[i], noon).Held {
				b.Fatal("there is nothing to be had")
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(asks)), "ns/ask")
}
