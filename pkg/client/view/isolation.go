package view

import (
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/client"
)

// poolIsolation are sentences on what commands of a pool are held back by, one for executors that are alike in that.
func poolIsolation(p client.Pool) []string {
	var texts []string
	names := map[string][]string{}
	for _, x := range p.Executors {
		text := isolationOf(x)
		if text == "" || !x.Alive {
			continue
		}
		if names[text] == nil {
			texts = append(texts, text)
		}
		names[text] = append(names[text], safe(x.Name))
	}
	for i, text := range texts {
		texts[i] = strings.Join(names[text], ", ") + " " + text
	}
	return texts
}

func isolationOf(x client.Executor) string {
	var parts []string
	switch {
	case len(x.Held) > 0:
		parts = append(parts, "holds commands back by "+safe(strings.Join(x.Held, ", ")))
	case x.Refusal == "":
		return "" // It has not said yet.
	default:
		parts = append(parts, "holds commands back by nothing")
	}
	for _, lack := range slices.Compact(slices.Clone(x.Missing)) {
		parts = append(parts, "lacks "+safe(lack))
	}
	if x.Refusal != "" {
		parts = append(parts, "takes no untrusted change")
	}
	return strings.Join(parts, "; ")
}
