package health

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/dialect/ray/outcome"
	"github.com/sluiceci/sluice/pkg/release"
)

func TestRecordHasAllFields(t *testing.T) {
	t.Parallel()
	r := Record{
		Results: map[string]any{"rps": 1.5}, Status: outcome.StatusError, ReturnCode: 40, Class: release.ClassCommand, Attempt: 2, LastLogs: "l", Runtime: 3,
		Stable: true, SmokeTest: true, BuildkiteURL: "b", WheelsURL: "w", ClusterURL: "c", JobURL: "j", JobID: "i", BuildkiteJobID: "bj", ClusterID: "ci",
		Metrics: map[string]any{"cpu": 1.0}, ExtraTags: map[string]string{"a": "b"}, CrashPattern: "p",
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range strings.Fields(`results status return_code last_logs runtime stable smoke_test buildkite_url wheels_url
		cluster_url job_url job_id buildkite_job_id cluster_id prometheus_metrics extra_tags`) {
		if !strings.Contains(string(b), `"`+field+`":`) {
			t.Errorf("result.json has no %s", field)
		}
	}
	row, err := json.Marshal(r.Row(Test{Name: "n", Team: "core"}, "master", "c", "g", "nightly", now()))
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range strings.Fields(`_table report_timestamp_ms status branch commit results name group team frequency cluster_url
		job_id job_url cluster_id buildkite_url buildkite_job_id runtime stable return_code smoke_test extra_tags crash_pattern`) {
		if !strings.Contains(string(row), `"`+field+`":`) {
			t.Errorf("the row has no %s", field)
		}
	}
	if strings.Contains(string(row), "prometheus_metrics") || strings.Count(string(row), `"status":`) != 1 {
		t.Errorf("row %s", row)
	}
	files, err := r.Files(map[string]string{"name": "n"})
	if err != nil || len(files) != 3 || files[1].Name != "result.json" || strings.Contains(string(files[1].Content), "prometheus") {
		t.Errorf("%v, %v", files, err)
	}
	r.Metrics = nil
	if files, _ := r.Files(nil); len(files) != 2 {
		t.Errorf("%d files without metrics", len(files))
	}
}

func TestReadRecord(t *testing.T) {
	t.Parallel()
	r, err := ReadRecord([]byte(`{"status": "infra_timeout", "return_code": 32, "results": {}, "extra": 1}`))
	if err != nil || r.Class != release.ClassInfraTimeout {
		t.Errorf("%+v, %v", r, err)
	}
	for _, bad := range []string{"", "null", "[]", "{}", `{"return_code": 0}`, `{"status": "success", "return_code": 40}`, `{"status": 1}`, strings.Repeat(" ", maxRecord+1)} {
		if _, err := ReadRecord([]byte(bad)); err == nil {
			t.Errorf("%.30q is a record", bad)
		}
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	if got := Key("a/b", now()); got != "ray_test_results/a_b-1730775600000.json" {
		t.Error(got)
	}
	if got := StateKey("linux://a/b"); got != "ray_tests/linux:__a_b.json" {
		t.Error(got)
	}
	failed, transient := Record{Status: outcome.StatusError}, Record{Status: outcome.StatusTransient}
	if !Counts(failed, "master", true) || Counts(failed, "wip", true) || Counts(failed, "master", false) || Counts(transient, "master", true) {
		t.Error("only what ended on master after a merge moves a test")
	}
}

func FuzzReadRecord(f *testing.F) {
	f.Add([]byte(`{"status": "success", "return_code": 0, "results": {"a": [1]}, "runtime": 1e300}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := ReadRecord(b)
		if err != nil {
			return
		}
		if (r.Status == outcome.StatusSuccess) && r.ReturnCode != 0 {
			t.Errorf("%s is a success of code %d", b, r.ReturnCode)
		}
		if _, err := r.Files(nil); err != nil {
			t.Errorf("%s cannot be written: %v", b, err)
		}
	})
}
