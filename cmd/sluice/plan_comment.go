package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sluiceci/sluice/pkg/definition"
	"github.com/sluiceci/sluice/pkg/directive"
)

// obey takes a comment as if it had been posted on a pull request: what it asks of the plan goes after the flags.
func (o *planOptions) obey() error {
	if !o.commented {
		return nil
	}
	commands, err := directive.Parse(o.comment)
	if err != nil {
		var problems directive.Errors
		if errors.As(err, &problems) {
			return commentProblems(problems)
		}
		return err
	}
	if len(commands) == 0 {
		return commentProblems(directive.Errors{{Line: 1, Column: 1, Message: "the comment has no directive", Hint: "write a line such as /test"}})
	}
	o.commands = commands
	w := commands.Wish()
	o.flagSets = len(o.request.Set)
	o.request.Presets, o.request.Set = append(o.request.Presets, w.Presets...), append(o.request.Set, w.Set...)
	o.request.Select, o.request.Skip = append(o.request.Select, w.Select...), w.Skip
	if w.Environment != "" {
		o.request.Environment = w.Environment
	}
	return nil
}

// placed tells of what is wrong with a part of the comment where it stands there, not as the flag that says the same.
func (o *planOptions) placed(err error) error {
	var problems definition.Errors
	if !errors.As(err, &problems) {
		return err
	}
	where := map[string]definition.Problem{}
	for flag, c := range o.commands.Flags() {
		where[definition.Flag(flag.Name, flag.Value)] = definition.Problem{File: "comment", Line: c.Line, Column: c.Column}
	}
	return problems.Placed(where)
}

// commentProblems are the mistakes of a comment in the form of those of a definition.
func commentProblems(problems directive.Errors) definition.Errors {
	var out definition.Errors
	for _, p := range problems {
		out = append(out, definition.Problem{File: "comment", Line: p.Line, Column: p.Column, Message: p.Message, Hint: p.Hint})
	}
	return out
}

// acts tells what a comment does beside a run, and who may say it.
func (o *planOptions) acts(w io.Writer) {
	for _, c := range o.commands {
		rule, _ := directive.Find(c.Verb)
		if !rule.Plans {
			_, _ = fmt.Fprintf(w, "%s: %s; needs %s\n", c, rule.Doc, rule.Needs)
		}
	}
	if o.commands.Has(directive.Help) {
		_, _ = fmt.Fprintln(w, "\n"+strings.TrimRight(directive.Answer(directive.Reply{Help: true}), "\n"))
	}
}
