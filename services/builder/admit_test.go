package builder

import (
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// TestUntrustedChangesWaitRunOrDoNot shows the three policies on one fork's pull request, and that a permission is of one
// commit.
func TestUntrustedChangesWaitRunOrDoNot(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.commit(map[string]string{"sluice.yaml": simple})
	fork := g.pull("grace", "grace/tiny", "", map[string]string{"c": "1"})

	g.project.Policy = Never
	closeIt := g.open(Config{Projects: g.projects()})
	g.say(fork.RunID(), event.ChangeReceived{Change: fork})
	if ignored := await[event.ChangeIgnored](g.shop, fork.RunID()); !strings.Contains(ignored.Reason, "the project runs no untrusted changes") {
		t.Errorf("never: %q", ignored.Reason)
	}
	closeIt()

	g.project.Policy = ""
	second := g.pull("grace", "grace/tiny", "", map[string]string{"c": "2"})
	closeIt = g.open(Config{Projects: g.projects()})
	g.say(second.RunID(), event.ChangeReceived{Change: second})
	await[event.RunPermissionRequested](g.shop, second.RunID())
	g.say(second.RunID(), event.RunPermitted{Request: "r", By: "ada"})
	if planned := await[event.RunPlanned](g.shop, second.RunID()); planned.Trust != release.TrustUntrusted || len(planned.Targets) != 0 {
		t.Errorf("a permitted change is planned as %+v, expected it to stay untrusted", planned)
	}
	third := g.pull("grace", "grace/tiny", "", map[string]string{"c": "3"})
	g.say(third.RunID(), event.ChangeReceived{Change: third})
	await[event.RunPermissionRequested](g.shop, third.RunID())
	closeIt()

	g.project.Policy = Run
	fourth := g.pull("grace", "grace/tiny", "", map[string]string{"c": "4"})
	g.open(Config{Projects: g.projects()})
	g.say(fourth.RunID(), event.ChangeReceived{Change: fourth})
	if planned := await[event.RunPlanned](g.shop, fourth.RunID()); planned.Trust != release.TrustUntrusted {
		t.Errorf("policy run makes it %s", planned.Trust)
	}
}

// TestAMembersForkRunsUnasked: who may write needs nobody's permission, and their fork is untrusted all the same.
func TestAMembersForkRunsUnasked(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.commit(map[string]string{"sluice.yaml": simple})
	g.open(Config{Projects: g.projects()})
	fork := g.pull("ada", "ada/tiny", "", map[string]string{"c": "1"})
	g.say(fork.RunID(), event.ChangeReceived{Change: fork})
	if planned := await[event.RunPlanned](g.shop, fork.RunID()); planned.Trust != release.TrustUntrusted {
		t.Errorf("it is %s", planned.Trust)
	}
}

// TestCommentDoesNotReplacePermission: somebody who may write says /test on a stranger's pull request, and nobody has
// permitted its head.
func TestCommentDoesNotReplacePermission(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.commit(map[string]string{"sluice.yaml": asked})
	g.open(Config{Projects: g.projects()})
	fork := g.pull("grace", "grace/tiny", "", map[string]string{"c": "1"})
	wish := func(directives string) release.Change {
		c := fork
		c.Kind, c.Nonce, c.Author = release.Comment, release.Derive(directives), "ada"
		c.Parameters = map[string]string{"directives": directives}
		return c
	}
	test := wish("/test smoke")
	g.say(test.RunID(), event.ChangeReceived{Change: test})
	if told := await[event.CommentAnswered](g.shop, test.RunID()); !strings.Contains(told.Text, "say /ok-to-test "+fork.Commit.Short()) {
		t.Errorf("it is answered with %s", told.Text)
	}
	await[event.RunPermissionRequested](g.shop, test.RunID())
	g.say(fork.RunID(), event.RunPermitted{Request: "r", By: "ada"})
	again := wish("/test slow")
	g.say(again.RunID(), event.ChangeReceived{Change: again})
	await[event.RunPlanned](g.shop, again.RunID())
}

// TestTargetBranchDecidesWhetherStrangersRun is the half of attack 06 that nobody has to permit: master's definition says
// that pull requests start no run, the fork's says that they do, and that its gate requires nothing.
func TestTargetBranchDecidesWhetherStrangersRun(t *testing.T) {
	t.Parallel()
	open := "triggers: {pull_request: true}\ngate: {require: [builds]}\n" + simple
	for name, c := range map[string]struct{ master, target, want string }{
		"neither":            {"triggers: {pull_request: false}\n" + simple, "", "on refs/heads/master, "},
		"target chosen":      {"triggers: {pull_request: false}\n" + simple, open, "on refs/heads/master, "},
		"target wants none":  {simple, "triggers: {pull_request: false}\n" + simple, "on refs/heads/docs, "},
		"broken on master":   {"project: [\n", open, "refs/heads/master decides"},
		"nothing on master":  {"", open, "refs/heads/master decides"},
		"both want the rest": {"gate: {require: [builds, tests]}\n" + simple, open, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGuarded(t)
			g.project.Policy = Run
			file := map[string]string{"sluice.yaml": c.master}
			if c.master == "" {
				file = map[string]string{"README": "x"}
			}
			g.commit(file)
			if c.target != "" {
				g.git("checkout", "-q", "-b", "docs")
				g.commit(map[string]string{"sluice.yaml": c.target})
				g.git("checkout", "-q", "master")
			}
			g.open(Config{Projects: g.projects()})
			fork := g.pull("grace", "grace/tiny", "", map[string]string{"sluice.yaml": open, "c": "1"})
			if c.target != "" {
				fork.Branch = "docs"
			}
			g.say(fork.RunID(), event.ChangeReceived{Change: fork})
			if c.want == "" {
				if planned := await[event.RunPlanned](g.shop, fork.RunID()); len(planned.GateTests) != 1 {
					t.Errorf("its gate requires %v, expected the test that master requires", planned.GateTests)
				}
				return
			}
			if ignored := await[event.ChangeIgnored](g.shop, fork.RunID()); !strings.Contains(ignored.Reason, c.want) {
				t.Errorf("ignored since %q, expected %q", ignored.Reason, c.want)
			}
		})
	}
}

// TestTheInstallationAddsToTheGate: a definition can ask for more approvals and tests than the installation, never for less.
func TestTheInstallationAddsToTheGate(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.project.Approvals, g.project.Require = 2, []string{"tests"}
	g.open(Config{Projects: g.projects()})
	head := "release: {branch: master, approvals: %}\ngate: {require: [builds]}\n"
	for approvals, want := range map[string]int32{"1": 2, "3": 3} {
		push := g.commit(map[string]string{"sluice.yaml": strings.Replace(head, "%", approvals, 1) + simple})
		g.say(push.RunID(), event.ChangeReceived{Change: push})
		if p := await[event.RunPlanned](g.shop, push.RunID()); p.Release.Approvals != want || len(p.GateTests) != 1 || p.Trust != release.TrustRelease {
			t.Errorf("with %s approvals in the definition: %d, tests %v", approvals, p.Release.Approvals, p.GateTests)
		}
	}
}
