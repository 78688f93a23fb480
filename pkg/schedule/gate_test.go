package schedule

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// pushed are the facts of a run of one build and two tests, both required, that all succeeded.
func pushed(change func(*event.RunPlanned)) []event.Payload {
	planned := push(1, 2, "t1", "t2")
	if change != nil {
		change(&planned)
	}
	out := []event.Payload{planned, requested("b")}
	out = append(out, ok("b", 1)...)
	out = append(out, assembled(0), requested("t1", asTest, needs("b")), requested("t2", asTest, needs("b")))
	return append(append(out, ok("t1", 1)...), ok("t2", 1)...)
}

// without leaves out what has a type and, with a task, is that task's.
func without(facts []event.Payload, t event.Type, key string) []event.Payload {
	var out []event.Payload
	for _, p := range facts {
		if p.EventType() != t || !strings.HasPrefix(p.Key(), key) {
			out = append(out, p)
		}
	}
	return out
}

func TestGate(t *testing.T) {
	t.Parallel()
	all := pushed(nil)
	noT2 := without(all, event.TypeTaskFinished, "linux.t2")
	for name, c := range map[string]struct {
		facts []event.Payload
		want  string // decided about the run
		first string // the first condition that is not met
	}{
		"all well":                {all, "open 0", ""},
		"no candidate yet":        {without(all, event.TypeCandidateAssembled, ""), "", "candidate: it is not assembled yet"},
		"a test runs":             {noT2, "", "tests: 1 of 2 required tests succeeded; 1 have not ended: t2"},
		"a test is not requested": {without(noT2, event.TypeTaskRequested, "t2"), "", "tests: 1 of 2 required tests succeeded; 1 have not ended: t2"},
		"a test failed":           {append(noT2, event.TaskConcluded{Task: "t2", Outcome: release.Failure, Reason: "exit 1"}), "close 0", "tests: 1 of 2 required tests succeeded"},
		"a test was skipped":      {append(noT2, event.TaskConcluded{Task: "t2", Outcome: release.Cancelled, Reason: "skipped"}), "close 0", "tests: 1 of 2 required tests succeeded"},
		"a soft test failed":      {append(without(noT2, event.TypeTaskRequested, "t2"), requested("t2", asTest, soft), event.TaskConcluded{Task: "t2", Outcome: release.Failure}), "close 0", "tests: 1 of 2 required tests succeeded"},
		"no test on purpose":      {pushed(func(p *event.RunPlanned) { p.GateTests, p.Untested = nil, true }), "open 0", ""},
		"no test required":        {pushed(func(p *event.RunPlanned) { p.GateTests = nil }), "close 0", "tests: the plan requires no test, and what nothing tested is not passed"},
		"one never requested":     {pushed(func(p *event.RunPlanned) { p.GateTests = append(p.GateTests, "t9") }), "close 0", "tests: 2 of 3 required tests succeeded"},
		"a pull request":          {pushed(func(p *event.RunPlanned) { p.Change.Kind = release.PullRequest }), "close 0", "change: it is a pull request, and the gate opens on push only"},
		"allowed pull request": {pushed(func(p *event.RunPlanned) {
			p.Change.Kind, p.GateOn = release.PullRequest, []release.ChangeKind{release.PullRequest}
		}), "close 0", "policy: a pull request never publishes"},
		"a fork":                {pushed(func(p *event.RunPlanned) { p.Change.Fork = true }), "close 0", "policy: a pull request never publishes"},
		"another branch":        {pushed(func(p *event.RunPlanned) { p.Change.Branch = "topic" }), "close 0", "policy: branch topic is not the release branch master"},
		"manual, not asked for": {pushed(func(p *event.RunPlanned) { p.Change.Kind = release.Manual }), "close 0", "change: it is a manual run, and the gate opens on push only"},
		"no policy":             {pushed(func(p *event.RunPlanned) { p.Release = release.ReleasePolicy{} }), "close 0", "policy: branch master is not the release branch "},
		"approvals pending":     {pushed(func(p *event.RunPlanned) { p.Release.Approvals = 2 }), "", "approvals: 0 of 2 people have approved"},
		"approved once by one":  {append(pushed(func(p *event.RunPlanned) { p.Release.Approvals = 2 }), approve("ann"), event.GateApproved{By: "bob"}, event.GateApproved{By: "eve", Candidate: release.DigestOf([]byte("another"))}, approve("ann")), "", "approvals: 1 of 2 people have approved"},
		"one person, two names": {append(pushed(func(p *event.RunPlanned) { p.Release.Approvals = 2 }), approveAs("oidc:1", "ann"), approveAs("oidc:1", "bob")), "", "approvals: 1 of 2 people have approved"},
		"two people, one name":  {append(pushed(func(p *event.RunPlanned) { p.Release.Approvals = 2 }), approveAs("oidc:1", "ann"), approveAs("oidc:2", "ann")), "open 0", ""},
		"approved":              {append(pushed(func(p *event.RunPlanned) { p.Release.Approvals = 1 }), approve("ann")), "open 0", ""},
		"held":                  {append([]event.Payload{event.GateHeld{Request: "1", By: "ann", Reason: "wait for docs"}}, all...), "", "hold: held by ann (wait for docs)"},
		"held and resumed":      {append([]event.Payload{event.GateHeld{Request: "1"}, event.GateHeld{Request: "2"}, event.GateResumed{Request: "3"}}, all...), "open 0", ""},
		"resumed, then held":    {append([]event.Payload{event.GateResumed{Request: "3"}, event.GateHeld{Request: "1"}}, all...), "", "hold: held by somebody"},
		"held before a target":  {append([]event.Payload{event.GateHeld{Request: "1", Before: "pypi"}}, all...), "open 0", ""},
		"another round's":       {append(without(all, event.TypeCandidateAssembled, ""), assembled(1)), "", "candidate: it is not assembled yet"},
		"rejected":              {append(without(all, event.TypeCandidateAssembled, ""), event.CandidateRejected{Reasons: []string{"a.whl has no stamp"}}), "close 0", "candidate: a.whl has no stamp"},
		"an empty plan":         {[]event.Payload{event.RunPlanned{}}, "close 0", "candidate: the plan has no task"},
		"builds not all known":  {[]event.Payload{push(2, 0), requested("b")}, "", "builds: 1 of 2 builds have been requested"},
	} {
		b := newBench(t, Config{})
		b.say(c.facts...)
		if got := strings.Join(runOnly(b.decide()), ", "); got != c.want {
			t.Errorf("%s: decided %q, want %q", name, got, c.want)
		}
		if got := firstUnmet(Explain(b.s, testRun, "", b.now).Conditions); got != c.first {
			t.Errorf("%s: the first unmet condition is %q, want %q", name, got, c.first)
		}
	}
}

func runOnly(decided []string) []string {
	var out []string
	for _, d := range decided {
		if strings.HasPrefix(d, "open") || strings.HasPrefix(d, "close") || strings.HasPrefix(d, "end") {
			out = append(out, d)
		}
	}
	return out
}

func firstUnmet(conditions []release.Condition) string {
	for _, c := range conditions {
		if !c.Met {
			return c.Name + ": " + c.Reason
		}
	}
	return ""
}

// TestConditionsFoldWhatIsWell: 300 green tests are one condition, each failure is one of its own.
func TestConditionsFoldWhatIsWell(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	var ids []release.TaskID
	for i := range 300 {
		ids = append(ids, release.TaskID(fmt.Sprint("t", i)))
	}
	b.say(push(1, 300, ids...), requested("b"))
	b.say(append(ok("b", 1), assembled(0))...)
	for i, id := range ids {
		b.say(requested(id, asTest))
		if i%100 == 7 {
			b.say(event.TaskConcluded{Task: id, Outcome: release.Error, Reason: "lost"})
		} else {
			b.say(ok(id, 1)...)
		}
	}
	b.want(b.follow(), "close 0", "end 0 error")
	closed := b.stream[len(b.stream)-2].Data.(event.GateClosed)
	if len(closed.Conditions) != 10 || closed.Reason != "tests: 297 of 300 required tests succeeded; test t7: error: lost; test t107: error: lost; test t207: error: lost" {
		t.Fatalf("%d conditions, %q", len(closed.Conditions), closed.Reason)
	}
}

func TestGateClosesOnFailedBuildsWithEveryReason(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	planned := push(3, 1, "t")
	planned.KeepGoing = true
	b.say(planned, requested("a"), requested("b"), requested("c"))
	b.say(finish("a", 1, release.ClassCommand))
	b.want(runOnly(b.follow())) // not before all builds have ended
	b.say(ok("b", 1)...)
	b.say(finish("c", 1, release.ClassConfig))
	b.want(runOnly(b.follow()), "close 0", "end 0 failure")
	why := Explain(b.s, testRun, "", b.now)
	if got := firstUnmet(why.Conditions); got != "builds: these builds did not succeed: a: attempt 1 ended as command; command is not retried; c: attempt 1 ended as config; config is not retried" {
		t.Fatal(got)
	}
}

func TestSoftBuildKeepsNothingShut(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	facts := pushed(func(p *event.RunPlanned) { p.Builds = 2 })
	b.say(append(facts, requested("s", soft), event.TaskConcluded{Task: "s", Outcome: release.Failure})...)
	b.want(b.follow(), "open 0")
}

func TestOpeningNamesWhatItLetsThrough(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	facts := pushed(nil)
	c := assembled(0)
	c.Blob, c.Plan = release.DigestOf([]byte("blob")), release.DigestOf([]byte("plan"))
	b.say(append(without(facts, event.TypeCandidateAssembled, ""), c)...)
	intents, _ := Decide(b.s, b.now)
	got := intents[0].Payload.(event.GateOpened)
	if got.Candidate != c.Candidate || got.Blob != c.Blob || got.Plan != c.Plan || len(got.Conditions) != 7 {
		t.Fatalf("%+v", got)
	}
	if intents[0].Cause.ID != b.stream[0].ID || intents[0].Cause.Run != testRun {
		t.Fatalf("caused by %+v, want the plan", intents[0].Cause)
	}
}

// TestEnds: what ends a run, and as what.
func TestEnds(t *testing.T) {
	t.Parallel()
	pr := func(p *event.RunPlanned) { p.Change.Kind = release.PullRequest }
	failing := func(class release.Class) []event.Payload {
		return append(without(pushed(nil), event.TypeTaskFinished, "linux.t2"), finish("t2", 1, class))
	}
	for name, c := range map[string]struct {
		facts []event.Payload
		want  string
	}{
		"rejected":                {[]event.Payload{event.RunRejected{}}, "end 0 failure"},
		"only the policy":         {pushed(pr), "close 0, end 0 success"},
		"a test failed":           {failing(release.ClassCommand), "close 0, end 0 failure"},
		"the platform failed":     {failing(release.ClassUnknown), "close 0, end 0 error"},
		"opened, not published":   {pushed(nil), "open 0"},
		"published":               {append(pushed(nil), event.GateOpened{}, event.ReleasePublished{}), "end 0 success"},
		"nothing to publish":      {append(pushed(func(p *event.RunPlanned) { p.Targets = nil }), event.GateOpened{}), "end 0 success"},
		"not published":           {append(pushed(nil), event.GateOpened{}, event.ReleaseFailed{}), "end 0 failure"},
		"the registry failed":     {append(pushed(nil), event.GateOpened{}, event.PublicationFailed{Fault: "transient"}, event.ReleaseFailed{}), "end 0 error"},
		"a conflict as well":      {append(pushed(nil), event.GateOpened{}, event.PublicationFailed{Target: "a", Fault: "transient"}, event.PublicationFailed{Target: "b", Fault: "conflict"}, event.ReleaseFailed{}), "end 0 failure"},
		"publication tried again": {append(pushed(nil), event.GateOpened{}, event.ReleaseFailed{}, event.RunFinished{Outcome: release.Failure}, event.PublicationRetryRequested{Request: "1"}), ""},
		"published in the end":    {append(pushed(nil), event.GateOpened{}, event.ReleaseFailed{}, event.RunFinished{Outcome: release.Failure}, event.PublicationRetryRequested{Request: "1"}, event.ReleasePublished{}), "end 1 success"},
		"cancelled in publishing": {append(pushed(nil), event.GateOpened{}, event.RunCancelRequested{Request: "1"}, event.ReleaseFailed{}), "end 0 cancel"},
		"cancelled too late":      {append(pushed(nil), event.GateOpened{}, event.RunCancelRequested{Request: "1"}, event.ReleasePublished{}), "end 0 success"},
		"cancelled before a plan": {[]event.Payload{event.RunCancelRequested{Request: "1"}}, "end 0 cancel"},
	} {
		b := newBench(t, Config{})
		b.say(c.facts...)
		if got := strings.Join(runOnly(b.follow()), ", "); got != c.want {
			t.Errorf("%s: decided %q, want %q", name, got, c.want)
		}
	}
}

func TestAReleaseEndsItsRunWhenAllTasksHave(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	b.say(pushed(func(p *event.RunPlanned) { p.Tests = 3 })...)
	b.say(requested("slow", asTest), start("slow", 1))
	b.beat("linux", "x", 1, "slow.1")
	b.want(b.follow(), "open 0")
	b.say(event.ReleasePublished{})
	b.want(b.follow())
	b.say(finish("slow", 1, release.ClassOK))
	b.want(b.follow(), "end 0 success")
}

// TestRunWaitsForAllItsTasks: the gate does not wait for what it does not require; the run's end does.
func TestRunWaitsForAllItsTasks(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{})
	b.say(pushed(func(p *event.RunPlanned) { p.Tests = 3; p.Change.Kind = release.PullRequest })...)
	b.say(requested("slow", asTest), start("slow", 1))
	b.beat("linux", "x", 1, "slow.1")
	b.want(b.follow(), "close 0")
	if why := Explain(b.s, testRun, "", b.now); why.State != "closed" || why.Reason != "the gate is closed; 1 tasks have not ended" {
		t.Fatalf("%+v", why)
	}
	b.say(finish("slow", 1, release.ClassCommand))
	b.want(b.follow(), "conclude slow failure command after 1 in round 0", "end 0 success")
}
