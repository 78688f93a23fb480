package pages

import (
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/services/reporter/readmodel"
	"github.com/sluiceci/sluice/services/reporter/view"
)

// TestReleaseStage: what a target said before the gate opened is no publication yet.
func TestReleaseStage(t *testing.T) {
	now := time.Now()
	for want, step := range map[string]readmodel.Step{
		"":           {Target: "pypi", State: release.Probed, Detail: "it was asked beforehand and can take the candidate"},
		"publishing": {Target: "pypi", State: release.Probed, Requested: now},
		"1 broken":   {Target: "pypi", State: release.Probed, Requested: now, Failed: now},
	} {
		d := &view.Detail{Steps: []readmodel.Step{step}}
		d.Run.Targets = append(d.Run.Targets, event.TargetName{Name: "pypi"})
		if got := releaseStage(d); got.Detail != want || got.Value != "0 of 1" {
			t.Errorf("%+v is shown as %q, %q; want %q", step, got.Value, got.Detail, want)
		}
	}
}
