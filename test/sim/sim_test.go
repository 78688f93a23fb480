// Package sim runs the platform's services as they are, on the real embedded server, in a bubble of simulated time. One
// seed decides what goes wrong and when; the laws are watched at every step.
package sim

import (
	"flag"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats-server/v2/server/ats"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

var (
	worlds = flag.Int("worlds", 1, "simulated worlds to play; one takes seconds, and make soak plays many")
	seed   = flag.Uint64("seed", 1, "of the first world; each next one has the next")
)

// TestWorlds plays worlds by number.
func TestWorlds(t *testing.T) {
	ats.Register() // its ticker must not live in a bubble
	defer ats.Unregister()
	simulated := time.Duration(0)
	for i := range uint64(*worlds) {
		t.Run(fmt.Sprint("seed=", *seed+i), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				play(t, *seed+i)
				simulated += time.Since(began)
			})
		})
	}
	t.Logf("%s simulated", simulated)
}

// play lets half an hour pass in which things go wrong, then mends everything and waits for the end of every run.
func play(t *testing.T, seed uint64) {
	w := newWorld(t, seed)
	defer w.close()
	f, err := w.tap.Follow(t.Context(), bus.Following{Name: "law"})
	w.check(err)
	defer f.Close()
	look := func() {
		for {
			batch, err := f.Next(t.Context(), time.Millisecond)
			w.check(err)
			if len(batch.Events) == 0 {
				break
			}
			w.law.see(batch)
		}
		w.law.assemble()
		if broken := w.law.broke(); len(broken) > 0 {
			t.Fatalf("seed %d: %v\n%s", seed, broken, w.story())
		}
	}
	for range 60 {
		w.step()
		time.Sleep(time.Duration(w.dice.IntN(60_000)) * time.Millisecond)
		look()
	}
	w.mend()
	for end := time.Now().Add(3 * time.Hour); len(w.law.open()) > 0; time.Sleep(10 * time.Second) {
		if look(); time.Now().After(end) {
			t.Fatalf("seed %d: after three hours of calm %v have not ended\n%s", seed, w.law.open(), w.story())
		}
	}
	time.Sleep(2 * time.Minute) // strays are told to stop
	if look(); len(w.law.running) > 0 {
		t.Fatalf("seed %d: every run has ended, and %v still run\n%s", seed, w.law.running, w.story())
	}
	t.Logf("seed %d: %d runs, %d facts", seed, w.runs, len(w.law.facts))
}

// step lets one thing happen.
func (w *world) step() {
	p := w.parts[w.dice.IntN(len(w.parts))]
	switch w.dice.IntN(10) {
	case 0, 1, 2:
		w.begin()
	case 3, 4:
		w.cut(p)
	case 5, 6:
		w.join(p)
	case 7:
		w.kill(p)
	case 8:
		if w.runs > 0 && w.dice.IntN(3) == 0 {
			w.say(release.RunID(fmt.Sprintf("4f2a9c1d-run%d", 1+w.dice.IntN(w.runs))), event.RunCancelRequested{Request: fmt.Sprintf("%d-%d", w.born, len(w.law.facts)), By: "eva"})
		}
	case 9:
		if w.born < 20 {
			w.add("scheduler", 1+w.born) // doubled
		}
	}
}

func (w *world) cut(p *part) {
	if p.cutAt.IsZero() {
		p.cutAt = time.Now()
		p.wire.set(true)
	}
}

func (w *world) join(p *part) {
	if !p.cutAt.IsZero() {
		p.cutAt, p.mended = time.Time{}, time.Now()
		p.wire.set(false)
	}
}

// kill ends a service without a word, and starts another in its place.
func (w *world) kill(p *part) {
	p.wire.set(true)
	p.stop()
	for i := range w.parts {
		if w.parts[i] == p {
			w.parts = append(w.parts[:i], w.parts[i+1:]...)
			break
		}
	}
	kind, number := "scheduler", w.born
	if p.executor {
		kind = "executor"
		_, _ = fmt.Sscanf(p.name, "executor%d", &number)
	}
	w.add(kind, number)
}

func (w *world) mend() {
	for _, p := range w.parts {
		w.join(p)
	}
}

// story is what the services logged, and the end of the facts.
func (w *world) story() string {
	w.law.mu.Lock()
	defer w.law.mu.Unlock()
	out := w.law.log.String()
	out = out[max(0, len(out)-4000):]
	for _, e := range w.law.facts[max(0, len(w.law.facts)-40):] {
		out += fmt.Sprintf("%d %s %s %+v\n", e.Seq, e.Stored.Format(time.TimeOnly), e.Describe(), e.Data)
	}
	return out
}
