package alert

import (
	"encoding/json"
	"math"
	"time"

	"github.com/sluiceci/sluice/pkg/dialect/ray/outcome"
	"github.com/sluiceci/sluice/pkg/fault"
)

// Measured is what a test says of itself, as far as suites judge it. What it does not say is the worst that it could
// have: an infinite time, no trials.
type Measured struct {
	Status      outcome.Status
	SinceUpdate float64 // seconds
	TimeTaken   float64 // seconds
	Terminated  int
	Smoke       bool
}

// maxResults is the most bytes of results that are read.
const maxResults = 16 << 20

// ReadResults reads the file that TEST_OUTPUT_JSON names. now stands beside "last_update", the time at which it was
// last written, to make its age.
func ReadResults(b []byte, status outcome.Status, now time.Time) (Measured, error) {
	m := Measured{Status: status, SinceUpdate: math.Inf(1), TimeTaken: math.Inf(1)}
	if len(b) > maxResults {
		return m, fault.New(fault.Invalid, "cannot read the results: they have %d bytes, expected at most %d", len(b), maxResults)
	}
	var r *struct {
		LastUpdate     *float64       `json:"last_update"`
		LastUpdateDiff *float64       `json:"last_update_diff"`
		TimeTaken      *float64       `json:"time_taken"`
		TrialStates    map[string]int `json:"trial_states"`
		SmokeTest      bool           `json:"smoke_test"`
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return m, fault.New(fault.Invalid, "cannot read the results: %w; expected a JSON object", err)
	}
	if r == nil {
		return m, fault.New(fault.Invalid, "cannot read the results: found null, expected a JSON object")
	}
	switch {
	case r.LastUpdate != nil:
		m.SinceUpdate = float64(now.UnixNano())/1e9 - *r.LastUpdate
	case r.LastUpdateDiff != nil:
		m.SinceUpdate = *r.LastUpdateDiff
	}
	if r.TimeTaken != nil {
		m.TimeTaken = *r.TimeTaken
	}
	m.Terminated, m.Smoke = r.TrialStates["TERMINATED"], r.SmokeTest
	return m, nil
}
