package executor

import (
	"context"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/files"
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
func (a *attempt) readReports(ctx context.Context, shelves []*shelf, failed error, variant string) error {
	var sum report.Summary
	var err error
	for _, s := range shelves {
		err = orElse(err, a.readShelf(ctx, s, &sum))
	}
	ofVariant(&sum, variant)
	a.keepSummary(&sum)
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

// readShelf reads the reports of one workspace.
func (a *attempt) readShelf(ctx context.Context, s *shelf, sum *report.Summary) error {
	var one report.Summary
	err := a.readJUnit(ctx, s.root, &one)
	if err == nil {
		err = a.readResults(s.root, &one)
	}
	if s.node != nil {
		ofNode(&one, s.node)
	}
	sum.Add(one)
	return err
}

// ofNode names the metrics and cases of a node after it.
func ofNode(sum *report.Summary, n *node) {
	rename(sum, nodesName+"."+strconv.Itoa(n.index)+".", n.String()+": ")
}

// rename puts a prefix before the names of metrics, and one before those of failed cases.
func rename(sum *report.Summary, metric, test string) {
	named := make(map[string]float64, len(sum.Metrics))
	for name, value := range sum.Metrics {
		named[metric+name] = value
	}
	sum.Metrics = named
	for i := range sum.Failed {
		sum.Failed[i].Name = test + sum.Failed[i].Name
	}
}

func (a *attempt) readJUnit(ctx context.Context, root *os.Root, sum *report.Summary) error {
	glob := a.task.Reports.JUnit
	if glob == "" {
		return nil
	}
	found, err := matches(ctx, root, glob)
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
	file, _, err := files.Open(root, name)
	if err != nil {
		return fail(release.ClassUnknown, "cannot read report %q: there is no such file in the workspace: %w", name, err)
	}
	defer func() { _ = file.Close() }()
	one, err := read(file)
	if err != nil {
		return fail(release.ClassUnknown, "report %q: %w", name, err)
	}
	sum.Add(one)
	return nil
}

// keepSummary puts what the reports say into the result, masked, beside what those of earlier variants said.
func (a *attempt) keepSummary(sum *report.Summary) {
	all := report.Summary{Count: a.result.Tests}
	all.Add(*sum)
	a.result.Tests = all.Count
	for _, one := range sum.Failed {
		if len(a.result.Failures) == maxFailures {
			break
		}
		a.result.Failures = append(a.result.Failures, event.CaseFailure{
			Name: a.masker.Text(one.Name), Message: cut(a.masker.Text(one.Message)), // masked first: half a secret is none
		})
	}
	for name, value := range sum.Metrics {
		if a.result.Metrics == nil {
			a.result.Metrics = make(map[string]float64, len(sum.Metrics))
		}
		a.result.Metrics[a.masker.Text(name)] = value
	}
}

func cut(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxMessage], "") + "…"
}
