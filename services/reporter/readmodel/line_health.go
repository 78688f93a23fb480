package readmodel

import (
	"fmt"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// healthLine tells of the health of tests, their issues, and the search for who broke them.
func healthLine(p event.Payload) (string, Tone) {
	switch p := p.(type) {
	case event.TestsJudged:
		bad := 0
		for _, t := range p.Tests {
			if t.Outcome != release.Success {
				bad++
			}
		}
		return fmt.Sprintf("%s of %s judged: %d did not pass", count(len(p.Tests), "test"), p.Project, bad), Plain
	case event.TestMoved:
		who := ""
		if p.By != "" {
			who = " by " + p.By
		}
		return because(fmt.Sprintf("test %s of %s went from %s to %s%s%s", p.Test, p.Project, p.From, p.To, who, until(p.Until)), p.Reason), toneOfHealth(p.To)
	case event.IssueSynced:
		return fmt.Sprintf("issue %d about test %s of %s was %s", p.Issue, p.Test, p.Project, p.Action), Plain
	case event.BisectRequested:
		return because(fmt.Sprintf("%s wants to know who broke %s of %s: after %s, up to %s", somebody(p.By), p.Test, p.Project, p.Good.Short(), p.Bad.Short()), p.Reason), Plain
	case event.BisectAdvanced:
		return because(fmt.Sprintf("bisection %s starts %s", p.Bisect, count(len(p.Started), "run")), p.Reason), Plain
	case event.BisectEnded:
		if p.Blamed == "" {
			return because(fmt.Sprintf("nobody is blamed for %s of %s", p.Test, p.Project), p.Reason), Warn
		}
		return because(fmt.Sprintf("commit %s broke %s of %s", p.Blamed.Short(), p.Test, p.Project), p.Reason), Good
	default:
		return string(p.EventType()), Plain
	}
}

func toneOfHealth(state string) Tone {
	switch state {
	case "passing":
		return Good
	case "failing", "flaky":
		return Warn
	default:
		return Bad
	}
}
