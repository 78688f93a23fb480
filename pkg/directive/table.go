package directive

import (
	"slices"
	"strings"
)

// Verb is the word of a directive, without its slash.
type Verb string

// The verbs.
const (
	Test    Verb = "test"
	Var     Verb = "var"
	Skip    Verb = "skip"
	Only    Verb = "only"
	Preset  Verb = "preset"
	Env     Verb = "env"
	Cancel  Verb = "cancel"
	Retry   Verb = "retry"
	Hold    Verb = "hold"
	Approve Verb = "approve"
	Resume  Verb = "resume"
	Permit  Verb = "ok-to-test"
	Help    Verb = "help"
)

// All is what may follow /retry: what succeeded is made again too.
const All = "all"

// Permission is what a person may do with a repository, in one scale for every forge.
type Permission string

// The permissions, from the least to the most.
const (
	None  Permission = ""
	Read  Permission = "read"
	Write Permission = "write"
	Admin Permission = "admin" // also who maintains the repository
)

// Allows reports whether a permission includes another. A word that nobody knows includes nothing.
func (p Permission) Allows(needed Permission) bool {
	scale := []Permission{None, Read, Write, Admin}
	return slices.Index(scale, p) >= slices.Index(scale, needed)
}

// Rule is a line of the table: one verb.
type Rule struct {
	Verb  Verb
	Usage string     // what follows the verb
	Doc   string     // what it does, for /help
	Needs Permission // of who says it
	Plans bool       // it shapes the plan of a new run; the others act on runs that there are

	read func(*reader, *Command)
}

// Table lists every verb. It is the parser's, the permissions' and the help's.
func Table() []Rule {
	return []Rule{
		{Test, "[JOB] [PRESET | PATH=VALUE]..", "run JOB (a job, or a glob on a task's id or name) and what it needs; everything without JOB", Write, true, (*reader).test},
		{Only, "GLOB..", "run only the tasks that match, and what they need", Write, true, (*reader).globs},
		{Skip, "GLOB..", "leave out the tasks that match, and what cannot be made without them", Write, true, (*reader).globs},
		{Preset, "NAME..", "apply presets of the definition, in order", Write, true, (*reader).names},
		{Var, "PATH: VALUE", "override a setting, after the presets", Write, true, (*reader).setting},
		{Env, "NAME", "choose the environment", Write, true, (*reader).environment},
		{Cancel, "[REASON]", "end the runs of this pull request's head", Write, false, (*reader).text},
		{Retry, "[all]", "try again what did not succeed, on the plan that it had; with all everything, in a new run", Write, false, (*reader).all},
		{Permit, "[COMMIT]", "let the head of a stranger's pull request run; the next commit asks again", Write, false, (*reader).text},
		{Hold, "[REASON]", "keep the gate from opening", Admin, false, (*reader).text},
		{Approve, "[NOTE]", "approve the release", Admin, false, (*reader).text},
		{Resume, "", "lift every hold of the gate", Admin, false, (*reader).nothing},
		{Help, "", "show this list", Read, false, (*reader).nothing},
	}
}

// Find returns the line of a verb.
func Find(v Verb) (Rule, bool) {
	table := Table()
	i := slices.IndexFunc(table, func(r Rule) bool { return r.Verb == v })
	if i < 0 {
		return Rule{}, false
	}
	return table[i], true
}

// usage is the verb with what follows it: "/env NAME".
func (r Rule) usage() string { return strings.TrimSpace("/" + string(r.Verb) + " " + r.Usage) }

// nearest is the verb that a word was probably meant to be, and whether it is near enough to be sure that it was meant
// for us.
func nearest(word string) (Verb, bool) {
	best, distance := Help, 1<<30
	for _, r := range Table() {
		if d := edits(word, string(r.Verb)); d < distance {
			best, distance = r.Verb, d
		}
	}
	return best, distance <= max(1, len(best)/3)
}

// edits counts the letters to insert, remove, replace or swap between two short words.
func edits(one, verb string) int {
	a, b := []rune(one), []rune(verb)
	a = a[:min(len(a), 20)]
	before, last, now := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		now[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			now[j+1] = min(last[j]+cost, last[j+1]+1, now[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				now[j+1] = min(now[j+1], before[j-1]+1)
			}
		}
		before, last, now = last, now, before
	}
	return last[len(b)]
}
