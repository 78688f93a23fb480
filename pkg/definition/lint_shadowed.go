package definition

import "slices"

// shadowed warns of pools and rules that nothing reaches: the first match wins, and one before them takes everything.
func (l *linter) shadowed() {
	all := slices.IndexFunc(l.def.Pools, func(p Pool) bool { return len(p.Match) == 0 })
	for i := all + 1; all >= 0 && i < len(l.def.Pools); i++ {
		if p := l.def.Pools[i]; !l.named(p.Name.Value) {
			l.fail(p.Name.At, "the first pool that matches wins; put it before", "pool %s takes no task: %s, before it, takes every task",
				p.Name.Value, l.def.Pools[all].Name.Value)
		}
	}
	first := map[string]Pos{}
	for _, rule := range l.def.Changed {
		for _, path := range rule.Paths {
			at, taken := first[path.Value]
			if every, ok := first["**"]; ok {
				at, taken = every, true
			}
			if taken {
				l.fail(path.At, "the first rule that matches wins; put it before", "no path is left for %s: the rule in line %d takes it", path.Value, at.Line)
				continue
			}
			first[path.Value] = path.At
		}
	}
}

// named reports whether a job asks for a pool by its name, or might.
func (l *linter) named(pool string) bool {
	for _, list := range []Map[Job]{l.def.Builds, l.def.Tests} {
		for i := range list {
			j := &list[i].Value
			if j.Pool.Value == pool || slices.ContainsFunc(j.Matrix.Adjustments, func(a Adjustment) bool { return a.change.Pool.Value == pool }) {
				return true
			}
		}
	}
	return len(l.def.suites) > 0
}
