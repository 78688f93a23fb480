package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// widget is a project whose release test ends once somebody lets it.
const widget = `
project: widget
release: {branch: master, approvals: 1}
triggers: {push: {}, pull_request: {}, comment: true}
settings: {size: 1, tests: {gpu: 1}}
presets: {large: {size: 10}}
builds:
  part: {env: {SIZE: "{{ settings.size }}"}, run: "echo $SIZE >part.txt", outputs: {part: part.txt}}
tests:
  smoke: {needs: [part], run: 'until [ -e "$LET_GO" ]; do sleep 0.1; done'}
  extra: {needs: [part], run: 'true'}
gate: {require: [builds, tests.smoke]}
`

// platform is a Sluice that serves acme/widget of a Gitea.
type platform struct{ dir, url, letGo string }

func newPlatform(t *testing.T, g gitea) platform {
	t.Helper()
	dir := t.TempDir()
	p := platform{dir: dir, url: "http://127.0.0.1:8038", letGo: filepath.Join(dir, "let-go")}
	write(t, filepath.Join(dir, "secrets"), "HOOK=s3cr3t-of-the-hook\nFORGE_TOKEN="+g.tokens["acme"]+"\n")
	write(t, filepath.Join(dir, "installation.yaml"), fmt.Sprintf(`
dir: %[1]s/state
listen: 127.0.0.1:8038
secrets: [%[1]s/secrets]
nats: {listen: "off"}
projects:
  - {name: widget, forge: gitea, repo: acme/widget, clone_url: %[2]s/acme/widget.git, branches: [master],
     release_refs: [refs/heads/master], secrets: [HOOK], base_url: %[2]s, token: FORGE_TOKEN}
gateway: {poll: 1h}
executors: [{pool: default, slots: 4, environment: {LET_GO: %[3]s}}]
`, dir, giteaURL, p.letGo))
	serve(t, dir, nil, sluice(t), "up", "--config", filepath.Join(dir, "installation.yaml"))
	within(t, "sluice is ready", func() bool { return answers(p.url + "/readyz") })
	return p
}

func TestGitea(t *testing.T) {
	g := newGitea(t)
	g.repository(t, "http://127.0.0.1:8038/hooks/gitea", "s3cr3t-of-the-hook")
	p := newPlatform(t, g)
	clone := checkout(t, "", map[string]string{"sluice.yaml": widget})
	first := g.push(t, clone, "acme", "master", "second")
	within(t, "the push is pending", func() bool { state, _ := g.status(t, first, "sluice/push/master"); return state == "pending" })

	write(t, filepath.Join(clone, "change.txt"), "a change")
	head := g.push(t, clone, "dev", "feature", "a change")
	g.call(t, "dev", "POST", "/repos/acme/widget/pulls", map[string]string{"title": "A change", "head": "feature", "base": "master"}, nil)
	within(t, "the pull request is pending", func() bool { state, _ := g.status(t, head, "sluice/pr/master"); return state == "pending" })

	asks := func(person, text string, wants ...string) {
		t.Helper()
		answer := g.ask(t, person, 1, text)
		for _, want := range wants {
			if !strings.Contains(answer, want) {
				t.Errorf("%s says %q and is answered\n%s\nexpected %q in it", person, text, answer, want)
			}
		}
	}
	asks("dev", "/help", "Each on a line of its own", "`/test [JOB] [PRESET | PATH=VALUE]..`")
	asks("dev", "/tset", "Nothing was done", "unknown directive /tset", "did you mean /test?")
	asks("dev", "Please\n\n/test extra size=3", "A run is planned for commit `"+head[:8]+"`", "`extra`", "`part`", p.url+"/runs/")
	asks("dev", "/var tests.gqu: 2", "Nothing was done", "/var tests.gqu: 2: unknown setting tests.gqu", "did you mean tests.gpu?")
	asks("dev", "/test extra large\n/var tests.gpu: 2", "A run is planned")
	asks("dev", "/hold", "needs a permission", "`/hold` needs admin", "Your permission in this repository is `write`")
	asks("guest", "/test", "`/test` needs write", "Your permission in this repository is `read`")
	asks("acme", "/hold wait for the docs", "Done for commit `"+head[:8]+"`", "held")
	asks("acme", "/approve", "Done for commit", "approved")
	asks("acme", "/resume", "Done for commit")
	asks("dev", "/cancel no more", "Done for commit", "is being cancelled")
	within(t, "the status says that the run was cancelled", func() bool {
		state, text := g.status(t, head, "sluice/pr/master")
		return (state == "error" || state == "failure") && strings.Contains(text, "no more")
	})
	within(t, "the run of a comment has its own status", func() bool {
		state, _ := g.status(t, head, "sluice/comment/master")
		return state == "success"
	})
	p.moved(t, g, clone)
	p.released(t, g, first)
}

// moved is a comment on a head that is one no more, and what is no comment for us.
func (p platform) moved(t *testing.T, g gitea, clone string) {
	t.Helper()
	before := len(g.comments(t, 1))
	for _, text := range []string{"looks good to me", "/lgtm", "> /test\n\n```\n/test\n```"} {
		g.call(t, "dev", "POST", "/repos/acme/widget/issues/1/comments", map[string]string{"body": text}, nil)
	}
	write(t, filepath.Join(clone, "change.txt"), "another change")
	head := g.push(t, clone, "dev", "feature", "another change")
	within(t, "the new head is pending", func() bool { state, _ := g.status(t, head, "sluice/pr/master"); return state == "pending" })
	if answer := g.ask(t, "dev", 1, "/cancel"); !strings.Contains(answer, head[:8]) {
		t.Errorf("after a push /cancel is answered\n%s\nexpected the new head %s in it", answer, head[:8])
	}
	if all := g.comments(t, 1); len(all) != before+5 {
		t.Errorf("there are %d comments, expected %d: talk is not answered\n%s", len(all), before+5, strings.Join(all[before:], "\n---\n"))
	}
}

// released lets the test of the first push go: the gate waits for an approval, which anybody who maintains may give.
func (p platform) released(t *testing.T, g gitea, commit string) {
	t.Helper()
	write(t, p.letGo, "")
	within(t, "the push asks for its approval", func() bool {
		out := run(t, p.dir, sluice(t), "why", commit[:8], "--dir", filepath.Join(p.dir, "state"))
		return strings.Contains(out, "approv")
	})
	run(t, p.dir, sluice(t), "approve", commit[:8], "--dir", filepath.Join(p.dir, "state"))
	within(t, "the push has passed", func() bool { state, _ := g.status(t, commit, "sluice/push/master"); return state == "success" })
}
