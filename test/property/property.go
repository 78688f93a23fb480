// Package property runs properties with a seed that everybody knows, so that a test gives the same answer every time.
//
// Tests call Check instead of rapid.Check; test/house holds them to it. The seed is 1 unless -rapid.seed or RAPID_SEED
// names another. make soak draws one, prints it and passes it on.
package property

import (
	"flag"
	"sync"

	"pgregory.net/rapid"
)

// Seed is that of a run that names none. Rapid takes 0, its own default, as a request for a random one.
const Seed = "1"

// fix runs before the first property of a process: flags belong to the process as well.
var fix sync.Once //nolint:gochecknoglobals // see above

// Check fails t when rapid finds a case that breaks the property. It also replays testdata/rapid/<test>/*.fail: cases
// that failed once.
func Check(t rapid.TB, holds func(*rapid.T)) {
	t.Helper()
	fix.Do(func() { fixSeed(flag.CommandLine) })
	rapid.Check(t, holds)
}

// fixSeed replaces a random seed by the known one.
func fixSeed(flags *flag.FlagSet) {
	if f := flags.Lookup("rapid.seed"); f.Value.String() == "0" {
		if err := f.Value.Set(Seed); err != nil {
			panic(err) // a number is a valid seed
		}
	}
}
