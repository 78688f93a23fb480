package readmodel

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// because adds a reason to a statement.
func because(statement, reason string) string {
	if reason == "" {
		return statement
	}
	return statement + ": " + reason
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

func kindWord(k release.ChangeKind) string {
	if k == release.PullRequest {
		return "pull request"
	}
	return string(cmp.Or(k, "change"))
}

// Place is where a change happened, for people: "master", "#7", "v1.2".
func Place(c release.Change) string {
	switch {
	case c.Kind == release.PullRequest && c.Number > 0:
		return fmt.Sprintf("#%d", c.Number)
	case c.Kind == release.Tag:
		return strings.TrimPrefix(c.Ref, "refs/tags/")
	default:
		return cmp.Or(c.Branch, strings.TrimPrefix(c.Ref, "refs/heads/"), c.Commit.Short())
	}
}

func tasks(ids []release.TaskID) string {
	if len(ids) == 0 {
		return "every task that did not succeed"
	}
	var names []string
	for _, id := range ids {
		names = append(names, string(id))
	}
	return strings.Join(names, ", ")
}

// ended says an outcome, and its class where that tells more.
func ended(o release.Outcome, c release.Class) string {
	if c == "" || c == release.ClassOK || c == release.ClassCancelled {
		return string(o)
	}
	return fmt.Sprintf("%s (%s)", o, c)
}

func toneOf(o release.Outcome) Tone {
	switch o {
	case release.Success:
		return Good
	case release.Cancelled:
		return Warn
	default:
		return Bad
	}
}

// unmet names the conditions that keep a gate shut.
func unmet(conditions []release.Condition) string {
	var names []string
	for _, c := range conditions {
		if !c.Met {
			names = append(names, because(c.Name, c.Reason))
		}
	}
	return strings.Join(names, "; ")
}

// Where is the place of a problem: "sluice.yaml:12:5".
func Where(p event.Problem) string {
	out := cmp.Or(p.File, "sluice.yaml")
	if p.Line > 0 {
		out += ":" + strconv.Itoa(int(p.Line))
		if p.Column > 0 {
			out += ":" + strconv.Itoa(int(p.Column))
		}
	}
	return out
}

func rejectedLine(p event.RunRejected) string {
	if len(p.Problems) == 0 {
		return "the definition gives no plan"
	}
	first := p.Problems[0]
	line := fmt.Sprintf("%s: %s", Where(first), first.Message)
	if more := len(p.Problems) - 1; more > 0 {
		line += fmt.Sprintf(" (and %s more)", count(more, "problem"))
	}
	return line
}

// maxLine bounds a sentence, in bytes. The whole reason is in the fact.
const maxLine = 2000

// oneLine makes one line of a text: control characters become spaces, what turns the direction of writing goes.
func oneLine(s string) string {
	if len(s) > maxLine {
		s = strings.ToValidUTF8(s[:maxLine], "") + " …"
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r < ' ' || r >= 0x7f && r < 0xa0:
			return ' '
		case r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069:
			return -1
		default:
			return r
		}
	}, s)
}
