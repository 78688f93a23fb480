package executor

import (
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// TestAlertsJudgeWhatASuccessMeasured holds metrics to the suite that a task names.
func TestAlertsJudgeWhatASuccessMeasured(t *testing.T) {
	t.Parallel()
	alerts := func(c *Config) {
		c.Alerts = []Alert{{Variable: "SUITE", Results: "OUT", Judge: func(m Measured) (string, string) {
			if m.Suite != "speed" || m.Results == nil {
				return m.Suite + " has nothing to judge", ""
			}
			if strings.Contains(string(m.Results), `"rps": 3}`) {
				return "too slow: 3 < 10", ""
			}
			return "", "speed judged " + string(m.Task.ID)
		}}}
	}
	suite := map[string]string{"SUITE": "speed"}
	for _, one := range []struct {
		name         string
		task         plan.Task
		class        release.Class
		reason, log  string
		rps          float64
		hasArtifacts bool
	}{
		{"fast", plan.Task{Run: `echo '{"rps": 30}' > $OUT; touch a.whl`, Variables: suite, Outputs: []plan.Output{{Type: "wheel", Path: "*.whl"}}}, release.ClassOK, "", "speed judged job", 30, true},
		{"slow", plan.Task{Run: `echo '{"rps": 3}' > $OUT; touch a.whl`, Variables: suite, Outputs: []plan.Output{{Type: "wheel", Path: "*.whl"}}}, release.ClassAlert, "too slow: 3 < 10", "", 3, false},
		{"reported", plan.Task{Run: `echo '{"success": true, "rps": 3}' > r.json; test $OUT = $PWD/r.json`, Variables: suite, Reports: plan.Reports{Results: "r.json"}}, release.ClassAlert, "too slow", "", 3, false},
		{"silent", plan.Task{Run: "echo hello", Variables: suite}, release.ClassAlert, "speed has nothing to judge", "", 0, false},
		{"failed", plan.Task{Run: `echo '{"rps": 3}' > $OUT; exit 1`, Variables: suite}, release.ClassCommand, "exit status 1", "", 0, false},
		{"unjudged", plan.Task{Run: `echo "out ${OUT-}."`}, release.ClassOK, "", "out .", 0, false},
		{"leaves", plan.Task{Run: `ln -s /etc/passwd $OUT`, Variables: suite}, release.ClassAlert, "speed has nothing to judge", "", 0, false},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.start("one", alerts)
			f := w.run(one.task, nil)
			if f.Class != one.class || !strings.Contains(f.Reason, one.reason) || f.Metrics["rps"] != one.rps || len(f.Artifacts) > 0 != one.hasArtifacts {
				t.Errorf("got %+v", f)
			}
			if one.log != "" && !strings.Contains(w.log(f), one.log) {
				t.Errorf("the log is\n%s", w.log(f))
			}
		})
	}
}
