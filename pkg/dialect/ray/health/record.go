package health

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/dialect/ray/outcome"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// Record is the result of one attempt, with all fields of Ray's result.json; and the class, which Ray's has not.
type Record struct {
	Results        map[string]any    `json:"results"`
	Status         outcome.Status    `json:"status"`
	ReturnCode     outcome.Code      `json:"return_code"`
	Class          release.Class     `json:"class,omitempty"`
	Attempt        int               `json:"attempt,omitempty"`
	LastLogs       string            `json:"last_logs"`
	Runtime        float64           `json:"runtime"` // seconds; -1 when it never ran
	Stable         bool              `json:"stable"`
	SmokeTest      bool              `json:"smoke_test"`
	BuildkiteURL   string            `json:"buildkite_url"`
	WheelsURL      string            `json:"wheels_url"`
	ClusterURL     string            `json:"cluster_url"`
	JobURL         string            `json:"job_url"`
	JobID          string            `json:"job_id"`
	BuildkiteJobID string            `json:"buildkite_job_id"`
	ClusterID      string            `json:"cluster_id"`
	Metrics        map[string]any    `json:"prometheus_metrics,omitempty"`
	ExtraTags      map[string]string `json:"extra_tags"`
	CrashPattern   string            `json:"crash_pattern,omitempty"`
	ResultsProblem string            `json:"results_problem,omitempty"` // why there are none
}

// maxRecord is the most bytes of a record that are read.
const maxRecord = 16 << 20

// ReadRecord reads a result.json, of ours or of Ray's.
func ReadRecord(b []byte) (Record, error) {
	var r *Record
	if len(b) > maxRecord {
		return Record{}, fault.New(fault.Invalid, "cannot read result.json: it has %d bytes, expected at most %d", len(b), maxRecord)
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return Record{}, fault.New(fault.Invalid, "cannot read result.json: %w", err)
	}
	switch {
	case r == nil:
		return Record{}, fault.New(fault.Invalid, "cannot read result.json: found null, expected an object")
	case r.Status == "":
		return Record{}, fault.New(fault.Invalid, "cannot read result.json: it has no status, and no status is no success")
	case r.Status == outcome.StatusSuccess && r.ReturnCode != outcome.CodeSuccess:
		return Record{}, fault.New(fault.Invalid, "cannot read result.json: its status is success and its return code %d", r.ReturnCode)
	}
	if r.Class == "" {
		r.Class = outcome.Of(r.ReturnCode).Class
	}
	return *r, nil
}

// File is a file of the artifact directory.
type File struct {
	Name    string
	Content []byte
}

// Files are the files of a result in the artifact directory: the test as it was configured, the result without its
// metrics, and the metrics if there are any.
func (r Record) Files(config any) ([]File, error) {
	metrics := r.Metrics
	r.Metrics = nil
	files := []File{{Name: "test_config.json"}, {Name: "result.json"}}
	contents := []any{config, r}
	if metrics != nil {
		files, contents = append(files, File{Name: "metrics.json.gz"}), append(contents, metrics)
	}
	for i, content := range contents {
		b, err := json.Marshal(content)
		if err != nil {
			return nil, fault.New(fault.Invalid, "cannot write %s: %w", files[i].Name, err)
		}
		files[i].Content = b
		if strings.HasSuffix(files[i].Name, ".gz") {
			files[i].Content = compressed(b)
		}
	}
	return files, nil
}

func compressed(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(b) // a buffer takes everything
	_ = w.Close()
	return out.Bytes()
}

// Row is the record as one row of a database of results.
type Row struct {
	Table     string         `json:"_table"`
	At        int64          `json:"report_timestamp_ms"`
	Status    outcome.Status `json:"status"`
	Branch    string         `json:"branch"`
	Commit    string         `json:"commit"`
	Name      string         `json:"name"`
	Group     string         `json:"group"`
	Team      string         `json:"team"`
	Frequency string         `json:"frequency"`
	Record
}

// Row adds whose result it is.
func (r Record) Row(t Test, branch, commit, group, frequency string, at time.Time) Row {
	r.LastLogs, r.Metrics = "", nil
	return Row{
		Table: "release_test_result", At: at.UnixMilli(), Status: r.Status, Branch: branch, Commit: commit, Name: t.Name, Group: group,
		Team: t.Team, Frequency: frequency, Record: r,
	}
}

// Key is where the result of a test at a moment is kept, and StateKey where its state is.
func Key(test string, at time.Time) string {
	return "ray_test_results/" + strings.ReplaceAll(test, "/", "_") + "-" + strconv.FormatInt(at.UnixMilli(), 10) + ".json"
}

// StateKey is where the state of a test is kept.
func StateKey(test string) string { return "ray_tests/" + strings.ReplaceAll(test, "/", "_") + ".json" }

// Counts reports whether a result moves the state of a test: of master after a merge, and not one that another attempt
// is to replace.
func Counts(r Record, branch string, postmerge bool) bool {
	return branch == "master" && postmerge && r.Status != outcome.StatusTransient
}
