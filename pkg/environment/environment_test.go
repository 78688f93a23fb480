package environment_test

import (
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/sluiceci/sluice/pkg/environment"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

func rules(t *testing.T, text string) environment.Rules {
	t.Helper()
	var out environment.Rules
	if err := yaml.NewDecoder(strings.NewReader(text), yaml.Strict()).Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

const file = `
- {name: prod, projects: [one], refs: [refs/heads/master, "refs/tags/v*"], reviewers: [ada, "github:Grace"], targets: [pypi, "mirror-*"]}
- {name: prod, projects: [two], trust: trusted}
- {name: lab, projects: ["*"], trust: trusted, reviewers: [ada, bob, eve], approvals: 2}
`

func TestAdmits(t *testing.T) {
	push := release.Change{Kind: release.Push, Project: "one", Ref: "refs/heads/master"}
	with := func(change func(*release.Change)) release.Change { c := push; change(&c); return c }
	for _, one := range []struct {
		name, environment string
		change            release.Change
		trust             release.Trust
		want              string // part of the refusal; "" when it may
	}{
		{"the release branch", "prod", push, release.TrustRelease, ""},
		{"a tag", "prod", with(func(c *release.Change) { c.Ref = "refs/tags/v1" }), release.TrustRelease, ""},
		{"another branch", "prod", with(func(c *release.Change) { c.Ref = "refs/heads/feature" }), release.TrustRelease, "is for refs refs/heads/master, refs/tags/v*, this run is of refs/heads/feature"},
		{"a branch that only ends like one", "prod", with(func(c *release.Change) { c.Ref = "refs/heads/x/refs/heads/master" }), release.TrustRelease, "is for refs"},
		{"a commit that nobody verified", "prod", push, release.TrustTrusted, "is for changes of trust release, this one is trusted"},
		{"trust that is not known", "lab", push, "", "is for changes of trust trusted, this one is untrusted"},
		{"a pull request", "lab", with(func(c *release.Change) { c.Kind = release.PullRequest }), release.TrustTrusted, "a pull request never uses"},
		{"a fork", "lab", with(func(c *release.Change) { c.Fork = true }), release.TrustRelease, "a pull request never uses"},
		{"any ref", "lab", with(func(c *release.Change) { c.Ref = "refs/heads/x" }), release.TrustTrusted, ""},
	} {
		p, found := rules(t, file).Find("one", one.environment)
		admitted, why := p.Admits(one.change, one.trust)
		if !found || admitted != (one.want == "") || !strings.Contains(why, one.want) {
			t.Errorf("%s: found %v, admitted %v: %q, expected %q", one.name, found, admitted, why, one.want)
		}
	}
}

func TestApproved(t *testing.T) {
	prod, _ := rules(t, file).Find("one", "prod")
	lab, _ := rules(t, file).Find("one", "lab")
	open, _ := rules(t, file).Find("two", "prod")
	for _, one := range []struct {
		name     string
		p        environment.Protected
		subjects []string
		want     bool
	}{
		{"nobody", prod, nil, false},
		{"the owner of a token", prod, []string{"token:ada"}, true},
		{"somebody of a forge", prod, []string{"github:Grace"}, true},
		{"somebody who calls themselves like a reviewer", prod, []string{"ada", "github:ada", "oidc:ada", "token:github:Grace"}, false},
		{"nobody in particular", prod, []string{""}, false},
		{"one of two", lab, []string{"token:ada", "token:ada", "token:mallory"}, false},
		{"two of two", lab, []string{"token:eve", "token:ada"}, true},
		{"where nobody reviews", open, nil, true},
	} {
		if got, reason := one.p.Approved(one.subjects); got != one.want {
			t.Errorf("%s: %v, %s", one.name, got, reason)
		}
	}
}

func TestEnteredIsOnlyWhatIsProtected(t *testing.T) {
	r := rules(t, file)
	c := release.Change{Kind: release.Push, Project: "one", Ref: "refs/heads/master"}
	if got := r.Entered(c, release.TrustRelease, "prod"); got != "prod" {
		t.Errorf("the release branch is in %q", got)
	}
	if got := r.Entered(c, release.TrustRelease, "staging"); got != "" {
		t.Errorf("a name that nobody protects is %q", got)
	}
	c.Project = "three"
	if got := r.Entered(c, release.TrustRelease, "prod"); got != "" {
		t.Errorf("another project's environment is %q", got)
	}
	if all := r.OfTargets("one", []string{"maven", "mirror-2"}); len(all) != 1 || all[0].Name != "prod" {
		t.Errorf("the targets are in %+v", all)
	}
	if all := r.OfTargets("two", []string{"pypi"}); all != nil {
		t.Errorf("an environment without targets holds %+v", all)
	}
}

func TestExplain(t *testing.T) {
	p := &plan.Plan{
		Change: release.Change{Kind: release.Push, Project: "one", Ref: "refs/heads/master"}, Trust: release.TrustRelease,
		Tasks:   []plan.Task{{ID: "build"}, {ID: "deploy", Environment: "prod"}},
		Targets: []plan.Target{{Name: "pypi"}, {Name: "maven"}},
	}
	if got := strings.Join(rules(t, file).Explain(p), "\n"); got != "task deploy, target pypi: waits until 1 of the reviewers of environment prod (ada, github:Grace) have approved" {
		t.Errorf("explained %q", got)
	}
	p.Change.Ref = "refs/heads/x"
	if got := strings.Join(rules(t, file).Explain(p), "\n"); !strings.HasPrefix(got, "task deploy, target pypi: never started or published: environment prod is for refs") {
		t.Errorf("explained %q", got)
	}
}

func TestCheck(t *testing.T) {
	for _, one := range []struct{ name, text, want string }{
		{"right", file, ""},
		{"a project that is not there", "[{name: prod, projects: [tow]}]", `there is no project "tow"`},
		{"no project", "[{name: prod}]", "it has no projects"},
		{"no name", "[{projects: [one]}]", "its name has letters"},
		{"more approvals than reviewers", "[{name: prod, projects: [one], reviewers: [ada], approvals: 2}]", "approvals is 2, and it has 1 reviewers"},
		{"approvals by nobody", "[{name: prod, projects: [one], approvals: 1}]", "approvals is 1, and it has 0 reviewers"},
		{"one person twice", `[{name: prod, projects: [one], reviewers: [ada, "token:ada"]}]`, "stands there twice"},
		{"nobody", `[{name: prod, projects: [one], reviewers: ["github:"]}]`, "is no reviewer"},
		{"untrusted", "[{name: prod, projects: [one], trust: untrusted}]", "never uses it"},
		{"a broken glob", `[{name: prod, projects: [one], refs: ["[a"]}]`, "is no glob"},
		{"twice in a project", `[{name: prod, projects: [one]}, {name: prod, projects: ["*"]}]`, "numbers 1 and 2 under environments are for the same project"},
	} {
		err := rules(t, one.text).Check([]string{"one", "two"})
		if (err == nil) != (one.want == "") || err != nil && !strings.Contains(err.Error(), one.want) {
			t.Errorf("%s: %v, expected %q", one.name, err, one.want)
		}
	}
}
