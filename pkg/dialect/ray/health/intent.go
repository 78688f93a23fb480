package health

import (
	"fmt"
	"strings"
	"time"
)

// Do is what is to follow a move.
type Do string

// What can follow.
const (
	OpenIssue    Do = "open issue"
	ReopenIssue  Do = "reopen issue"
	UpdateIssue  Do = "update issue"
	CommentIssue Do = "comment on issue"
	CloseIssue   Do = "close issue"
	LabelIssue   Do = "label issue"
	Bisect       Do = "bisect"
	PutInJail    Do = "jail"
	Release      Do = "release from jail"
)

// Intent is one thing that is to follow. It is made again until it has happened; ID is the same each time.
type Intent struct {
	ID      string
	Do      Do
	Issue   int
	Title   string
	Text    string
	Labels  []string
	Passing string // Bisect: a commit that passed
	Failing string // Bisect: one that failed
	Jail    Jail
}

// Turn is what a new look at a test's results changes.
type Turn struct {
	From, To State
	Intents  []Intent
}

// Look moves a test by its results, newest first, and says what is to follow.
func Look(t Test, results []Result, now time.Time) Turn {
	turn := Turn{From: t.state(), To: next(t, results)}
	h := window(t.Variant, results)
	switch {
	case turn.From != turn.To:
		turn.Intents = follow(t, turn, h, now)
	case turn.To == Jailed && h.failing(1) && t.Issue.Number != 0 && !t.Issue.Open:
		turn.add(Intent{Do: ReopenIssue, Issue: t.Issue.Number, Text: "The test is jailed and fails: its issue stays open until it passes."})
	}
	for i := range turn.Intents {
		turn.Intents[i].ID = strings.Join([]string{t.Name, string(turn.From), string(turn.To), string(turn.Intents[i].Do), newest(h)}, "/")
	}
	return turn
}

func newest(h history) string {
	if len(h) == 0 {
		return ""
	}
	return h[0].Commit
}

func (t *Turn) add(i Intent) { t.Intents = append(t.Intents, i) }

// follow says what a move asks for.
func follow(t Test, turn Turn, h history, now time.Time) []Intent {
	var f Turn
	if wantsBisect(t, turn) {
		if passing, failing, ok := h.span(); ok {
			f.add(Intent{Do: Bisect, Passing: passing, Failing: failing})
		}
	}
	switch turn.To {
	case ConsistentlyFailing, Flaky:
		f.add(issue(t, turn.To))
	case Jailed:
		f.jail(t, now)
	case Passing:
		if turn.From == Jailed {
			f.add(Intent{Do: Release})
		}
		if turn.From != Failing && t.Issue.Number != 0 && t.Issue.Open {
			f.add(Intent{Do: CloseIssue, Issue: t.Issue.Number, Text: "The test passes again."})
		}
	}
	return f.Intents
}

// wantsBisect reports whether a move asks who broke the test: as soon as it fails, or of a CI test as soon as it fails
// consistently. Two failures at once are asked about too.
func wantsBisect(t Test, turn Turn) bool {
	if t.Blamed != "" {
		return false
	}
	if t.Variant == CITest {
		return turn.To == ConsistentlyFailing
	}
	return turn.From == Passing && (turn.To == Failing || turn.To == ConsistentlyFailing)
}

// span finds the commits to bisect between: the newest that passed, and the oldest failure after it.
func (h history) span() (passing, failing string, ok bool) {
	for i, r := range h {
		if r.passed() && i > 0 {
			return r.Commit, h[i-1].Commit, r.Commit != "" && h[i-1].Commit != ""
		}
	}
	return "", "", false
}

// issue opens an issue, or uses the one that there is.
func issue(t Test, to State) Intent {
	i := Intent{Do: OpenIssue, Title: fmt.Sprintf("%s test %s is %s", kindOf(t), t.Name, to), Labels: labels(t, to)}
	i.Text = fmt.Sprintf("Test %s of team %s is %s.", t.Name, t.Team, to)
	if t.Blamed != "" {
		i.Text += " Blamed commit: " + t.Blamed + "."
	}
	switch {
	case t.Issue.Number == 0:
	case t.Issue.Open:
		i.Do, i.Issue = UpdateIssue, t.Issue.Number
	default:
		i.Do, i.Issue = ReopenIssue, t.Issue.Number
	}
	return i
}

func kindOf(t Test) string {
	if t.Variant == CITest {
		return "CI"
	}
	return "Release"
}

// labels are those of an issue; the last of a release test says whether it keeps a release from happening.
func labels(t Test, to State) []string {
	if t.Variant == CITest {
		out := []string{"P0", "bug", "ci-test", "ray-test-bot", "stability", "triage", t.Team}
		if to == Flaky {
			out = append(out, "flaky-tracker")
		}
		return out
	}
	out := []string{"P0", "bug", "release-test", "ray-test-bot", "stability", "triage", t.Team}
	if t.Stable {
		return append(out, LabelBlocker)
	}
	return append(out, "unstable-release-test")
}

// jail ends the running of a test for a while, and says whose it is.
func (t *Turn) jail(test Test, now time.Time) {
	j := Jail{Owner: test.Team, Since: now, Until: now.Add(jailTime), Reason: "Test has been failing for far too long. Jailing."}
	t.add(Intent{Do: PutInJail, Jail: j})
	if test.Issue.Number == 0 {
		return
	}
	until := j.Until.Format(time.DateOnly)
	t.add(Intent{Do: CommentIssue, Issue: test.Issue.Number, Text: j.Reason + " It is run again on " + until + "; team " + test.Team + " owns it until then."})
	t.add(Intent{Do: LabelIssue, Issue: test.Issue.Number, Labels: []string{labelJailed}})
	if !test.Issue.Open {
		t.add(Intent{Do: ReopenIssue, Issue: test.Issue.Number, Text: "The test is jailed: its issue stays open until it passes."})
	}
}
