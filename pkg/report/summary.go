package report

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// Summary is what the reports of one attempt say together.
type Summary struct {
	Count   release.TestCount
	Failed  []Case             // the first MaxCases of the cases that failed
	Metrics map[string]float64 // by name, MaxMetrics at most
	Seconds float64            // of all suites together
	Success *bool              // what a results.json says of itself; nil when it says nothing
}

// Case is a test case that failed.
type Case struct {
	Suite   string `json:"suite,omitempty"`
	Name    string `json:"name"`
	Message string `json:"message,omitempty"`
}

// Bounds of what a report can make a result hold, whoever wrote it.
const (
	MaxCases   = 100
	MaxMetrics = 500
	maxName    = 300     // bytes
	maxMessage = 2 << 10 // bytes
	maxBytes   = 64 << 20
	maxDepth   = 64
)

// Add takes in another report of the same attempt.
func (s *Summary) Add(other Summary) {
	s.Count.Total = sum(s.Count.Total, other.Count.Total)
	s.Count.Failed = sum(s.Count.Failed, other.Count.Failed)
	s.Count.Skipped = sum(s.Count.Skipped, other.Count.Skipped)
	s.Count.Flaky = sum(s.Count.Flaky, other.Count.Flaky)
	s.Seconds += other.Seconds
	for _, one := range other.Failed {
		s.fail(one)
	}
	for name, value := range other.Metrics {
		s.measure(name, value)
	}
	if other.Success != nil && (s.Success == nil || *s.Success) {
		s.Success = other.Success
	}
}

// Problem says why the tests are no success: failed cases, no case that ran, a results.json that says so. It returns
// "" for a pass.
func (s *Summary) Problem() string {
	switch c := s.Count; {
	case c.Failed > 0:
		return plural(c.Failed, "test") + " of " + number(c.Total) + " failed" + s.first()
	case c.Total > 0 && c.Skipped >= c.Total:
		return "all " + plural(c.Total, "test") + " were skipped: nothing was proved"
	case s.Success != nil && !*s.Success:
		return "the results file says that it was no success"
	}
	return ""
}

func (s *Summary) first() string {
	if len(s.Failed) == 0 {
		return ""
	}
	return ", the first is " + s.Failed[0].Name
}

func (s *Summary) fail(one Case) {
	if len(s.Failed) >= MaxCases {
		return
	}
	s.Failed = append(s.Failed, Case{
		Suite: short(one.Suite, maxName), Name: short(one.Name, maxName), Message: short(one.Message, maxMessage),
	})
}

func (s *Summary) measure(name string, value float64) {
	if s.Metrics == nil {
		s.Metrics = map[string]float64{}
	}
	name = short(name, maxName)
	if _, known := s.Metrics[name]; !known && len(s.Metrics) >= MaxMetrics {
		return
	}
	s.Metrics[name] = value
}

// sum stays at the largest number where hostile counts would overflow.
func sum(a, b int32) int32 { return int32(min(int64(a)+int64(b), math.MaxInt32)) }

// short makes valid text of at most limit bytes.
func short(text string, limit int) string {
	text = strings.ToValidUTF8(strings.TrimSpace(text), "�")
	if len(text) <= limit {
		return text
	}
	cut := limit - len("…")
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

func unreadable(what string, format string, args ...any) error {
	return fault.New(fault.Invalid, "cannot read "+what+": "+format, args...)
}
