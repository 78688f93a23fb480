package secret_test

import (
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/sluiceci/sluice/pkg/environment"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/secret"
)

func section(t *testing.T, text string) secret.Config {
	t.Helper()
	var c struct {
		Secrets secret.Config `yaml:"secrets"`
	}
	if err := yaml.NewDecoder(strings.NewReader(text), yaml.Strict()).Decode(&c); err != nil {
		t.Fatal(err)
	}
	return c.Secrets
}

const section1 = `
secrets:
  grants:
    - {names: [NPM_TOKEN], projects: [one], refs: [refs/heads/master, "refs/heads/releases/**"], environments: [prod], kinds: [build]}
    - {names: [HF_TOKEN], projects: [one, two], trust: trusted}
    - {names: [SHARED], projects: ["*"]}
    - {names: [PYPI_TOKEN], projects: [one], refs: [refs/heads/master], targets: [pypi, "mirror-*"]}
    - {names: [CLOUD], projects: [one], kinds: [provider]}
`

// environments are the protected ones of the tests' installation.
func environments() environment.Rules {
	return environment.Rules{{Name: "prod", Projects: []string{"one"}, Refs: []string{"refs/heads/master"}, Reviewers: []string{"ada"}}}
}

func TestDecide(t *testing.T) {
	grants := section(t, section1).Grants
	task := secret.Use{Name: "NPM_TOKEN", Project: "one", Ref: "refs/heads/master", Environment: "prod", Kind: "build", Change: release.Push, Trust: release.TrustRelease}
	with := func(change func(*secret.Use)) secret.Use { u := task; change(&u); return u }
	for _, one := range []struct {
		name string
		use  secret.Use
		want string // part of the refusal; "" when it is given
	}{
		{"as granted", task, ""},
		{"another ref that matches", with(func(u *secret.Use) { u.Ref = "refs/heads/releases/2/1" }), ""},
		{"another branch", with(func(u *secret.Use) { u.Ref = "refs/heads/feature" }), "grant 1 is for refs refs/heads/master"},
		{"a ref that only ends like one", with(func(u *secret.Use) { u.Ref = "refs/heads/x/refs/heads/master" }), "grant 1 is for refs"},
		{"another project", with(func(u *secret.Use) { u.Project = "two" }), "grant 1 is for another project"},
		{"no project", with(func(u *secret.Use) { u.Project = "" }), "another project"},
		{"another environment", with(func(u *secret.Use) { u.Environment = "staging" }), "grant 1 is for work that was let into environment prod, and this was let into staging"},
		{"no environment", with(func(u *secret.Use) { u.Environment = "" }), "grant 1 is for work that was let into environment prod, and this was let into none"},
		{"another kind", with(func(u *secret.Use) { u.Kind = "test" }), "grant 1 is for tasks of kind build"},
		{"less trust", with(func(u *secret.Use) { u.Trust = release.TrustTrusted }), "grant 1 is for changes of trust release"},
		{"untrusted", with(func(u *secret.Use) { u.Trust = release.TrustUntrusted }), "a run of an untrusted change gets no secrets"},
		{"trust that is not known", with(func(u *secret.Use) { u.Trust = "" }), "a run of an untrusted change gets no secrets"},
		{"a pull request", with(func(u *secret.Use) { u.Change = release.PullRequest }), "a run of a pull request gets no secrets"},
		{"a comment on a pull request", with(func(u *secret.Use) { u.Change = release.Comment }), "a run of a pull request gets no secrets"},
		{"granted to trusted changes", with(func(u *secret.Use) { u.Name, u.Trust, u.Ref = "HF_TOKEN", release.TrustTrusted, "refs/heads/x" }), ""},
		{"granted to every project", with(func(u *secret.Use) { u.Name, u.Project = "SHARED", "three" }), ""},
		{"a secret that no grant names", with(func(u *secret.Use) { u.Name = "HOOK" }), `add {names: [HOOK], projects: [one], refs: ["refs/heads/master"], environments: [prod], kinds: [build]}`},
		{"a publisher's secret for a task", with(func(u *secret.Use) { u.Name = "PYPI_TOKEN" }), "grant 4 is for publishing only"},
		{"the publisher", with(func(u *secret.Use) { u.Name, u.Kind, u.Target = "PYPI_TOKEN", "", "mirror-2" }), ""},
		{"the publisher for another target", with(func(u *secret.Use) { u.Name, u.Kind, u.Target = "PYPI_TOKEN", "", "maven" }), "grant 4 is for targets pypi, mirror-*"},
		{"another project's upload token", with(func(u *secret.Use) { u.Name, u.Kind, u.Target, u.Project = "PYPI_TOKEN", "", "pypi", "two" }), "grant 4 is for another project"},
		{"a task's secret for the publisher", with(func(u *secret.Use) { u.Kind, u.Target = "", "pypi" }), "grant 1 is for tasks only"},
		{"upkeep of places", with(func(u *secret.Use) { u.Upkeep = true }), "grant 1 is for other work"},
	} {
		t.Run(one.name, func(t *testing.T) {
			d := grants.Decide(one.use)
			if d.Allowed != (one.want == "") || !strings.Contains(d.Reason, one.want) {
				t.Errorf("decided %+v, expected %q", d, one.want)
			}
			if d.Allowed && d.Withheld {
				t.Error("given and withheld")
			}
		})
	}
}

func TestUpkeepIsNoGrantOfTasks(t *testing.T) {
	grants := secret.Grants{secret.Upkeep([]string{"BMC"})}
	use := secret.Use{Name: "BMC", Project: "one", Ref: "refs/heads/master", Kind: "cleanup", Trust: release.TrustRelease}
	if d := grants.Decide(use); d.Allowed {
		t.Errorf("a task gets what is for the installation's own places: %+v", d)
	}
	use.Upkeep = true
	if d := grants.Decide(use); !d.Allowed {
		t.Errorf("places are looked after without their secret: %+v", d)
	}
}

func TestCheckRefuses(t *testing.T) {
	for _, one := range []struct{ name, grants, want string }{
		{"right", section1, ""},
		{"a webhook secret", "secrets: {grants: [{names: [HOOK], projects: [one]}]}", "HOOK is a webhook secret of project one, and no definition may have it"},
		{"a project that is not there", "secrets: {grants: [{names: [A], projects: [tow]}]}", `there is no project "tow"`},
		{"no project", "secrets: {grants: [{names: [A]}]}", "it has no projects"},
		{"no name", "secrets: {grants: [{projects: [one]}]}", "it has no names"},
		{"a glob for a name", `secrets: {grants: [{names: ["*"], projects: [one]}]}`, `"*" is no name`},
		{"an unknown kind", "secrets: {grants: [{names: [A], projects: [one], kinds: [publish]}]}", `"publish" is no kind of task`},
		{"untrusted", "secrets: {grants: [{names: [A], projects: [one], trust: untrusted}]}", "never gets a secret"},
		{"a level that is not there", "secrets: {grants: [{names: [A], projects: [one], trust: all}]}", `trust is "all"`},
		{"an environment that nobody protects", `secrets: {grants: [{names: [A], projects: [one], environments: [staging]}]}`, "environment staging is not protected in project one"},
		{"one that another project protects", `secrets: {grants: [{names: [A], projects: [two], environments: [prod]}]}`, "environment prod is not protected in project two"},
		{"an environment of targets", `secrets: {grants: [{names: [A], projects: [one], environments: [prod], targets: [pypi]}]}`, "it has environments and targets"},
		{"a broken glob", `secrets: {grants: [{names: [A], projects: [one], refs: ["[a"]}]}`, `"[a" is no glob`},
		{"both sides", "secrets: {grants: [{names: [A], projects: [one]}, {names: [A], projects: [one], targets: [pypi]}]}", "a credential for publishing goes to no task"},
	} {
		t.Run(one.name, func(t *testing.T) {
			err := section(t, one.grants).Check(map[string]string{"HOOK": "a webhook secret of project one"}, []string{"one", "two"}, environments())
			if (err == nil) != (one.want == "") || err != nil && !strings.Contains(err.Error(), one.want) {
				t.Errorf("got %v, expected %q", err, one.want)
			}
		})
	}
}

func TestAListIsFiles(t *testing.T) {
	if c := section(t, "secrets: [a, b]"); len(c.Files) != 2 || c.Grants != nil {
		t.Errorf("read %+v", c)
	}
}

func TestExplain(t *testing.T) {
	p := &plan.Plan{
		Change: release.Change{Kind: release.Push, Project: "one", Ref: "refs/heads/master"}, Trust: release.TrustRelease,
		Providers: []plan.Provider{{Name: "cloud", Secrets: []string{"CLOUD"}}},
		Tasks: []plan.Task{
			{ID: "wheel", Kind: release.Build, Environment: "prod", Secrets: []string{"NPM_TOKEN", "PYPI_TOKEN"}},
			{ID: "stage", Kind: release.Build, Environment: "staging", Secrets: []string{"NPM_TOKEN"}},
			{ID: "big", Kind: release.Test, Lease: release.LeaseRequest{Provider: "cloud"}, Secrets: []string{"CLOUD"}},
		},
	}
	var got []string
	for _, one := range section(t, section1).Grants.Explain(p, environments()) {
		state := " no"
		if one.Allowed {
			state = " yes"
		}
		got = append(got, one.Work+" "+one.Secret+state)
	}
	want := "task wheel NPM_TOKEN yes, task wheel PYPI_TOKEN no, task stage NPM_TOKEN no, task big CLOUD no, provider cloud for task big CLOUD yes"
	if strings.Join(got, ", ") != want {
		t.Errorf("explained %s\nexpected  %s", strings.Join(got, ", "), want)
	}
}
