package images

import (
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/await"
	"github.com/sluiceci/sluice/pkg/dialect/ray/outcome"
)

// WaitLimit is how long to wait for the images of a release to be built by others.
const WaitLimit = 7200 * time.Second

// Wait is the wait for images: which were there when they were last asked for.
type Wait struct {
	Began time.Time
	Limit time.Duration
	Want  []string
	Have  map[string]bool
}

// Missing lists the images that were not there.
func (w Wait) Missing() []string {
	var out []string
	for _, i := range w.Want {
		if !w.Have[i] {
			out = append(out, i)
		}
	}
	return out
}

// Next says whether to ask again, and when. A wait whose time is over while images are missing ends with an error that
// names them: Ray's ends without one, and the tests then run into images that are not there.
func (w Wait) Next(now time.Time) (await.Step, error) {
	missing := w.Missing()
	step := await.Default().Next(w.Began, now, w.Began.Add(w.Limit), len(missing) == 0)
	if step.Do == await.TimedOut {
		return step, outcome.Raise("ClusterEnvBuildTimeout", "cannot find %d of %d images within %s: %s; see whether their build failed",
			len(missing), len(w.Want), w.Limit, strings.Join(missing, ", "))
	}
	return step, nil
}
