package property_test

import (
	"flag"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluiceci/sluice/test/property"
)

// TestTheSameCasesEveryTime: two runs of a property see the same cases, and their seed is not random.
func TestTheSameCasesEveryTime(t *testing.T) {
	draw := func() (seen []int) {
		property.Check(t, func(r *rapid.T) { seen = append(seen, rapid.Int().Draw(r, "n")) })
		return seen
	}
	if one, other := draw(), draw(); !slices.Equal(one, other) {
		t.Errorf("one run saw %v, the next %v", one, other)
	}
	if seed := flag.Lookup("rapid.seed").Value.String(); seed == "0" {
		t.Error("-rapid.seed is 0: rapid draws a random seed")
	}
}
