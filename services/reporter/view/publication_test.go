package view

import (
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/services/reporter/readmodel"
)

// TestPublicationsSayWhatTheyWaitFor tells how far two targets came, and reads why each does not go on.
func TestPublicationsSayWhatTheyWaitFor(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	wanted := func(target string, s release.PublicationState) readmodel.Step {
		return readmodel.Step{Target: target, State: s, Requested: at}
	}
	done := func(target string, s release.PublicationState) readmodel.Step {
		return readmodel.Step{Target: target, State: s, Requested: at, Reached: at.Add(time.Second)}
	}
	broken := readmodel.Step{Target: "oci", State: release.Staged, Requested: at, Failed: at.Add(time.Second), Reason: "the registry has other bytes"}
	for name, c := range map[string]struct {
		gate, released string
		steps          []readmodel.Step
		pypi, oci      string // state, and part of the reason
	}{
		"undecided":    {"", "", nil, " waits for the gate", " waits for the gate"},
		"shut":         {"closed", "", nil, " the gate is shut", " the gate is shut"},
		"just opened":  {"open", "", nil, "planned waits for the publisher", "planned waits for the publisher"},
		"being probed": {"open", "", []readmodel.Step{wanted("pypi", release.Probed)}, "planned is being probed", "planned waits for the publisher"},
		"barrier": {
			"open", "",
			[]readmodel.Step{done("pypi", release.Staged), wanted("oci", release.Staged), done("oci", release.Probed)},
			"staged nothing is committed before all is staged: it waits for oci", "probed is being staged",
		},
		"rank": {
			"open", "",
			[]readmodel.Step{done("pypi", release.Staged), done("oci", release.Staged), wanted("oci", release.Committed)},
			"staged what is hardest to undo goes last: it waits until oci is verified", "staged is being committed",
		},
		"waits": {
			"open", "",
			[]readmodel.Step{{Target: "pypi", State: release.Probed, Requested: at, Detail: "it waits: 503 (tried 6 times)"}},
			"planned it is to be probed; it waits: 503 (tried 6 times)", "planned waits for the publisher",
		},
		"cannot take it": {
			"", "",
			[]readmodel.Step{{Target: "pypi", State: release.Probed, Detail: "it was asked beforehand and cannot take the candidate: 1.0 is taken"}},
			" waits for the gate; it was asked beforehand and cannot take the candidate: 1.0 is taken", " waits for the gate",
		},
		"failed": {
			"open", "failed",
			[]readmodel.Step{done("pypi", release.Staged), done("oci", release.Probed), broken},
			"staged another target failed; sluice retry r goes on", "probed it cannot be staged: the registry has other bytes; sluice retry r tries again",
		},
		"there": {
			"open", "published",
			[]readmodel.Step{done("pypi", release.Verified), done("oci", release.Verified)},
			"verified compared", "verified compared",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := readmodel.Run{ID: "r", Gate: c.gate, Released: c.released, Targets: []event.TargetName{{Name: "pypi"}, {Name: "oci"}}}
			for i, want := range []string{c.pypi, c.oci} {
				got := publications(r, c.steps)[i]
				state, reason, _ := strings.Cut(want, " ")
				if string(got.State) != state || !strings.Contains(got.Reason, reason) || got.Broken != strings.Contains(got.Reason, "sluice retry") {
					t.Errorf("%s is %q (%v): %s; want %s", got.Target, got.State, got.Broken, got.Reason, want)
				}
			}
		})
	}
}
