package main

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/dialect/ray/health"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/services/executor"
)

// recorders is the table of records that a task may have of each of its attempts, by the variable that asks for them.
func recorders() []executor.Recorder {
	return []executor.Recorder{{Variable: "RAY_TEST_NAME", Metrics: "METRICS_OUTPUT_JSON", Files: rayRecord}}
}

// rayRecord writes what Ray's own tooling leaves of a test: result.json, test_config.json, and metrics.json.gz where there are any.
func rayRecord(e executor.Ended) ([]executor.RecordFile, error) {
	files, err := health.RecordOf(rayEnd(e)).Files(e.Task)
	out := make([]executor.RecordFile, len(files))
	for i, f := range files {
		out[i] = executor.RecordFile{Name: f.Name, Content: f.Content}
	}
	return out, err
}

func rayEnd(e executor.Ended) health.End {
	run := "/runs/" + url.PathEscape(string(e.Ref.Run))
	end := health.End{
		Class: e.Finished.Class, ExitCode: int(e.Finished.ExitCode), Attempt: int(e.Ref.Attempt), Retries: retriesOf(e), At: time.Now(),
		Results: e.Results, Metrics: e.Metrics, LastLines: e.LastLines, Stable: e.Task.Stable, Smoke: e.Task.Smoke, Run: string(e.Ref.Run),
		Task: e.Task.Variables["RAY_TEST_NAME"], Wheels: e.Task.Variables["RAY_WHEELS"], RunPage: run, Tags: e.Task.Tags,
		Page:      fmt.Sprintf("%s/tasks/%s?attempt=%d", run, url.PathEscape(string(e.Ref.Task)), e.Ref.Attempt),
		JobNumber: fmt.Sprintf("%s.%s.%d", e.Ref.Run, e.Ref.Task, e.Ref.Attempt),
	}
	var ids, addresses []string
	for _, place := range e.Lease.Places {
		ids, addresses = append(ids, place.Place), append(addresses, place.Address)
	}
	end.ClusterID, end.ClusterURL = strings.Join(ids, ","), strings.Join(addresses, ",")
	for _, phase := range e.Finished.Phases {
		if phase.Name == "command" {
			end.Ran, end.Took = true, phase.Took.Std()
		}
	}
	return end
}

// retriesOf is how often attempts that end like this one are made again.
func retriesOf(e executor.Ended) int {
	for _, r := range e.Task.Retry {
		if r.Class == e.Finished.Class {
			return int(r.Limit)
		}
	}
	for _, r := range release.DefaultRetries() {
		if r.Class == e.Finished.Class {
			return int(r.Limit)
		}
	}
	return 0
}
