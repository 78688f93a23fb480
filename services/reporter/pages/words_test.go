package pages

import (
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/schedule"
	"github.com/sluiceci/sluice/services/reporter/readmodel"
	"github.com/sluiceci/sluice/services/reporter/view"
)

func TestNamesOfRunsAreLinks(t *testing.T) {
	const link = `<a href="/runs/4f2a9c1d-k3m2pa7q">4f2a9c1d-k3m2pa7q</a>`
	for text, want := range map[string]string{
		"superseded by run 4f2a9c1d-k3m2pa7q: commit 4f2a9c1d is newer": "superseded by run " + link + ": commit 4f2a9c1d is newer",
		"4f2a9c1d-k3m2pa7q":      link,
		"run 4f2a9c1d-k3m2pa7q.": "run " + link + ".",
		"<b>4f2a9c1d-k3m2pa7q":   "&lt;b&gt;4f2a9c1d-k3m2pa7q",
		"4f2a9c1d-\"><script>":   "4f2a9c1d-&#34;&gt;&lt;script&gt;",
		"self-made, out-of-date": "self-made, out-of-date",
	} {
		if got := string(linkRuns(text)); got != want {
			t.Errorf("%q becomes %s, expected %s", text, got, want)
		}
	}
}

// TestASupersededRunNamesTheOneThatTookOver and is not called a failure, nor merely cancelled.
func TestASupersededRunNamesTheOneThatTookOver(t *testing.T) {
	run := readmodel.Run{
		ID: "aaaaaaaa-bbbbbbbb", State: string(release.Cancelled), Kind: release.Push, Branch: "feature",
		Reason: "the run was cancelled by test-scheduler: superseded by run 4f2a9c1d-k3m2pa7q: commit 4f2a9c1d is newer on refs/heads/feature",
	}
	v := verdictOf(&view.Detail{Run: run})
	if v.Headline != "Superseded" || v.Sentence != "Superseded by run 4f2a9c1d-k3m2pa7q: commit 4f2a9c1d is newer on refs/heads/feature." {
		t.Errorf("the headline is %q, the sentence %q", v.Headline, v.Sentence)
	}
	p := &pages{Deps: Deps{Now: time.Now}}
	if row := p.row(run); row.Look.Word != "superseded" || row.Title != "push of feature" {
		t.Errorf("in the list it is %+v", row)
	}
}

func TestAWaitingTaskSaysWhyAndUntilWhen(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	why := schedule.Why{Reason: "group lab is full", Expected: at}
	for _, c := range []struct {
		task readmodel.Task
		why  schedule.Why
		text string
		when time.Time
	}{
		{readmodel.Task{State: readmodel.TaskQueued}, why, "Group lab is full", at},
		{readmodel.Task{State: readmodel.TaskWaiting}, schedule.Why{}, "", time.Time{}},
		{readmodel.Task{State: readmodel.TaskDelayed, Reason: "retry 1 of 2", Delayed: at}, why, "Retry 1 of 2", at},
		{readmodel.Task{State: readmodel.TaskRunning}, why, "", time.Time{}},
	} {
		if text, when := waitOf(c.task, c.why); text != c.text || when != c.when {
			t.Errorf("a task that is %s waits for %q until %v", c.task.State, text, when)
		}
	}
}
