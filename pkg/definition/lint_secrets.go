package definition

import (
	"github.com/sluiceci/sluice/pkg/release"
)

// withheld warns of secrets that are asked for and that runs of pull requests do not get.
func (l *linter) withheld() {
	if l.def.Triggers.PullRequest.Off {
		return
	}
	for _, list := range []Map[Job]{l.def.Builds, l.def.Tests} {
		for i := range list {
			e := &list[i]
			if _, dead := l.dead[e.Name]; !dead {
				l.without("job "+e.Name+" runs", &e.Value)
			}
		}
	}
	for i := range l.def.suites {
		s := &l.def.suites[i]
		l.without("the tests of "+s.name+" run", &s.change)
	}
	for _, e := range l.def.Environments {
		if secrets := e.Value.Secrets; len(secrets) > 0 && l.holds(e.Name) {
			l.fail(secrets[0].At, "", "a run of a pull request gets no secrets: the environment %s is there without %s", e.Name, enumerate(Strings(secrets), 5))
		}
	}
}

// without warns that jobs run without their secrets, unless their condition leaves them out there.
func (l *linter) without(runs string, j *Job) {
	if _, never := l.never(j, []release.ChangeKind{release.PullRequest}); len(j.Secrets) > 0 && !never {
		l.fail(j.Secrets[0].At, `leave it out there: if: change.kind != "pull_request"`,
			"a run of a pull request gets no secrets: %s there without %s", runs, enumerate(Strings(j.Secrets), 5))
	}
}

// holds reports whether tasks of a pull request are in an environment although nobody chose one: it is the default, or a
// job's own.
func (l *linter) holds(environment string) bool {
	if environment == defaultEnvironment {
		return true
	}
	for _, list := range []Map[Job]{l.def.Builds, l.def.Tests} {
		for i := range list {
			_, never := l.never(&list[i].Value, []release.ChangeKind{release.PullRequest})
			if list[i].Value.Environment.Value == environment && !never {
				return true
			}
		}
	}
	return false
}
