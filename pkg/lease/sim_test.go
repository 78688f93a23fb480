package lease_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/lease"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/test/property"
)

// TestMain makes ten thousand worlds the ordinary number; -rapid.checks asks for another.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800) // worlds are small and many
	flag.Parse()
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "rapid.checks" })
	if !asked {
		_ = flag.Set("rapid.checks", "10000")
	}
	os.Exit(m.Run())
}

// drawn are rapid's dice.
type drawn struct{ t *rapid.T }

func (d drawn) roll(what string, sides int) int { return rapid.IntRange(0, sides-1).Draw(d.t, what) }

// TestWorlds plays random worlds. In each, at every moment: a place has one exclusive holder or as many shared ones as it
// takes; its tokens count up by one; nobody but its cleaner gets a place that was left dirty; whose proof passes is alone.
// And once nothing goes wrong any more every place comes back and every task gets its places, gangs too.
func TestWorlds(t *testing.T) {
	t.Parallel()
	property.Check(t, func(rt *rapid.T) {
		s := seed(rapid.Uint64().Draw(rt, "seed"))
		w := newWorld(rt, &s)
		for range s.roll("steps", 80) {
			w.step()
		}
		w.settle()
	})
}

// settle lets nothing go wrong any more, and looks that everything ends.
func (w *world) settle() {
	w.calm = true
	for i := range len(w.law.places) {
		w.say(event.Fleet, event.PlaceDrainRequested{Provider: "lab", Place: fmt.Sprint("p", i), Request: "last", Resume: true})
	}
	for round := range 400 {
		for _, s := range w.schedulers {
			w.decide(s)
		}
		for range len(w.running) {
			w.execute()
		}
		w.rescue()
		if w.settled() {
			return
		}
		w.now = w.now.Add(5 * time.Second)
		if round == 399 {
			w.Fatalf("after %s of calm: %s", 400*5*time.Second, w.describe())
		}
	}
}

// rescue is the person who cleans what has no command that does.
func (w *world) rescue() {
	for _, p := range w.schedulers[0].table.Places() {
		if p.State == lease.CleanupPending && !w.law.places[p.Place].spec.Clean {
			w.person(p.Place, release.PlaceFree)
		}
	}
}

// settled: every task that can have its places had them, and every place is free.
func (w *world) settled() bool {
	for _, t := range w.tasks {
		if !t.done && !w.schedulers[0].table.Grant(t.ask, w.now.Add(w.schedulers[0].offset)).Wait.Never {
			return false
		}
	}
	for _, s := range w.schedulers {
		if slices.ContainsFunc(s.table.Places(), func(p lease.Place) bool { return p.State != lease.Free }) {
			return false
		}
	}
	return true
}

func (w *world) describe() string {
	var out string
	for _, t := range w.tasks {
		if !t.done {
			out += fmt.Sprintf("\n%v wants %+v: %+v", t.ask.Holder, t.ask.Request, w.schedulers[0].table.Grant(t.ask, w.now.Add(w.schedulers[0].offset)).Wait)
		}
	}
	for _, p := range w.schedulers[0].table.Places() {
		out += fmt.Sprintf("\n%s is %s: %s %v", p.Place, p.State, p.Reason, p.Holders)
	}
	return out + w.tell()
}

// tell is the end of the story.
func (w *world) tell() (out string) {
	for _, e := range w.stream[max(0, len(w.stream)-40):] {
		data, _ := json.Marshal(e.Data)
		out += fmt.Sprintf("\n%d %s %s %s %s", e.Seq, e.Stored.Format(time.TimeOnly), e.Run, e.Type, data)
	}
	return out
}
