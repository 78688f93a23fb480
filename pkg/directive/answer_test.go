package directive

import (
	"errors"
	"strings"
	"testing"
)

func replies() map[string]Reply {
	_, err := Parse("/tset smoke\n/var a\n/lgtm @all")
	var problems Errors
	errors.As(err, &problems)
	held, _ := Parse("/hold @team `rm -rf`\n/test")
	plan := &Plan{
		Run:  []Row{{"wheel (3.12)", "linux", "every build is made"}, {"smoke", "gpu", "selected by smoke"}},
		Left: []Row{{"jar", "", "skipped by /skip jar of the comment"}},
		Gate: "every build succeeds; these tests succeed: smoke", Publish: "nothing: a comment run never publishes",
		Warnings: []string{"secrets are left out: the change comes from a fork"},
	}
	commit := strings.Repeat("a1", 20)
	return map[string]Reply{
		"help":     {Help: true},
		"problems": {Problems: problems},
		"refused":  {Refused: held.Refused(Read), Held: Read},
		"plan":     {Commit: commit, Plan: plan},
		"both":     {Commit: commit, Plan: plan, Done: []string{"the gate of run a1a1a1a1-x is held"}, Help: true},
		"done":     {Commit: commit, Done: []string{"run a1a1a1a1-x is being cancelled"}},
		"failed":   {Commit: commit, Failed: []string{"sluice.yaml:3:1: unknown key \"bulds\"\nhint: builds", "--preset lihgt: unknown preset"}},
		"nothing":  {},
	}
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	for name, r := range replies() {
		golden(t, "answer-"+name+".md", Answer(r))
	}
}

// TestAnswersAreBounded: no forge takes more than 65 536 characters.
func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("`é", 5000)
	var r Reply
	r.Plan = &Plan{Gate: long, Publish: long}
	for range 5000 {
		r.Plan.Run = append(r.Plan.Run, Row{long, long, long})
		r.Plan.Left = append(r.Plan.Left, Row{long, long, long})
		r.Done, r.Plan.Warnings = append(r.Done, long), append(r.Plan.Warnings, long)
	}
	if n := len([]rune(Answer(r))); n > 65000 {
		t.Fatalf("the answer has %d characters", n)
	}
}

// FuzzAnswer: what a stranger wrote never leaves its code spans, and no answer holds a directive.
func FuzzAnswer(f *testing.F) {
	f.Add("@team [x](http://x) <b>", "``` a", "\n/test smoke")
	f.Add("`", "``", " ` `` ` ")
	f.Add("\\`", "&#64;all", "a\u2028/test\r/test")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		text := Answer(Reply{
			Commit: "abc", Done: []string{a, b, c}, Help: true, Failed: []string{c},
			Plan: &Plan{Run: []Row{{a, b, c}}, Left: []Row{{c, "", a}}, Gate: b, Publish: c, Warnings: []string{a}},
		}) + Answer(Reply{Plan: &Plan{Run: []Row{{a, b, c}}, Left: []Row{{c, "", a}}, Gate: b, Publish: c, Warnings: []string{a}}}) +
			Answer(Reply{Problems: Errors{{Line: 1, Column: 1, Message: a, Hint: b}}}) +
			Answer(Reply{Refused: Commands{{Verb: Hold, Text: c}}, Held: Permission(a)})
		if commands, err := Parse(text); len(commands) > 0 || err != nil {
			t.Fatalf("an answer holds directives: %v %v\n%s", commands, err, text)
		}
		if outside := outsideCode(t, text); strings.ContainsAny(outside, "@[]<>#&\\*~|!") || strings.Contains(outside, "http") {
			t.Fatalf("something stands outside of code:\n%s\nin\n%s", outside, text)
		}
	})
}

// outsideCode removes the code spans of a text, by the rule of CommonMark: a span ends at the next run of as many
// backticks as it began with.
func outsideCode(t *testing.T, text string) string {
	t.Helper()
	var out strings.Builder
	for text != "" {
		start := strings.IndexByte(text, '`')
		if start < 0 {
			return out.String() + text
		}
		out.WriteString(text[:start])
		text = text[start:]
		n := len(text) - len(strings.TrimLeft(text, "`"))
		rest := text[n:]
		end := spanEnd(rest, n)
		if end < 0 {
			t.Fatalf("a code span is not closed: %q", text)
		}
		text = rest[end:]
	}
	return out.String()
}

func spanEnd(s string, n int) int {
	for at := 0; at < len(s); {
		i := strings.IndexByte(s[at:], '`')
		if i < 0 {
			return -1
		}
		at += i
		run := len(s[at:]) - len(strings.TrimLeft(s[at:], "`"))
		at += run
		if run == n {
			return at
		}
	}
	return -1
}
