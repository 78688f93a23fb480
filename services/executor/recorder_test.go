package executor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// recorders are one that writes well, between one that fails and one that panics.
func recorders(c *Config) {
	c.Recorders = []Recorder{
		{Variable: "RECORDED", Files: func(Ended) ([]RecordFile, error) { return nil, errors.New("the first recorder is down") }},
		{Variable: "RECORDED", Metrics: "MEASURED", Files: func(e Ended) ([]RecordFile, error) {
			text := fmt.Sprintf("%s ended as %s, attempt %d, wrote %s, said %s", e.Task.ID, e.Finished.Class, e.Ref.Attempt, e.Results, strings.Join(e.LastLines, "|"))
			if e.Metrics != nil {
				text += fmt.Sprintf(", measured %s", e.Metrics)
			}
			return []RecordFile{{Name: "result.json", Content: []byte(text)}}, nil
		}},
		{Variable: "RECORDED", Files: func(Ended) ([]RecordFile, error) { var m map[string]int; m["x"]++; return nil, nil }},
		{Variable: "OTHER", Files: func(Ended) ([]RecordFile, error) { return []RecordFile{{Name: "other"}}, nil }},
	}
	c.Alerts = []Alert{{Variable: "SUITE", Results: "OUT", Judge: func(m Measured) (string, string) {
		return map[bool]string{true: "too slow"}[strings.Contains(string(m.Results), "slow")], ""
	}}}
}

// TestEveryEndHasItsRecord: also a failure, an alert and what could not begin; what one recorder does keeps no other from its
// record, and changes nothing about the end, the log, or the rest of what was left.
func TestEveryEndHasItsRecord(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		task  plan.Task
		class release.Class
		says  string
	}{
		{"good", plan.Task{Run: `echo '{"rps": NaN, "n": 3}' > $OUT; echo fine`}, release.ClassOK, `job ended as ok, attempt 1, wrote {"rps": null, "n": 3}` + "\n, said "},
		{"bad", plan.Task{Run: `echo more > $SLUICE_ARTIFACTS/more; echo oops; exit 3`}, release.ClassCommand, "job ended as command, attempt 1, wrote , said "},
		{"alert", plan.Task{Run: `echo '{"a": "slow"}' > $OUT`}, release.ClassAlert, "job ended as alert"},
		{"link", plan.Task{Run: `ln -s /etc/passwd $SLUICE_ARTIFACTS/result.json; ln -s /etc/passwd $OUT`}, release.ClassOK, "job ended as ok, attempt 1, wrote , said"},
		{"measured", plan.Task{Run: `echo '{"cpu": [NaN, 2]}' > $MEASURED`}, release.ClassOK, `, measured {"cpu": [null, 2]}`},
		{"unready", plan.Task{Run: "true", Prepare: "exit 1"}, release.ClassPrepare, "job ended as prepare"},
		{"secret", plan.Task{Secrets: []string{"TOKEN"}, Run: `echo "{\"a\": \"$TOKEN\"}" > $OUT; echo "$TOKEN"`}, release.ClassOK, `wrote {"a": "`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.start("one", recorders)
			c.task.Variables = map[string]string{"RECORDED": "yes", "SUITE": "speed"}
			f := w.run(c.task, nil)
			files := w.packed(f.Files)
			if f.Class != c.class || !strings.Contains(files["result.json"], c.says) {
				t.Errorf("ended as %s: %s; the record is %q, want %q", f.Class, f.Reason, files["result.json"], c.says)
			}
			if _, there := files["other"]; there || strings.Contains(files["result.json"], testSecret) {
				t.Errorf("what was left tells a secret, or what nobody asked for: %v", files)
			}
			for _, told := range []string{"the first recorder is down", "the executor panicked"} {
				if !strings.Contains(w.log(f), told) {
					t.Errorf("its log does not tell %q:\n%s", told, w.log(f))
				}
			}
			if c.name == "bad" && (files["more"] != "more\n" || f.ExitCode != 3) || c.name == "good" && f.Metrics["n"] != 3 {
				t.Errorf("left %v, exit code %d, metrics %v", files, f.ExitCode, f.Metrics)
			}
		})
	}
}

// TestNobodyAskedNoRecord: recorders write of those tasks only that want one.
func TestNobodyAskedNoRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("one", recorders)
	if f := w.run(plan.Task{Run: "true"}, nil); f.Files != "" {
		t.Errorf("left %v", w.packed(f.Files))
	}
}

// onlyLogs is a store that takes compressed logs and nothing else.
type onlyLogs struct{ blob.Store }

func (s onlyLogs) Put(ctx context.Context, r io.Reader) (release.Digest, int64, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return "", 0, err
	}
	if !bytes.HasPrefix(text, []byte{0x28, 0xb5, 0x2f, 0xfd}) {
		return "", 0, errors.New("the object store is away")
	}
	return s.Store.Put(ctx, bytes.NewReader(text))
}

// TestARecordThatCannotBeStoredHidesNothing: the fact tells the end and the metrics, the log is there and tells what is missing.
func TestARecordThatCannotBeStoredHidesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	whole := w.blobs
	w.blobs = onlyLogs{whole}
	w.start("one", recorders)
	w.blobs = whole
	f := w.run(plan.Task{Run: `echo '{"n": 3}' > $OUT; exit 4`, Variables: map[string]string{"RECORDED": "yes", "SUITE": "speed"}}, nil)
	if f.Class != release.ClassCommand || f.ExitCode != 4 || f.Files != "" || f.Log == "" {
		t.Errorf("got %+v", f)
	}
	if !strings.Contains(w.log(f), "the object store is away") {
		t.Errorf("the log is\n%s", w.log(f))
	}
}
