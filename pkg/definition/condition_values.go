package definition

import (
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

// walkSettings visits every leaf of a tree of settings by its dotted path.
func walkSettings(path string, s *Setting, visit func(path string, s *Setting)) {
	if !s.Map {
		if path != "settings" && path != "" {
			visit(path, s)
		}
		return
	}
	for i := range s.Keys {
		walkSettings(path+"."+s.Keys[i].Name, &s.Keys[i].Value, visit)
	}
}

// celName reports whether CEL can spell a dotted path.
func celName(path string) bool {
	for _, segment := range strings.Split(path, ".") {
		if !identifier.MatchString(segment) {
			return false
		}
	}
	return true
}
