package scheduler

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// TestInputsThatFitInNoMessage: builds leave more artifacts than the largest message could list. The test that takes them all is
// given out with a blob, runs, and counts for the gate.
func TestInputsThatFitInNoMessage(t *testing.T) {
	t.Parallel()
	const builds, each = 3, 13_000
	h := newHouse(t)
	h.scheduler("s1", Config{})
	h.begin(run, builds, 1, func(p *plan.Plan) {
		for i := 1; i < builds; i++ {
			p.Tasks[builds].Needs = append(p.Tasks[builds].Needs, release.TaskID(fmt.Sprint("build-", i)))
		}
	})
	for i := range builds {
		id := release.TaskID(fmt.Sprint("build-", i))
		h.runs(id, artifacts(id, each))
	}
	h.assemble(run, builds)
	d := h.until(run, event.TypeTaskDispatched, "linux.test-0.1").Data.(event.TaskDispatched)
	if len(d.Inputs) != 0 || d.InputsIn == "" {
		t.Fatalf("the dispatch lists %d inputs, and more in %q", len(d.Inputs), d.InputsIn)
	}
	text, err := blob.ReadAll(t.Context(), h.blobs, d.InputsIn, 64<<20)
	check(t, err)
	var inputs []event.Produced
	check(t, json.Unmarshal(text, &inputs))
	if len(text) < 8<<20 || len(inputs) != builds || len(inputs[2].Artifacts) != each || event.InputsOf(inputs) != d.Fingerprint() {
		t.Errorf("the blob has %d bytes and the inputs of %d tasks, expected those of %d", len(text), len(inputs), builds)
	}
	h.runs("test-0", nil)
	h.until(run, event.TypeGateOpened, "0")
}

// runs says what an executor says of an attempt that it was given.
func (h *house) runs(id release.TaskID, left []release.Artifact) {
	h.t.Helper()
	h.until(run, event.TypeTaskDispatched, fmt.Sprintf("linux.%s.1", id))
	h.say(run, event.TaskStarted{Task: id, Attempt: 1, Pool: "linux", Executor: "x1"},
		event.TaskFinished{Task: id, Attempt: 1, Pool: "linux", Executor: "x1", Outcome: release.Success, Class: release.ClassOK, Artifacts: left})
}

func artifacts(of release.TaskID, n int) []release.Artifact {
	out := make([]release.Artifact, 0, n)
	for i := range n {
		name := fmt.Sprintf("%s-%d-of-a-name-that-is-as-long-as-those-of-wheels-are-cp312-manylinux_2_28_x86_64.whl", of, i)
		out = append(out, release.Artifact{Name: name, Type: "wheel", Task: of, Digest: release.DigestOf([]byte(name)), Size: 1})
	}
	return out
}
