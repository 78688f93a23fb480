package directive

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Reply is what is to be told to who wrote a comment.
type Reply struct {
	Commit   string     // that the comment is bound to; empty when nothing was done
	Problems Errors     // nothing was done because of these
	Refused  Commands   // nothing was done because the author may not do these
	Held     Permission // what the author may do, beside Refused
	Done     []string   // what was done, each in a sentence without its full stop
	Plan     *Plan      // of the run that the comment asked for
	Failed   []string   // nothing was done because of these
	Help     bool
}

// Plan is what a run will do, in a form that any language of plans can be told in.
type Plan struct {
	Run      []Row
	Left     []Row // not run
	Gate     string
	Publish  string
	Warnings []string
}

// Row is a task and why it is where it is.
type Row struct{ Name, Pool, Why string }

const (
	maxRows   = 30  // of each list of an answer
	maxEchoed = 200 // characters of a text that somebody wrote
)

// Answer writes a reply in Markdown. Whatever somebody else wrote, in the comment, the definition or a branch's name,
// stands in code spans only, where no forge finds a mention, a link, a picture or a reference.
func Answer(r Reply) string {
	var a answer
	switch {
	case len(r.Problems) > 0:
		a.line("Nothing was done: the comment cannot be read.")
		a.problems(r.Problems)
	case len(r.Refused) > 0:
		a.line("Nothing was done: this needs a permission that you do not have here.")
		a.refused(r.Refused, r.Held)
	case len(r.Failed) > 0:
		a.line("Nothing was done%s:", at(r.Commit))
		a.list(r.Failed)
	case r.Plan != nil:
		a.line("A run is planned%s: %s, %s left out.", at(r.Commit), count(len(r.Plan.Run), "task"), number(len(r.Plan.Left)))
	}
	if len(r.Done) > 0 {
		a.line("Done%s:", at(r.Commit))
		a.list(r.Done)
	}
	if r.Plan != nil && len(r.Problems)+len(r.Refused)+len(r.Failed) == 0 {
		a.plan(*r.Plan)
	}
	if r.Help || len(r.Problems) > 0 {
		a.help(r.Help)
	}
	return strings.TrimSpace(a.b.String()) + "\n"
}

type answer struct{ b strings.Builder }

// line is a paragraph.
func (a *answer) line(format string, args ...any) { fmt.Fprintf(&a.b, format+"\n\n", args...) }

func (a *answer) item(format string, args ...any) { fmt.Fprintf(&a.b, "- "+format+"\n", args...) }

func (a *answer) end() { a.b.WriteByte('\n') }

func at(commit string) string {
	if commit == "" {
		return ""
	}
	return " for commit " + code(commit[:min(len(commit), 8)])
}

func number(n int) string {
	if n == 0 {
		return "nothing"
	}
	return fmt.Sprint(n)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// list writes the first of some texts and counts the others.
func (a *answer) list(texts []string) {
	for i, text := range texts {
		if i == maxRows {
			a.item("and %d more", len(texts)-maxRows)
			break
		}
		a.item("%s", code(text))
	}
	a.end()
}

func (a *answer) problems(problems Errors) {
	for i, p := range problems {
		if i == maxRows {
			a.item("and %d more", len(problems)-maxRows)
			break
		}
		hint := ""
		if p.Hint != "" {
			hint = "; " + code(p.Hint)
		}
		a.item("line %d, column %d: %s%s", p.Line, p.Column, code(p.Message), hint)
	}
	a.end()
}

func (a *answer) refused(commands Commands, held Permission) {
	for _, c := range commands {
		rule, _ := Find(c.Verb)
		a.item("line %d: %s needs %s", c.Line, code(c.String()), rule.Needs)
	}
	a.end()
	if held == None {
		held = "none"
	}
	a.line("Your permission in this repository is %s.", code(string(held)))
}

func (a *answer) plan(p Plan) {
	a.rows("What will run", p.Run)
	a.rows("What is left out", p.Left)
	if p.Gate != "" {
		a.line("Gate: %s.", code(p.Gate))
	}
	if p.Publish != "" {
		a.line("Publish: %s.", code(p.Publish))
	}
	if len(p.Warnings) > 0 {
		a.line("Warnings:")
		a.list(p.Warnings)
	}
}

func (a *answer) rows(title string, rows []Row) {
	if len(rows) == 0 {
		return
	}
	a.line("%s:", title)
	for i, row := range rows {
		if i == maxRows {
			a.item("and %d more", len(rows)-maxRows)
			break
		}
		text := code(row.Name)
		if row.Pool != "" {
			text += " on " + code(row.Pool)
		}
		if row.Why != "" {
			text += ": " + code(row.Why)
		}
		a.item("%s", text)
	}
	a.end()
}

// help writes the table of verbs, folded away unless it was asked for.
func (a *answer) help(asked bool) {
	if !asked {
		a.line("A comment with the line %s is answered with everything that can be said.", code("/help"))
		return
	}
	a.line("Each on a line of its own, outside of code and quotes:")
	for _, r := range Table() {
		a.item("%s: %s (needs %s)", code(r.usage()), r.Doc, r.Needs)
	}
	a.end()
}

// code writes a text as a code span: one line, cut where it is long, with a fence longer than any run of backticks in it.
func code(s string) string {
	s = clip(strings.Join(strings.Fields(visible(s)), " "), maxEchoed)
	for strings.Contains(s, "````") { // else a text of nothing but backticks is written three times
		s = strings.ReplaceAll(s, "````", "```")
	}
	if s == "" {
		return "(nothing)"
	}
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return fence + s + fence
}

// visible replaces what cannot be seen, and would move what can.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == utf8.RuneError, unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}
