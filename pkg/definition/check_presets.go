package definition

import "strings"

// maxTrials bounds the work of trying presets: overrides applied, and settings copied for it.
const maxTrials = 2_000_000

// checkPresets checks that presets extend what there is, in no circle, and that each can be applied.
func checkPresets(c *checker) {
	known, circle := map[string]bool{}, false
	for _, e := range c.def.Presets {
		for _, parent := range e.Value.Extends {
			if _, ok := c.def.Presets.Get(parent.Value); !ok {
				c.fail(parent.At, nearest(parent.Value, c.def.Presets.Names()), "unknown preset %q", shorten(parent.Value, 60))
			}
		}
		if cycle := c.def.presetCycle(e.Name, nil, known); cycle != nil {
			circle = true
			for _, name := range cycle {
				known[name] = true // the circle is said once
			}
			c.fail(e.At, "", "presets extend each other in a circle: %s", strings.Join(cycle, " → "))
		}
	}
	c.tryPresets(circle)
}

// tryPresets applies each preset to a copy of the settings, so that one that cannot be applied is found before anybody
// asks for it. In a definition with a circle, only those that extend nothing can be.
func (c *checker) tryPresets(circle bool) {
	size := c.def.Settings.size()
	for spent, i := 0, 0; i < len(c.def.Presets) && spent < maxTrials && !c.full(); i++ {
		e := c.def.Presets[i]
		if circle && len(e.Value.Extends) > 0 {
			continue
		}
		budget := maxOverrides
		sets, ok := c.def.presetSets(e.Name, nil, &budget)
		if !ok {
			c.fail(e.At, "", "preset %s and those that it extends make more than %d overrides", e.Name, maxOverrides)
			return
		}
		spent += size + maxOverrides - budget
		scratch := c.def.Settings.clone()
		scratch.Map = true
		for _, set := range sets {
			if problem, hint := scratch.override(set.Name, set.Value, cause{}); problem != "" {
				c.fail(set.At, hint, "%s", problem)
			}
		}
	}
}

// size counts the values of a tree.
func (s *Setting) size() int {
	n := 1
	for i := range s.Keys {
		n += s.Keys[i].Value.size()
	}
	for i := range s.List {
		n += s.List[i].size()
	}
	return n
}
