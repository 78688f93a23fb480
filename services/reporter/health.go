package reporter

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/service"
)

// Health says what becomes of the tests of a project that do not pass on its release branch. Without it nothing is judged.
type Health struct {
	Owner     string        `yaml:"owner"`      // of tests whose definition names none
	Issues    bool          `yaml:"issues"`     // issues about them are opened and closed on the project's forge
	JailFor   time.Duration `yaml:"jail_for"`   // how long a jailed test is left out; 14 days when 0
	NeverJail []string      `yaml:"never_jail"` // globs of tests that go on to block
	Bisect    *Bisect       `yaml:"bisect"`     // who broke a test is looked for when this is there
}

// Bisect bounds the search for who broke a test.
type Bisect struct {
	Ways     int32         `yaml:"ways"`     // commits that are tried at a time; 3 when 0
	Runs     int32         `yaml:"runs"`     // of each commit; 1 when 0
	Confirm  int32         `yaml:"confirm"`  // further runs of a commit that failed once; 1 when 0, none when negative
	Deadline time.Duration `yaml:"deadline"` // 24h when 0
	Budget   int32         `yaml:"budget"`   // runs in all; 30 when 0
}

const (
	planLimit    = 64 << 20
	defaultJail  = 14 * 24 * time.Hour
	rayName      = "RAY_TEST_NAME" // the health of one of Ray's tests is kept under its own name, as smoke test and in each of its runs
	maxWhy       = 500             // bytes of a reason
	readOfTheRun = 30 * time.Second
)

// healths judges tests.
type healths struct {
	deps     service.Deps
	statuses *statuses
	projects map[string]Project // with Health, by name
}

func newHealths(config Config, deps service.Deps, s *statuses) *healths {
	h := &healths{deps: deps, statuses: s, projects: map[string]Project{}}
	for _, p := range config.Projects {
		if p.Health != nil {
			h.projects[p.Name] = p
		}
	}
	return h
}

// routes and loop are there whether or not a project asks for them: so is the topology the same everywhere.
func (h *healths) routes() []bus.Route {
	return []bus.Route{
		bus.Work("judge", []event.Type{event.TypeTestsJudged}, h.judge),
		bus.Work("issue", []event.Type{event.TypeIssueSynced}, h.sync),
		bus.Work("blame", []event.Type{event.TypeIssueSynced}, h.blame),
	}
}

func (h *healths) loop() service.Loop {
	return service.Loop{
		Name: "health", Hears: healthHears(), Says: []event.Type{event.TypeTestMoved, event.TypeBisectRequested}, Run: h.follow,
	}
}

// judge says how the tests of a round ended, if it was one of the release branch. The plan is read here, once.
func (h *healths) judge(ctx context.Context, d *bus.Delivery[event.RunFinished]) error {
	e, err := h.deps.Bus.Get(ctx, event.TypeRunPlanned.FilterRun(d.Event.Run))
	if bus.Empty(err) {
		return nil // a rejected run has no tests
	}
	if err != nil {
		return err
	}
	planned := e.Data.(event.RunPlanned)
	if _, asked := h.projects[planned.Change.Project]; !asked || !ofTheReleaseBranch(planned) {
		return nil
	}
	text, err := blob.ReadAll(ctx, h.deps.Blobs, planned.Plan, planLimit)
	if err != nil {
		return fmt.Errorf("cannot judge the tests of run %s: %w", d.Event.Run, err)
	}
	p, err := plan.Decode(text)
	if err != nil {
		return err
	}
	ends, err := h.ends(ctx, d.Event, p)
	if err != nil {
		return err
	}
	tests := judged(p, ends)
	if len(tests) == 0 {
		return nil
	}
	return d.Emit(ctx, event.TestsJudged{
		Project: planned.Change.Project, Round: d.Data.Round, Commit: planned.Change.Commit,
		At: cmp.Or(planned.Change.At, e.Time), Parameters: planned.Change.Parameters, Tests: tests,
	})
}

func ofTheReleaseBranch(p event.RunPlanned) bool {
	c := p.Change
	if c.Kind != release.Push && c.Kind != release.Schedule || c.Branch == "" || c.Fork || strings.HasPrefix(c.Nonce, event.BisectNonce) {
		return false
	}
	if c.Branch == p.Release.Branch {
		return true
	}
	for _, glob := range p.Release.Also {
		if ok, _ := path.Match(glob, c.Branch); ok {
			return true
		}
	}
	return false
}

// ends reads how each task of a run ended, up to the end of the round, by what the pools of its plan say.
func (h *healths) ends(ctx context.Context, finished event.Event, of *plan.Plan) (map[release.TaskID]event.JudgedTest, error) {
	ctx, cancel := context.WithTimeout(ctx, readOfTheRun)
	defer cancel()
	f, err := h.deps.Bus.Follow(ctx, bus.Following{
		Name: Name + "-judge", Run: string(finished.Run), Types: []event.Type{event.TypeTaskFinished, event.TypeTaskConcluded},
	})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out := map[release.TaskID]event.JudgedTest{}
	pools := of.Pools()
	for {
		batch, err := f.Next(ctx, time.Second)
		if err != nil {
			return nil, err
		}
		for _, e := range batch.Events {
			ref, pool, said := event.SaidByPool(e)
			if e.Seq < finished.Seq && (!said || pools[ref.Task] == pool) {
				end(out, e)
			}
		}
		if batch.Live {
			return out, nil
		}
	}
}

// end notes how a task ended. A success is final; whatever concludes a task later counts instead of what came before.
func end(out map[release.TaskID]event.JudgedTest, e event.Event) {
	switch p := e.Data.(type) {
	case event.TaskFinished:
		if p.Outcome == release.Success {
			out[p.Task] = event.JudgedTest{Outcome: p.Outcome, Class: p.Class}
		}
	case event.TaskConcluded:
		delete(out, p.Task)
		if p.Attempts > 0 && p.Outcome != release.Cancelled {
			out[p.Task] = event.JudgedTest{Outcome: p.Outcome, Class: p.Class, Reason: clipped(p.Reason)}
		}
	}
}

// judged lists the tests of a plan that ran, in its order. A test of several tasks is as good as the worst of them.
func judged(p *plan.Plan, ends map[release.TaskID]event.JudgedTest) []event.JudgedTest {
	var out []event.JudgedTest
	at := map[string]int{}
	for _, t := range p.Tasks {
		one, ran := ends[t.ID]
		if t.Kind != release.Test || !ran {
			continue
		}
		one.Test, one.Task = cmp.Or(t.Variables[rayName], t.Name), t.ID
		one.Owner, one.Frequency, one.Stable = cmp.Or(t.Owner, t.Team), t.Frequency, t.Stable || !t.SoftFail
		i, known := at[one.Test]
		switch {
		case !known:
			at[one.Test] = len(out)
			out = append(out, one)
		case out[i].Outcome == release.Success:
			out[i] = one
		}
	}
	return out
}

func clipped(text string) string { return text[:min(len(text), maxWhy)] }
