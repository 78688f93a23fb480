// Package shards spreads tests over workers.
package shards

import (
	"slices"
	"strings"
	"time"
)

// Test is a test target; its size or timeout says how long it may take.
type Test struct {
	Name    string
	Size    string        // small, medium, large, enormous
	Timeout time.Duration // wins over the size
}

// Cost is how long a test may take. A size that nobody knows is medium, as Bazel has it.
func (t Test) Cost() time.Duration {
	if t.Timeout > 0 {
		return t.Timeout
	}
	switch t.Size {
	case "small":
		return 60 * time.Second
	case "large":
		return 900 * time.Second
	case "enormous":
		return 3600 * time.Second
	default:
		return 300 * time.Second
	}
}

// Optimal spreads tests so that the longest shard is short: the longest first, each to the shard that has least. Equal
// tests go by name, so that every worker makes the same plan. Each shard is sorted by name.
func Optimal(tests []Test, n int) [][]Test {
	if n < 1 {
		return nil
	}
	sorted := slices.Clone(tests)
	slices.SortFunc(sorted, func(a, b Test) int {
		if d := b.Cost() - a.Cost(); d != 0 {
			return int(d / time.Second)
		}
		return strings.Compare(a.Name, b.Name)
	})
	out, load := make([][]Test, n), make([]time.Duration, n)
	for _, t := range sorted {
		least := 0
		for i := range load {
			if load[i] < load[least] {
				least = i
			}
		}
		out[least] = append(out[least], t)
		load[least] += t.Cost()
	}
	for _, shard := range out {
		slices.SortFunc(shard, byName)
	}
	return out
}

// Naive gives every n-th test by name to a shard.
func Naive(tests []Test, n int) [][]Test {
	if n < 1 {
		return nil
	}
	sorted := slices.Clone(tests)
	slices.SortFunc(sorted, byName)
	out := make([][]Test, n)
	for i, t := range sorted {
		out[i%n] = append(out[i%n], t)
	}
	return out
}

func byName(a, b Test) int { return strings.Compare(a.Name, b.Name) }
