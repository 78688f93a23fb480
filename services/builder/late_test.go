package builder

import (
	"context"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/planner"
)

// stuck is a planner that gives up on definitions with a word in them.
type stuck struct{ planner.Here }

func (s stuck) Plan(ctx context.Context, job planner.Job, host planner.Host) (planner.Outcome, error) {
	if strings.Contains(string(job.Text), "endless") {
		return planner.Outcome{}, fault.New(fault.Invalid, "cannot plan: the definition takes more than 20s to plan")
	}
	return s.Here.Plan(ctx, job, host)
}

// TestAPlanThatIsLateIsTheChangesError: the run is rejected with the reason, and the one planner takes the next change.
func TestAPlanThatIsLateIsTheChangesError(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.open(Config{Planner: stuck{}, Planners: 1})
	late := s.commit(map[string]string{"sluice.yaml": simple + "# endless\n"})
	s.say(late.RunID(), event.ChangeReceived{Change: late})
	rejected := await[event.RunRejected](s, late.RunID())
	if len(rejected.Problems) != 1 || !strings.Contains(rejected.Problems[0].Message, "takes more than 20s") {
		t.Errorf("%+v", rejected)
	}
	next := s.commit(map[string]string{"sluice.yaml": simple})
	s.say(next.RunID(), event.ChangeReceived{Change: next})
	await[event.RunPlanned](s, next.RunID())
}
