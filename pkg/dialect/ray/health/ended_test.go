package health

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/dialect/ray/outcome"
	"github.com/sluiceci/sluice/pkg/release"
)

// TestRecordOfEveryEnd: each class has its code and status, only what the platform did is transient, and only while another
// attempt is left.
func TestRecordOfEveryEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		class   release.Class
		exit    int
		attempt int
		status  outcome.Status
		code    outcome.Code
		runtime float64
	}{
		{release.ClassOK, 0, 1, outcome.StatusSuccess, 0, 90},
		{release.ClassCommand, 1, 1, outcome.StatusError, 40, 0},
		{release.ClassCommand, 33, 1, outcome.StatusError, 40, 0},
		{release.ClassAlert, 0, 1, outcome.StatusError, 41, 0},
		{release.ClassTimeout, 143, 1, outcome.StatusTimeout, 42, 0},
		{release.ClassPrepare, 1, 1, outcome.StatusError, 43, 0},
		{release.ClassConfig, 0, 1, outcome.StatusInfraError, 11, 90},
		{release.ClassSetup, 16, 1, outcome.StatusTransient, 16, 90},
		{release.ClassInfra, 0, 1, outcome.StatusTransient, 19, 90},
		{release.ClassInfra, 13, 2, outcome.StatusInfraError, 13, 90},
		{release.ClassInfraTimeout, 0, 1, outcome.StatusTransient, 32, 90},
		{release.ClassInfraTimeout, 33, 2, outcome.StatusInfraTimeout, 33, 90},
		{release.ClassLost, 0, 2, outcome.StatusInfraError, 19, 90},
		{release.ClassUnknown, 0, 1, outcome.StatusUnknown, 3, 0},
		{release.ClassCancelled, 143, 1, outcome.StatusUnknown, 3, 0},
	} {
		r := RecordOf(End{Class: c.class, ExitCode: c.exit, Attempt: c.attempt, Retries: 1, Ran: true, Took: 90 * time.Second})
		if r.Status != c.status || r.ReturnCode != c.code || r.Runtime != c.runtime || r.Class != c.class {
			t.Errorf("%s with exit code %d at attempt %d: %+v", c.class, c.exit, c.attempt, r)
		}
		if (r.Status == outcome.StatusSuccess) != (c.class == release.ClassOK) {
			t.Errorf("%s is %s", c.class, r.Status)
		}
	}
	if r := RecordOf(End{Class: release.ClassInfra}); r.Runtime != -1 {
		t.Errorf("what never ran took %g s", r.Runtime)
	}
}

// TestRecordHasTheResults is the contract of TEST_OUTPUT_JSON: a file that is missing, no JSON, no object or too large leaves a
// record without results, which says why.
func TestRecordHasTheResults(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_700_000_300, 0)
	for name, c := range map[string]struct{ file, problem string }{
		"missing":   {"", "it wrote nothing to $TEST_OUTPUT_JSON"},
		"empty":     {" ", "cannot read the results"},
		"no JSON":   {"rps: 3", "cannot read the results"},
		"a list":    {"[1]", "cannot read the results"},
		"null":      {"null", "found null"},
		"too large": {`{"a": "` + strings.Repeat("x", 17<<20) + `"}`, "expected at most"},
		"well":      {`{"rps": 3.5, "deep": {"a": [1]}, "last_update": 1700000000, "nan": null}`, ""},
	} {
		e := End{Class: release.ClassOK, At: at}
		if c.file != "" {
			e.Results = []byte(c.file)
		}
		r := RecordOf(e)
		if !strings.Contains(r.ResultsProblem, c.problem) || (r.ResultsProblem == "") != (c.problem == "") || r.Results == nil {
			t.Errorf("%s: %.100v, problem %q", name, r.Results, r.ResultsProblem)
		}
		if c.problem == "" && (r.Results["rps"] != 3.5 || r.Results["last_update_diff"] != 300.0) {
			t.Errorf("%s: %v", name, r.Results)
		}
		if c.problem != "" && len(r.Results) != 0 {
			t.Errorf("%s has results", name)
		}
	}
}

// TestEveryRecordHasEveryField: also where there is nothing to say.
func TestEveryRecordHasEveryField(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(RecordOf(End{
		Class: release.ClassCommand, Ran: true, Task: "soak.aws", Tags: []string{"env:aws", "plain"}, LastLines: []string{"ERROR boom", "x"},
	}))
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range strings.Fields(`results status return_code last_logs runtime stable smoke_test buildkite_url wheels_url
		cluster_url job_url job_id buildkite_job_id cluster_id extra_tags`) {
		if !strings.Contains(string(text), `"`+field+`":`) {
			t.Errorf("%s has no %s", text, field)
		}
	}
	if !strings.Contains(string(text), `"env":"aws"`) || !strings.Contains(string(text), `"crash_pattern":"ERROR boom`) {
		t.Errorf("%s", text)
	}
}
