package executor

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/sluiceci/sluice/pkg/files"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/report"
)

// Alert lets a task name a suite of thresholds that judge what it measured, once its command has ended well.
type Alert struct {
	Variable string // of a task, which names the suite: one without it is not judged
	Results  string // variable that tells the command where to write what it measured
	Judge    func(Measured) (problem, note string)
}

// Measured is what a suite judges.
type Measured struct {
	Suite   string
	Task    *plan.Task
	Results []byte // as the command wrote them; nil when it left none
	At      time.Time
}

const (
	metricsName = "metrics.json" // in $SLUICE_ARTIFACTS
	resultsName = "results.json" // in $SLUICE_ARTIFACTS, where the task says nothing else
	maxResults  = 16 << 20       // bytes
)

// alert finds the suite that the task names.
func (a *attempt) alert() (Alert, string, bool) {
	for _, alert := range a.e.config.Alerts {
		if suite := a.task.Variables[alert.Variable]; suite != "" {
			return alert, suite, true
		}
	}
	return Alert{}, "", false
}

// resultsVariable tells the command where to write what it measured, unless the task says so itself.
func (a *attempt) resultsVariable(r *room, env map[string]string) {
	alert, _, is := a.alert()
	if !is || alert.Results == "" || env[alert.Results] != "" {
		return
	}
	env[alert.Results] = filepath.Join(r.dir, artifactsName, resultsName)
	if a.task.Reports.Results != "" {
		env[alert.Results] = filepath.Join(r.workspace(), a.task.Reports.Results)
	}
}

// judge holds what was measured to the suite that the task names. A problem is the product's, not the platform's; what the
// attempt left is kept out of everything that follows, like that of any failure.
func (a *attempt) judge() error {
	alert, suite, is := a.alert()
	if !is {
		return nil
	}
	problem, note := alert.Judge(Measured{Suite: suite, Task: a.task, Results: a.measured(), At: time.Now()})
	if note != "" {
		a.log.note(note)
	}
	if problem == "" {
		return nil
	}
	a.result.Artifacts = nil
	return fail(release.ClassAlert, "%s", problem)
}

// measured reads what the command wrote, and keeps its metrics where no report was asked for.
func (a *attempt) measured() []byte {
	text := a.written()
	if sum, err := report.Results(bytes.NewReader(text)); err == nil && a.task.Reports.Results == "" {
		a.keepSummary(&report.Summary{Metrics: sum.Metrics})
	}
	return text
}

// written reads the file of what was measured; nil when there is none, or what is there is no file. Numbers that JSON has not
// are null.
func (a *attempt) written() []byte {
	if a.task.Reports.Results != "" {
		return read(a.workspace(), a.task.Reports.Results)
	}
	return read(filepath.Join(a.here().dir, artifactsName), resultsName)
}

// read reads a JSON file that a command wrote.
func read(dir, name string) []byte {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil // so is the file
	}
	defer func() { _ = root.Close() }()
	file, _, err := files.Open(root, name)
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxResults+1)) // a suite refuses what is cut
	if err != nil {
		return nil
	}
	return report.Finite(text)
}
