package definition

import (
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/release"
)

// The bounds of conditions: of one evaluation, and of all of a plan. The unit is CEL's, about one step.
const (
	maxConditionSize = 4096 // characters
	maxConditionCost = 10_000
	maxTotalCost     = 20_000_000
	maxConditions    = 1_000 // different ones
	maxNames         = 5_000 // that conditions can read
)

// changeValues is what conditions read of a change.
func changeValues(c release.Change) map[string]any {
	out := map[string]any{
		"change.title": c.Title, "change.author": c.Author, "change.fork": c.Fork, "change.parameters": map[string]string{},
	}
	if c.Parameters != nil {
		out["change.parameters"] = c.Parameters
	}
	texts := changeText(c)
	for name, value := range texts {
		out["change."+name] = value
	}
	for short, long := range shortForms() {
		out[short] = texts[strings.TrimPrefix(long, "change.")]
	}
	return out
}

// walkSettings visits every leaf of a tree of settings by its path.
func walkSettings(path string, s *Setting, visit func(path string, s *Setting)) {
	if !s.Map {
		if path != "settings" && path != "" {
			visit(path, s)
		}
		return
	}
	for i := range s.Keys {
		walkSettings(joinPath(path, s.Keys[i].Name), &s.Keys[i].Value, visit)
	}
}

// celSettings visits what conditions read of settings: each leaf that CEL can spell, and each map with a key that it
// cannot, which conditions read as settings.a["b.c"].
func celSettings(path string, s *Setting, visit func(path string, s *Setting)) {
	switch {
	case !s.Map:
		if path != "settings" {
			visit(path, s)
		}
		return
	case slices.ContainsFunc(s.Keys, func(e Entry[Setting]) bool { return !identifier.MatchString(e.Name) }):
		visit(path, s)
	}
	for i := range s.Keys {
		if identifier.MatchString(s.Keys[i].Name) {
			celSettings(path+"."+s.Keys[i].Name, &s.Keys[i].Value, visit)
		}
	}
}
