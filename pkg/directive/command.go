package directive

import (
	"fmt"
	"slices"
	"strings"
)

// Command is one directive, read.
type Command struct {
	Verb   Verb
	Line   int // from 1
	Column int // from 1, in characters

	Job   string    // test: a job, or a glob; empty is everything
	Names []string  // test and preset: presets; skip and only: globs; env: the one name
	Set   []Setting // test and var
	Text  string    // cancel, hold, approve: the reason or the note; retry: "all", or nothing
}

// Setting is one override.
type Setting struct{ Path, Value string }

// String is the override as --set takes it.
func (s Setting) String() string { return s.Path + "=" + s.Value }

// Commands are the directives of a comment, in its order.
type Commands []Command

// String is the comment in its one canonical form, which Parse reads as the same commands: a directive a line.
func (c Commands) String() string {
	lines := make([]string, len(c))
	for i, one := range c {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

// String is the directive in its canonical form.
func (c Command) String() string {
	parts := []string{"/" + string(c.Verb)}
	if c.Verb == Var {
		text := fmt.Sprintf("/var %s: %s", c.Set[0].Path, c.Set[0].Value)
		if len(text) > maxLine {
			text = "/var " + c.Set[0].String()
		}
		return text
	}
	if c.Job != "" {
		parts = append(parts, quote(c.Job))
	}
	for _, name := range c.Names {
		parts = append(parts, quote(name))
	}
	for _, s := range c.Set {
		parts = append(parts, quote(s.String()))
	}
	if c.Text != "" {
		parts = append(parts, c.Text)
	}
	return strings.Join(parts, " ")
}

// quote writes a word so that it is read as one.
func quote(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return space(r) || r == '"' || r == '\'' }) {
		return s
	}
	if strings.Contains(s, `"`) {
		return "'" + s + "'"
	}
	return `"` + s + `"`
}

// Has reports whether a verb is among the directives.
func (c Commands) Has(v Verb) bool {
	return slices.ContainsFunc(c, func(one Command) bool { return one.Verb == v })
}

// Plans reports whether the directives ask for a run of their own.
func (c Commands) Plans() bool {
	return slices.ContainsFunc(c, func(one Command) bool {
		rule, _ := Find(one.Verb)
		return rule.Plans
	})
}

// Wish is what the directives together ask of a plan.
type Wish struct {
	Select      []string // globs; empty is everything
	Skip        []string // globs
	Presets     []string // in order, before Set
	Set         []string // "path=value", in order
	Environment string
}

// Wish adds up what the directives ask of a plan. Several jobs are run together; /test without a job is everything, which
// /only still narrows.
func (c Commands) Wish() Wish {
	var w Wish
	var jobs, only []string
	everything := false
	for _, one := range c {
		switch one.Verb {
		case Test:
			everything = everything || one.Job == ""
			jobs = add(jobs, one.Job)
			w.Presets = append(w.Presets, one.Names...)
		case Only:
			only = add(only, one.Names...)
		case Skip:
			w.Skip = add(w.Skip, one.Names...)
		case Preset:
			w.Presets = append(w.Presets, one.Names...)
		case Env:
			w.Environment = one.Names[0]
		}
		for _, s := range one.Set {
			w.Set = append(w.Set, s.String())
		}
	}
	if everything {
		jobs = nil
	}
	w.Select = add(jobs, only...)
	return w
}

// Flag is a part of a wish as the command line has it: --set and path=value.
type Flag struct{ Name, Value string }

// Flags are the parts of the wish, each with the first directive that asks for it.
func (c Commands) Flags() map[Flag]Command {
	out := map[Flag]Command{}
	note := func(by Command, name string, values ...string) {
		for _, value := range values {
			if _, said := out[Flag{name, value}]; !said {
				out[Flag{name, value}] = by
			}
		}
	}
	names := map[Verb]string{Test: "--preset", Preset: "--preset", Only: "--select", Skip: "/skip", Env: "--env"}
	for _, one := range c {
		note(one, names[one.Verb], one.Names...)
		if one.Job != "" {
			note(one, "--select", one.Job)
		}
		for _, s := range one.Set {
			note(one, "--set", s.String())
		}
	}
	return out
}

func add(to []string, more ...string) []string {
	for _, s := range more {
		if !slices.Contains(to, s) && s != "" {
			to = append(to, s)
		}
	}
	return to
}

// Refused lists the directives that a permission does not include.
func (c Commands) Refused(p Permission) Commands {
	var out Commands
	for _, one := range c {
		if rule, known := Find(one.Verb); !known || !p.Allows(rule.Needs) {
			out = append(out, one)
		}
	}
	return out
}
