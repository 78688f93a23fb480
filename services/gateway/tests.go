package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/access"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// The states of health that a person can put a test into, and its label on the forge.
const (
	statePassing = "passing"
	stateJailed  = "jailed"
	labelJailed  = "jailed-test"

	jailTime = 14 * 24 * time.Hour
	jailMost = 366 * 24 * time.Hour
)

// tested is what a request says of a test.
type tested struct {
	Test  string    `json:"test,omitempty"`
	Owner string    `json:"owner,omitempty"`
	Until time.Time `json:"until,omitzero"`
}

// TestStatus is how a test fares.
type TestStatus struct {
	Project string        `json:"project"`
	Test    string        `json:"test"`
	State   string        `json:"state"` // passing, failing, consistently_failing, flaky, jailed
	Since   time.Time     `json:"since,omitzero"`
	Until   time.Time     `json:"until,omitzero"` // of a jail
	Owner   string        `json:"owner,omitempty"`
	Issue   int32         `json:"issue,omitempty"`
	URL     string        `json:"url,omitempty"` // of the issue
	Run     release.RunID `json:"run,omitempty"` // whose result moved it
	By      string        `json:"by,omitempty"`  // a person who did
	Reason  string        `json:"reason,omitempty"`
	Blamed  string        `json:"blamed,omitempty"` // commit
	number  int32
}

// testActions is what a person can do about a test.
func (g *gateway) testActions() []action {
	return []action{
		{"POST /api/v1/tests/jail", access.Any(access.Maintainer), g.jailTest},
		{"POST /api/v1/tests/free", access.Any(access.Maintainer), g.freeTest},
		{"POST /api/v1/bisects", access.Any(access.Developer), g.askBisect},

		{"POST /api/v1/bisects/{bisect}/stop", access.Any(access.Developer), g.stopBisect},
	}
}

// testList answers with every test that was ever anything but passing.
func (g *gateway) testList() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tests, err := g.tests(r.Context(), r.URL.Query().Get("project"), "")
		if err != nil {
			g.refuse(r.Context(), err, w)
			return
		}
		tests = slices.DeleteFunc(tests, func(t TestStatus) bool { return !access.From(r.Context()).Sees(t.Project) })
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string][]TestStatus{"tests": tests}) // the asker is gone when this fails
	})
}

// tests folds the health of tests: of one project, or of one test of it, or of all.
func (g *gateway) tests(ctx context.Context, project, test string) ([]TestStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	known := map[[2]string]*TestStatus{}
	err := g.history(ctx, []event.Type{event.TypeTestMoved, event.TypeIssueSynced}, func(e event.Event) {
		foldTest(known, e)
	}, keysOfTest(project, test))
	if err != nil {
		return nil, err
	}
	err = g.history(ctx, []event.Type{event.TypeBisectEnded}, func(e event.Event) {
		d := e.Data.(event.BisectEnded)
		if s := known[[2]string{d.Project, d.Test}]; s != nil && s.State != statePassing && d.Blamed != "" {
			s.Blamed = string(d.Blamed)
		}
	}, nil)
	out := []TestStatus{}
	for _, s := range known {
		if s.number > 0 && (project == "" || s.Project == project) {
			out = append(out, *s)
		}
	}
	slices.SortFunc(out, func(a, b TestStatus) int {
		return cmp.Or(cmp.Compare(a.Project, b.Project), cmp.Compare(a.Test, b.Test))
	})
	return out, err
}

func keysOfTest(project, test string) []string {
	switch {
	case test != "":
		return strings.Split(event.TestKey(project, test), ".")
	case project != "":
		return []string{release.Slug(project)}
	default:
		return nil
	}
}

func foldTest(known map[[2]string]*TestStatus, e event.Event) {
	of := func(project, test string) *TestStatus {
		key := [2]string{project, test}
		if known[key] == nil {
			known[key] = &TestStatus{Project: project, Test: test}
		}
		return known[key]
	}
	switch d := e.Data.(type) {
	case event.TestMoved:
		s := of(d.Project, d.Test)
		if d.Number < s.number {
			return
		}
		s.number, s.State, s.Since, s.Until, s.Owner = d.Number, d.To, e.Time, d.Until, cmp.Or(d.Owner, s.Owner)
		s.Run, s.By, s.Reason = d.Run, d.By, d.Reason
	case event.IssueSynced:
		s := of(d.Project, d.Test)
		s.Issue, s.URL = d.Issue, d.URL
	}
}

// history reads the facts of the fleet of some types, up to now.
func (g *gateway) history(ctx context.Context, types []event.Type, hear func(event.Event), keys []string) error {
	some := false
	for _, t := range types {
		_, err := g.deps.Bus.Get(ctx, t.FilterRun(event.Fleet, keys...))
		if err != nil && !bus.Empty(err) {
			return fault.As(fault.Transient, err)
		}
		some = some || err == nil
	}
	if !some {
		return nil
	}
	f, err := g.deps.Bus.Follow(ctx, bus.Following{Name: Name + "-tests", Types: types, Run: string(event.Fleet), Keys: keys})
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		batch, err := f.Next(ctx, 10*time.Second)
		if err != nil {
			return err
		}
		for _, e := range batch.Events {
			hear(e)
		}
		if batch.Live || len(batch.Events) == 0 {
			return nil
		}
	}
}

// aTest finds the project and the state of the test that a request names.
func (g *gateway) aTest(ctx context.Context, r request) (TestStatus, error) {
	p, err := g.in(r, access.Maintainer)
	if err != nil {
		return TestStatus{}, err
	}
	if r.body.Test == "" || !plain(r.body.Test, maxName) || !plain(r.body.Owner, maxName) {
		return TestStatus{}, fault.New(fault.Invalid, "cannot find test %.100q: expected the name of a test, and of its owner, of at most %d bytes", r.body.Test, maxName)
	}
	some, err := g.tests(ctx, p.Name, r.body.Test)
	if err != nil || len(some) == 0 {
		return TestStatus{Project: p.Name, Test: r.body.Test, State: statePassing}, err
	}
	return some[0], nil
}

// jailTest leaves a test out of plans until a time. One that is jailed already is jailed anew.
func (g *gateway) jailTest(ctx context.Context, r request) (done, error) {
	s, err := g.aTest(ctx, r)
	if err != nil {
		return done{}, err
	}
	now := g.deps.Now()
	until := r.body.Until
	if until.IsZero() {
		until = now.Add(jailTime)
	}
	switch {
	case r.body.Owner == "":
		return done{}, fault.New(fault.Invalid, "cannot jail test %s: say with owner who is to repair it", s.Test)
	case !until.After(now) || until.After(now.Add(jailMost)):
		return done{}, fault.New(fault.Invalid, "cannot jail test %s until %s: expected a time within the next year", s.Test, until.Format(time.RFC3339))
	}
	reason := cmp.Or(r.body.Reason, "jailed by "+r.by)
	return g.move(ctx, s, event.TestMoved{
		To: stateJailed, Owner: r.body.Owner, Until: until.UTC(), Reason: reason, By: r.by, Want: event.IssueOpen,
		Title: "Test " + s.Test + " is jailed", Labels: []string{labelJailed},
		Text: r.by + " jailed the test until " + until.UTC().Format(time.DateOnly) + "; " + r.body.Owner + " owns it until then: " + reason,
	})
}

// freeTest lets a test be planned again; what it did before counts no more.
func (g *gateway) freeTest(ctx context.Context, r request) (done, error) {
	s, err := g.aTest(ctx, r)
	if err != nil {
		return done{}, err
	}
	if s.State != stateJailed {
		return done{}, fault.New(fault.Conflict, "cannot free test %s of %s: it is not jailed but %s", s.Test, s.Project, s.State)
	}
	reason := cmp.Or(r.body.Reason, "freed by "+r.by)
	return g.move(ctx, s, event.TestMoved{
		To: statePassing, Owner: s.Owner, Reason: reason, By: r.by, Want: event.IssueClosed, Text: r.by + " let the test be run again: " + reason,
	})
}

// move stores a person's move unless another came first: then what they saw is no longer so.
func (g *gateway) move(ctx context.Context, s TestStatus, m event.TestMoved) (done, error) {
	ctx, cancel := context.WithTimeout(ctx, g.patience)
	defer cancel()
	m.Project, m.Test, m.Number, m.From, m.Issue = s.Project, s.Test, s.number+1, s.State, s.Issue
	e := g.fact(ctx, event.Fleet, m)
	mine, err := g.deps.Bus.Claim(ctx, e)
	if err == nil && !mine {
		err = fault.New(fault.Conflict, "cannot change test %s of %s: it has changed meanwhile; look again", s.Test, s.Project)
	}
	return done{Event: e.ID}, err
}
