package schedule

import (
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/environment"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// guarding protects prod: reviewers for the release branch, nobody for others.
func guarding() Config {
	return Config{Environments: environment.Rules{
		{Name: "prod", Projects: []string{"one"}, Refs: []string{"refs/heads/master"}, Reviewers: []string{"ada", "github:grace"}, Targets: []string{"pypi"}},
		{Name: "open", Projects: []string{"one"}, Refs: []string{"refs/heads/master"}},
	}}
}

func inEnvironment(name string) func(*event.TaskRequested) {
	return func(r *event.TaskRequested) { r.Environment = name }
}

// guardedPush is a plan of a trusted push of project one.
func guardedPush(builds, tests int32, required ...release.TaskID) event.RunPlanned {
	out := push(builds, tests, required...)
	out.Change.Project, out.Trust = "one", release.TrustRelease
	return out
}

func reviewed(reviewer string) event.EnvironmentApproved {
	return event.EnvironmentApproved{Environment: "prod", Reviewer: reviewer, By: "somebody"}
}

// TestATaskWaitsForItsEnvironment: it is not dispatched before a reviewer has approved, says so, and its queue time begins then.
func TestATaskWaitsForItsEnvironment(t *testing.T) {
	t.Parallel()
	b := newBench(t, guarding())
	b.beat("linux", "x", 4)
	limited := timeouts(release.Timeouts{Queue: release.Duration(time.Minute)})
	b.say(guardedPush(3, 0), requested("deploy", inEnvironment("prod"), limited), requested("open", inEnvironment("open")), requested("free", inEnvironment("staging")))
	b.want(b.follow(), "dispatch open.1", "dispatch free.1")
	b.pass(time.Hour)
	b.beat("linux", "x", 4, "open", "free")
	for _, wrong := range []string{"", "token:mallory", "github:ada", "oidc:ada", "ada"} {
		b.say(reviewed(wrong))
	}
	b.say(event.EnvironmentApproved{Environment: "open", Reviewer: "token:ada"})
	for _, got := range b.follow() {
		if strings.Contains(got, "deploy") {
			t.Fatalf("decided %s before a reviewer approved", got)
		}
	}
	why := Explain(b.s, testRun, "deploy", b.now)
	if why.State != "unapproved" || !strings.Contains(why.Reason, "it waits for environment prod: 0 of 1 approvals by reviewers (ada, github:grace); a reviewer lets it in with sluice approve "+string(testRun)+" --environment prod") {
		t.Fatalf("%+v", why)
	}
	if why := Explain(b.s, testRun, "", b.now); !strings.Contains(why.Reason, "1 of its tasks wait for approval; deploy: it waits for environment prod") {
		t.Fatalf("%+v", why)
	}
	b.say(reviewed("github:grace"))
	intents, _ := Decide(b.s, b.now)
	for _, i := range intents {
		if d, is := i.Payload.(event.TaskDispatched); is && d.Task == "deploy" {
			if d.Environment != "prod" {
				t.Fatalf("dispatched into %q", d.Environment)
			}
			return
		}
	}
	t.Fatalf("not dispatched after a reviewer approved: %v", short(intents))
}

// TestOnlyProtectedEnvironmentsAreEntered: the definition's word alone lets nobody in.
func TestOnlyProtectedEnvironmentsAreEntered(t *testing.T) {
	t.Parallel()
	b := newBench(t, guarding())
	b.beat("linux", "x", 4)
	b.say(guardedPush(2, 0), requested("a", inEnvironment("open")), requested("b", inEnvironment("staging")))
	intents, _ := Decide(b.s, b.now)
	got := map[release.TaskID]string{}
	for _, i := range intents {
		if d, is := i.Payload.(event.TaskDispatched); is {
			got[d.Task] = d.Environment
		}
	}
	if len(got) != 2 || got["a"] != "open" || got["b"] != "" {
		t.Fatalf("let into %v", got)
	}
}

// TestAnotherRefNeverEnters: its task ends at once, whatever anybody approves.
func TestAnotherRefNeverEnters(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*event.RunPlanned){
		"another branch": func(p *event.RunPlanned) { p.Change.Ref = "refs/heads/feature" },
		"a pull request": func(p *event.RunPlanned) { p.Change.Kind = release.PullRequest },
		"less trust":     func(p *event.RunPlanned) { p.Trust = release.TrustTrusted },
	} {
		b := newBench(t, guarding())
		b.beat("linux", "x", 4)
		planned := guardedPush(1, 0)
		change(&planned)
		b.say(requested("deploy", inEnvironment("prod")), reviewed("token:ada"))
		if got := b.decide(); len(got) > 0 {
			t.Fatalf("%s: decided %v before the plan was heard", name, got)
		}
		b.say(planned)
		if got := b.decide(); len(got) == 0 || !strings.HasPrefix(got[0], "conclude deploy error config") {
			t.Errorf("%s: decided %v", name, got)
		}
	}
}

// TestTheGateWaitsForReviewers: of this round's candidate.
func TestTheGateWaitsForReviewers(t *testing.T) {
	t.Parallel()
	guard := func(change func(*event.RunPlanned)) []event.Payload {
		return pushed(func(p *event.RunPlanned) {
			p.Change.Project, p.Trust = "one", release.TrustRelease
			if change != nil {
				change(p)
			}
		})
	}
	of := func(reviewer string, candidate release.Digest) event.EnvironmentApproved {
		out := reviewed(reviewer)
		out.Candidate = candidate
		return out
	}
	for name, c := range map[string]struct {
		facts []event.Payload
		want  string
		first string
	}{
		"nobody":              {guard(nil), "", "environment prod: 0 of 1 approvals by reviewers (ada, github:grace) of this candidate; a reviewer approves it with sluice approve " + string(testRun) + " --environment prod"},
		"before the builds":   {append([]event.Payload{reviewed("token:ada")}, guard(nil)...), "", "environment prod: 0 of 1"},
		"another candidate":   {append(guard(nil), of("token:ada", release.DigestOf([]byte("another")))), "", "environment prod: 0 of 1"},
		"no reviewer":         {append(guard(nil), of("token:eve", assembled(0).Candidate)), "", "environment prod: 0 of 1"},
		"a reviewer":          {append(guard(nil), of("token:ada", assembled(0).Candidate)), "open 0", ""},
		"a ref that may not":  {guard(func(p *event.RunPlanned) { p.Change.Ref = "refs/heads/other" }), "close 0", "environment prod: environment prod is for refs"},
		"trust that may not":  {guard(func(p *event.RunPlanned) { p.Trust = "" }), "close 0", "environment prod: environment prod is for changes of trust release, this one is untrusted"},
		"an unguarded target": {guard(func(p *event.RunPlanned) { p.Targets = []event.TargetName{{Name: "maven"}} }), "open 0", ""},
	} {
		b := newBench(t, guarding())
		b.say(c.facts...)
		if got := strings.Join(runOnly(b.decide()), ", "); got != c.want {
			t.Errorf("%s: decided %q, want %q", name, got, c.want)
		}
		got := firstUnmet(Explain(b.s, testRun, "", b.now).Conditions)
		if !strings.HasPrefix(got, c.first) || c.first == "" && got != "" {
			t.Errorf("%s: the first unmet condition is %q, want %q", name, got, c.first)
		}
	}
}
