package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/services/executor"
)

func TestRaySuitesJudgeTasks(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, one := range []struct{ suite, test, results, problem, note string }{
		{"long_running_tests", "long_running_many_tasks.aws", fmt.Sprintf(`{"last_update": %d}`, now.Unix()-10), "", ""},
		{"long_running_tests", "long_running_many_tasks.aws", fmt.Sprintf(`{"last_update": %d}`, now.Unix()-1000), "too long ago", ""},
		{"long_running_tests", "long_running_many_tasks.aws", "", "wrote nothing", ""},
		{"long_running_tests", "another", `{"time_taken": 1}`, "", "has no threshold"},
		{"default", "another", "", "", ""},
		{"xgboost_tests", "xgboost_train_small", `{"time_taken": 50}`, "Took too long", ""},
		{"xgboost_tests", "xgboost_train_small", `[]`, "cannot read the results", ""},
		{"none", "another", "", "Alert suite none not found", ""},
	} {
		m := executor.Measured{Suite: one.suite, Task: &plan.Task{Name: one.test}, At: now}
		if one.results != "" {
			m.Results = []byte(one.results)
		}
		problem, note := rayAlert(m)
		if !strings.Contains(problem, one.problem) || (problem == "") != (one.problem == "") || !strings.Contains(note, one.note) {
			t.Errorf("%+v: problem %q, note %q", one, problem, note)
		}
	}
}
