package executor

import (
	"io"
	"os"
	"strings"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/report"
)

// maxFailures is how many failed cases a result names, and maxMessage how much of each message it carries, in bytes.
const (
	maxFailures = 50
	maxMessage  = 1 << 10
)

// readReports reads what the task says it leaves. After a command that ended well, a report that is missing, unreadable
// or empty means that nobody knows: class unknown, never a success. After one that failed it is only told in the log.
func (a *attempt) readReports(root *os.Root, failed error) error {
	var sum report.Summary
	err := a.readJUnit(root, &sum)
	if err == nil {
		err = a.readResults(root, &sum)
	}
	a.keep(&sum)
	if err == nil {
		if problem := sum.Problem(); problem != "" {
			return fail(release.ClassCommand, "%s", problem)
		}
		return nil
	}
	if failed != nil {
		a.log.note(err.Error())
	}
	return err
}

func (a *attempt) readJUnit(root *os.Root, sum *report.Summary) error {
	glob := a.task.Reports.JUnit
	if glob == "" {
		return nil
	}
	found, err := matches(root, glob)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fail(release.ClassUnknown, "no file matches %q: the tests left no report, so nobody knows whether they passed", glob)
	}
	for _, name := range found {
		if err := a.readOne(root, name, sum, report.JUnit); err != nil {
			return err
		}
	}
	return nil
}

func (a *attempt) readResults(root *os.Root, sum *report.Summary) error {
	if a.task.Reports.Results == "" {
		return nil
	}
	return a.readOne(root, a.task.Reports.Results, sum, report.Results)
}

func (a *attempt) readOne(root *os.Root, name string, sum *report.Summary, read func(io.Reader) (report.Summary, error)) error {
	info, err := root.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return fail(release.ClassUnknown, "cannot read report %q: there is no such file in the workspace", name)
	}
	file, err := root.Open(name)
	if err != nil {
		return fail(release.ClassUnknown, "cannot read report %q: %w", name, err)
	}
	defer func() { _ = file.Close() }()
	one, err := read(file)
	if err != nil {
		return fail(release.ClassUnknown, "report %q: %w", name, err)
	}
	sum.Add(one)
	return nil
}

// keep puts what the reports say into the result, masked.
func (a *attempt) keep(sum *report.Summary) {
	a.result.Tests = sum.Count
	for i, one := range sum.Failed {
		if i == maxFailures {
			break
		}
		a.result.Failures = append(a.result.Failures, event.CaseFailure{
			Name: a.masker.Text(one.Name), Message: cut(a.masker.Text(one.Message)), // masked first: half a secret is none
		})
	}
	if len(sum.Metrics) == 0 {
		return
	}
	a.result.Metrics = make(map[string]float64, len(sum.Metrics))
	for name, value := range sum.Metrics {
		a.result.Metrics[a.masker.Text(name)] = value
	}
}

func cut(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxMessage], "") + "…"
}
