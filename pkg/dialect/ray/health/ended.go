package health

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/dialect/ray/alert"
	"github.com/sluiceci/sluice/pkg/dialect/ray/outcome"
	"github.com/sluiceci/sluice/pkg/dialect/ray/phase"
	"github.com/sluiceci/sluice/pkg/release"
)

// End is what is known of an attempt that has ended, and what its record is made of.
type End struct {
	Class     release.Class
	ExitCode  int
	Attempt   int
	Retries   int           // of attempts that end with this class, in all
	Ran       bool          // the command was started
	Took      time.Duration // the command
	At        time.Time
	Results   []byte   // what the file that TEST_OUTPUT_JSON names holds; nil when there is none
	Metrics   []byte   // what the file that METRICS_OUTPUT_JSON names holds; nil when there is none
	LastLines []string // of the log

	Stable, Smoke            bool
	Run, Task, Wheels        string
	ClusterID, ClusterURL    string
	Page, RunPage, JobNumber string
	Tags                     []string // "env:aws"
}

// RecordOf is the record of an attempt. It has every field of Ray's, also where there is nothing to say.
func RecordOf(e End) Record {
	row := outcome.OfEnd(e.Class, outcome.Code(e.ExitCode))
	r := Record{
		Status: row.Status, ReturnCode: row.Code, Class: e.Class, Attempt: e.Attempt, Runtime: -1, Stable: e.Stable, SmokeTest: e.Smoke,
		LastLogs: strings.Join(phase.Tail(e.LastLines), "\n"), BuildkiteURL: e.RunPage, WheelsURL: e.Wheels, ClusterURL: e.ClusterURL,
		JobURL: e.Page, JobID: e.JobNumber, BuildkiteJobID: e.Run, ClusterID: e.ClusterID, ExtraTags: tagsOf(e),
	}
	r.Results, r.ResultsProblem = resultsOf(e)
	r.Metrics = metricsOf(e.Metrics)
	switch {
	case row.NoRuntime && e.Ran:
		r.Runtime = 0
	case e.Ran:
		r.Runtime = e.Took.Seconds()
	}
	if mayPass(e.Class) && e.Attempt <= e.Retries {
		r.Status = outcome.StatusTransient
	}
	if e.Class != release.ClassOK {
		r.CrashPattern = alert.Signature(r.LastLogs)
	}
	return r
}

// mayPass reports whether what ended so can pass by itself: what the platform did, and never the product.
func mayPass(c release.Class) bool {
	return c == release.ClassInfra || c == release.ClassInfraTimeout || c == release.ClassSetup || c == release.ClassLost
}

// resultsOf reads what a test says of itself. What cannot be read leaves the record without results, which says why.
func resultsOf(e End) (results map[string]any, problem string) {
	results = map[string]any{}
	if e.Results == nil {
		return results, "it wrote nothing to $TEST_OUTPUT_JSON"
	}
	if _, err := alert.ReadResults(e.Results, outcome.StatusSuccess, e.At); err != nil {
		return results, err.Error()
	}
	if err := json.Unmarshal(e.Results, &results); err != nil {
		return map[string]any{}, err.Error()
	}
	if at, is := results["last_update"].(float64); is {
		results["last_update_diff"] = float64(e.At.UnixNano())/1e9 - at
	}
	return results, ""
}

// metricsOf reads what was measured of the machines. What is no object says why: it fails nothing.
func metricsOf(text []byte) map[string]any {
	if len(text) == 0 {
		return nil
	}
	if len(text) > maxRecord {
		return map[string]any{"unreadable": fmt.Sprintf("it has more than %d bytes", maxRecord)}
	}
	var metrics map[string]any
	if err := json.Unmarshal(text, &metrics); err != nil {
		return map[string]any{"unreadable": err.Error()}
	}
	return metrics
}

func tagsOf(e End) map[string]string {
	out := map[string]string{"test_name": e.Task}
	for _, tag := range e.Tags {
		if name, value, found := strings.Cut(tag, ":"); found {
			out[name] = value
		}
	}
	return out
}
