package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/dialect/ray/health"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/services/executor"
)

// TestRayRecord is the record of an attempt whose cluster did not come, and of the one after it.
func TestRayRecord(t *testing.T) {
	t.Parallel()
	task := &plan.Task{
		ID: "soak_aws", Stable: true, Smoke: true, Tags: []string{"env:aws", "python:3.9"}, Variables: map[string]string{"RAY_TEST_NAME": "soak.aws"},
		Retry: []release.Retry{{Class: release.ClassInfra, Limit: 1}},
	}
	record := func(attempt int32, class release.Class, results string, phases ...event.Phase) health.Record {
		t.Helper()
		e := executor.Ended{
			Ref: event.AttemptRef{Run: "r1", Task: "soak_aws", Attempt: attempt}, Task: task, LastLines: []string{"a", "b"},
			Finished: event.TaskFinished{Class: class, Phases: phases}, Lease: release.Lease{Places: []release.Held{{Place: "rack-1", Address: "ssh://rack-1"}}},
		}
		if results != "" {
			e.Results = []byte(results)
		}
		files, err := rayRecord(e)
		must(t, err)
		var names []string
		for _, f := range files {
			names = append(names, f.Name)
		}
		if !slices.Equal(names, []string{"test_config.json", "result.json"}) || !json.Valid(files[0].Content) {
			t.Errorf("the files are %v", names)
		}
		r, err := health.ReadRecord(files[1].Content)
		must(t, err)
		return r
	}
	first := record(1, release.ClassInfra, "")
	if first.Status != "transient_infra_error" || first.ReturnCode != 19 || first.Runtime != -1 || first.ResultsProblem == "" {
		t.Errorf("%+v", first)
	}
	if second := record(2, release.ClassInfra, ""); second.Status != "infra_error" {
		t.Errorf("without another attempt left: %+v", second)
	}
	good := record(2, release.ClassOK, `{"rps": 3}`, event.Phase{Name: "command", Took: release.Duration(90 * time.Second)})
	if good.Status != "success" || good.Runtime != 90 || good.Results["rps"] != 3.0 || good.ClusterID != "rack-1" || good.ExtraTags["test_name"] != "soak.aws" ||
		good.BuildkiteURL != "/runs/r1" || !strings.HasSuffix(good.JobURL, "/tasks/soak_aws?attempt=2") || good.LastLogs != "a\nb" || !good.Stable || !good.SmokeTest {
		t.Errorf("%+v", good)
	}
}

// TestRayRecordOfTheMachines is the contract of METRICS_OUTPUT_JSON.
func TestRayRecordOfTheMachines(t *testing.T) {
	t.Parallel()
	for wrote, want := range map[string]string{
		`{"cpu_utilization": [{"values": [[1, "2"]]}]}`: `{"cpu_utilization":[{"values":[[1,"2"]]}]}`,
		"cpu: 3": `{"unreadable":`, "": "",
	} {
		e := executor.Ended{Task: &plan.Task{ID: "soak", Variables: map[string]string{"RAY_TEST_NAME": "soak"}}, Finished: event.TaskFinished{Class: release.ClassOK}}
		if wrote != "" {
			e.Metrics = []byte(wrote)
		}
		files, err := rayRecord(e)
		must(t, err)
		i := slices.IndexFunc(files, func(f executor.RecordFile) bool { return f.Name == "metrics.json.gz" })
		if i < 0 {
			if want != "" {
				t.Errorf("%q left no metrics", wrote)
			}
			continue
		}
		unpacked, err := gzip.NewReader(bytes.NewReader(files[i].Content))
		must(t, err)
		text, err := io.ReadAll(unpacked)
		must(t, err)
		if want == "" || !strings.HasPrefix(strings.ReplaceAll(string(text), " ", ""), want) {
			t.Errorf("%q is left as %s, want %s", wrote, text, want)
		}
	}
}

// TestRaySuitesAndWhatIsNoResult is the contract of TEST_OUTPUT_JSON where a suite judges.
func TestRaySuitesAndWhatIsNoResult(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ suite, results, problem string }{
		"missing, nobody needs it": {"default", "", ""},
		"missing, needed":          {"tune_tests", "", "wrote nothing to $TEST_OUTPUT_JSON"},
		"no JSON":                  {"default", "rps: 3", "cannot read the results"},
		"a list":                   {"tune_tests", "[]", "cannot read the results"},
		"too large":                {"default", `{"a": "` + strings.Repeat("x", 17<<20) + `"}`, "expected at most"},
		"null where NaN was":       {"xgboost_tests", `{"time_taken": null}`, "Took too long"},
	} {
		m := executor.Measured{Suite: c.suite, Task: &plan.Task{Name: "xgboost_train_small"}, At: time.Now()}
		if c.results != "" {
			m.Results = []byte(c.results)
		}
		if problem, _ := rayAlert(m); !strings.Contains(problem, c.problem) || (problem == "") != (c.problem == "") {
			t.Errorf("%s: %q, want %q", name, problem, c.problem)
		}
	}
}
