package shards

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluiceci/sluice/test/property"
)

func names(shards [][]Test) string {
	var out []string
	for _, s := range shards {
		var n []string
		for _, t := range s {
			n = append(n, t.Name)
		}
		out = append(out, strings.Join(n, ","))
	}
	return strings.Join(out, " ")
}

// TestI24 spreads rules of 60, 300, 900, 900 and 3600 s over two.
func TestI24(t *testing.T) {
	t.Parallel()
	tests := []Test{
		{Name: "small", Size: "small"},
		{Name: "medium", Size: "medium"},
		{Name: "large", Size: "large"},
		{Name: "both", Size: "small", Timeout: 900 * time.Second},
		{Name: "enormous", Size: "enormous"},
	}
	if got := names(Optimal(tests, 2)); got != "enormous both,large,medium,small" {
		t.Errorf("optimal: %s", got)
	}
	if got := names(Naive(tests, 2)); got != "both,large,small enormous,medium" {
		t.Errorf("naive: %s", got)
	}
	if Optimal(tests, 0) != nil || Naive(tests, 0) != nil {
		t.Error("no shards hold tests")
	}
}

// TestShardsAreAPartition: every test is in one shard, and no shard is longer than the best possible by more than the
// longest test.
func TestShardsAreAPartition(t *testing.T) {
	t.Parallel()
	property.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "shards")
		var tests []Test
		var total, longest time.Duration
		for i := range rapid.IntRange(0, 30).Draw(t, "tests") {
			one := Test{Name: fmt.Sprint("t", i), Size: rapid.SampledFrom([]string{"small", "medium", "large", "enormous", "?"}).Draw(t, "size")}
			tests, total, longest = append(tests, one), total+one.Cost(), max(longest, one.Cost())
		}
		for _, shards := range [][][]Test{Optimal(tests, n), Naive(tests, n)} {
			all := slices.Concat(shards...)
			slices.SortFunc(all, byName)
			want := slices.Clone(tests)
			slices.SortFunc(want, byName)
			if len(shards) != n || !slices.Equal(all, want) {
				t.Fatalf("%v is no partition of %v", shards, tests)
			}
		}
		for _, shard := range Optimal(tests, n) {
			var load time.Duration
			for _, one := range shard {
				load += one.Cost()
			}
			if load > total/time.Duration(n)+longest {
				t.Fatalf("a shard takes %s of %s over %d", load, total, n)
			}
		}
	})
}
