package schedule

import (
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// TestATakenNameEndsTheRunEarly: nobody waits for hours of tests of a version that cannot be published. What has not started is
// not started, the gate closes at once with the reason, and a retry asks again.
func TestATakenNameEndsTheRunEarly(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{Lookahead: 1})
	b.beat("linux", "x", 1)
	b.say(push(1, 3, "t1", "t2", "t3"), requested("b"))
	b.say(ok("b", 1)...)
	b.say(assembled(0), requested("t1", asTest, needs("b")), requested("t2", asTest, needs("b")), requested("t3", asTest, needs("b")))
	b.want(b.follow(), "dispatch t1.1", "dispatch t2.1")
	b.say(start("t1", 1), start("t2", 1))
	b.beat("linux", "x", 1, "t1.1", "t2.1")
	for _, harmless := range []event.PublicationChecked{
		{Target: "pypi", Planned: true, Fault: "denied", Reason: "the token has expired"},
		{Target: "maven", Fault: "transient", Reason: "it is away"},
	} {
		b.say(harmless)
	}
	b.want(b.follow())
	b.say(event.PublicationChecked{Target: "pypi", Round: 0, Fault: "conflict", Reason: "demo-1.0.whl is there with another digest"})
	b.want(b.follow(), "conclude t3 cancel cancelled after 0 in round 0", "close 0")
	if why := Explain(b.s, testRun, "t3", b.now); why.Reason != "not started: a target has a name of the candidate with other bytes, and that decides the outcome of the run" {
		t.Errorf("%+v", why)
	}
	var targets string
	for _, c := range Explain(b.s, testRun, "", b.now).Conditions {
		if c.Name == "targets" && !c.Met && c.Final {
			targets = c.Reason
		}
	}
	if !strings.Contains(targets, "pypi: demo-1.0.whl is there with another digest") || !strings.Contains(targets, "sluice retry") {
		t.Errorf("the gate says %q", targets)
	}
	b.say(finish("t1", 1, release.ClassOK), finish("t2", 1, release.ClassOK))
	b.want(b.follow(), "end 0 failure")
	b.say(event.RunRetryRequested{Request: "again"}, assembled(1))
	b.want(b.follow(), "dispatch t3.1")
	b.say(ok("t3", 1)...)
	b.want(b.follow(), "open 1")
}
