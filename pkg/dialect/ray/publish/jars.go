package publish

import (
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
)

// Join says what is still missing of a jar for several platforms: the native parts of each.
type Join struct {
	Modules   []string // "api", "runtime", "serve"
	Platforms []string // "darwin", "linux"
	Have      map[string][]string
}

// Missing lists what has not come, as platform/module.
func (j Join) Missing() []string {
	var out []string
	for _, platform := range j.Platforms {
		for _, module := range j.Modules {
			if !slices.Contains(j.Have[platform], module) {
				out = append(out, platform+"/"+module)
			}
		}
	}
	return out
}

// Done is nil when the jar can be assembled. When no more will come, what is missing is an error: an assembly that
// cannot be made was not left out, it failed.
func (j Join) Done() error {
	if missing := j.Missing(); len(missing) > 0 {
		return fault.New(fault.Invalid, "cannot assemble the jars: the native parts of %s never came", strings.Join(missing, ", "))
	}
	return nil
}
