package ray

import "strconv"

// Budget is what a concurrency group lets run at once: tests whose weights sum up to no more than Limit.
type Budget struct {
	Group  string
	Limit  int64
	Weight int64 // of one test: 1, but for GPUs at Google
}

// AtOnce is how many tests of this weight run at once, which is Ray's own limit.
func (b Budget) AtOnce() int64 { return b.Limit / b.Weight }

// band is one line of the table: the tests of at least so many GPUs, or vCPUs.
type band struct {
	from   int64
	budget Budget
}

// bands is the table of the groups at one provider, from large to small. The first band that a test reaches is its group.
type bands struct {
	gpus, cpus []band
	unknown    Budget
}

func aws() bands {
	return bands{
		gpus: []band{{9, Budget{"large-gpu", 4, 1}}, {1, Budget{"small-gpu", 8, 1}}},
		cpus: []band{
			{1025, Budget{"enormous", 1, 1}},
			{513, Budget{"large", 8, 1}},
			{129, Budget{"medium", 6, 1}},
			{33, Budget{"small", 16, 1}},
			{9, Budget{"tiny", 32, 1}},
			{0, Budget{"minuscule", 128, 1}},
		},
		unknown: Budget{"small", 16, 1},
	}
}

// gce has one group for all GPUs. Ray gives it four limits, by how many GPUs a test has: 4, 8, 16 and 32. A group can have
// only one; all four say that no more than 32 GPUs are in use, so that is the limit, and the GPUs are the weight.
func gce() bands {
	return bands{
		gpus: []band{
			{8, Budget{"gpu-gce", 32, 8}}, {4, Budget{"gpu-gce", 32, 4}}, {2, Budget{"gpu-gce", 32, 2}}, {1, Budget{"gpu-gce", 32, 1}},
		},
		cpus: []band{
			{1025, Budget{"enormous-gce", 1, 1}},
			{513, Budget{"large-gce", 8, 1}},
			{129, Budget{"medium-gce", 6, 1}},
			{33, Budget{"small-gce", 16, 1}},
			{9, Budget{"tiny-gce", 32, 1}},
			{0, Budget{"minuscule-gce", 128, 1}},
		},
		unknown: Budget{"small-gce", 16, 1},
	}
}

// BudgetOf returns the concurrency group of a cluster of a size.
func BudgetOf(s Size, atGoogle bool) Budget {
	table := aws()
	if atGoogle {
		table = gce()
	}
	for _, b := range table.gpus {
		if s.GPUs >= b.from {
			return b.budget
		}
	}
	for _, b := range table.cpus {
		if s.CPUs >= b.from && s.GPUs == 0 {
			return b.budget
		}
	}
	return table.unknown // a file may name less than nothing
}

// Budget is the test's concurrency group: by the size of its compute file, that of small clusters when it cannot be told.
func (t *Test) Budget() Budget {
	if t.Cluster.Unknown == "" {
		size := t.Cluster.Size
		if !t.rules.Minuscule && size.CPUs >= 0 {
			size.CPUs = max(size.CPUs, 9) // the smallest clusters are tiny ones
		}
		return BudgetOf(size, t.IsGCE())
	}
	if t.IsGCE() {
		return gce().unknown
	}
	return aws().unknown
}

func number64(n int64) string { return strconv.FormatInt(n, 10) }

// limits gives each group of a plan one limit on how many of its tests run at once: that of its heaviest test, so that their
// weights never exceed the budget.
func limits(steps []Step) map[string]int64 {
	out := map[string]int64{}
	for _, step := range steps {
		b := step.Test.Budget()
		if known, ok := out[b.Group]; !ok || b.AtOnce() < known {
			out[b.Group] = b.AtOnce()
		}
	}
	return out
}
