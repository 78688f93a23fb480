package main

import (
	"github.com/sluiceci/sluice/pkg/dialect/ray/alert"
	"github.com/sluiceci/sluice/pkg/dialect/ray/outcome"
	"github.com/sluiceci/sluice/services/executor"
)

// alerts is the table of suites that a task may name, by the variable that names them.
func alerts() []executor.Alert {
	return []executor.Alert{{Variable: "RAY_TEST_ALERT", Results: "TEST_OUTPUT_JSON", Judge: rayAlert}}
}

// rayAlert judges a test of Ray's by one of Ray's suites. A suite that nobody knows is a problem too: the test would be
// judged by nothing.
func rayAlert(m executor.Measured) (problem, note string) {
	suite, err := alert.Find(m.Suite)
	if err != nil {
		return err.Error(), ""
	}
	name := m.Task.Variables["RAY_TEST_NAME"]
	if name == "" {
		name = m.Task.Name
	}
	if m.Results == nil {
		if _, judged := suite.For(name); !judged && !suite.NeedsResult {
			return "", ""
		}
		return "cannot judge " + name + " by suite " + suite.Name + ": it wrote nothing to $TEST_OUTPUT_JSON", ""
	}
	measured, err := alert.ReadResults(m.Results, outcome.StatusSuccess, m.At)
	if err != nil {
		return err.Error(), ""
	}
	verdict := suite.Judge(name, measured)
	return verdict.Alert, verdict.Note
}
