package schedule

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"pgregory.net/rapid"
)

// TestMain makes ten thousand worlds the ordinary number; -rapid.checks asks for another.
func TestMain(m *testing.M) {
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

// rapidTB lets a world fail as rapid's tests do.
type rapidTB struct {
	testing.TB
	t *rapid.T
}

func (r rapidTB) Helper()                        {}
func (r rapidTB) Fatal(args ...any)              { r.t.Fatal(args...) }
func (r rapidTB) Fatalf(format string, a ...any) { r.t.Fatalf(format, a...) }

// TestLaws plays worlds at random. A failing one is shrunk and printed with its seed; what it taught goes into
// TestWorldsThatFailedOnce.
func TestLaws(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := drawn{rt}
		play(newWorld(rapidTB{t, rt}, d), d.roll("steps", 120))
	})
}

// TestSeededWorlds plays worlds by number, so that one can be named.
func TestSeededWorlds(t *testing.T) {
	for n := range 2000 {
		s := seed(n)
		t.Run(fmt.Sprint(n), func(t *testing.T) { play(newWorld(t, &s), 200) })
	}
}
