package builder

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sluiceci/sluice/pkg/definition"
	"github.com/sluiceci/sluice/pkg/directive"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// Parameters of a change that a comment asked for, as the gateway writes them.
const (
	parameterDirectives = "directives" // in their canonical form
	parameterDone       = "done"       // what the gateway did beside, a line each
)

// request is what a plan of a change is resolved for: the installation's wishes, and then those of a comment.
func (b *builder) request(change release.Change, changed []string) (definition.Request, error) {
	r := definition.Request{
		Change: change, Changed: changed, Environment: b.config.Environment,
		Presets: b.config.Presets, Set: b.config.Set, Select: b.config.Select,
	}
	if change.Kind != release.Comment {
		return only(r), nil
	}
	commands, err := directive.Parse(change.Parameters[parameterDirectives])
	if err != nil {
		return r, err
	}
	w := commands.Wish()
	if w.Environment != "" {
		r.Environment = w.Environment
	}
	r.Presets, r.Set = both(r.Presets, w.Presets), both(r.Set, w.Set)
	r.Select, r.Skip = both(r.Select, w.Select), w.Skip
	return r, nil
}

func both(a, b []string) []string { return append(append([]string(nil), a...), b...) }

// answered adds to what is said of a change the answer to the comment that asked for it, if one did.
func answered(change release.Change, p *plan.Plan, said []event.Payload) []event.Payload {
	if change.Kind != release.Comment {
		return said
	}
	reply := directive.Reply{Commit: string(change.Commit)}
	if done := change.Parameters[parameterDone]; done != "" {
		reply.Done = strings.Split(done, "\n")
	}
	commands, err := directive.Parse(change.Parameters[parameterDirectives])
	reply.Help = err == nil && commands.Has(directive.Help)
	if p != nil {
		reply.Plan = summary(p)
	} else {
		reply.Failed = failures(said)
	}
	return append(said, event.CommentAnswered{
		Comment: change.Nonce, Project: change.Project, Number: change.Number, Text: directive.Answer(reply),
	})
}

// failures are the reasons of a verdict.
func failures(said []event.Payload) (out []string) {
	for _, p := range said {
		switch p := p.(type) {
		case event.ChangeIgnored:
			out = append(out, p.Reason)
		case event.RunPermissionRequested:
			out = append(out, fmt.Sprintf("it waits for permission, since the change is untrusted (%s): look at commit %s, and say /ok-to-test %[2]s",
				p.Reason, p.Change.Commit.Short()))
		case event.RunRejected:
			for _, problem := range p.Problems {
				out = append(out, problemLine(problem))
			}
		}
	}
	return out
}

// asComment names what is wrong with a part of a comment by the directive that asks for it, not by the flag that says the
// same; what the installation asks for keeps its flag. Lines are left out: the gateway has taken the talk away.
func asComment(change release.Change, err error) error {
	commands, unread := directive.Parse(change.Parameters[parameterDirectives])
	var problems definition.Errors
	if change.Kind != release.Comment || unread != nil || !errors.As(err, &problems) {
		return err
	}
	where := map[string]definition.Problem{}
	for flag, c := range commands.Flags() {
		where[definition.Flag(flag.Name, flag.Value)] = definition.Problem{File: c.String()}
	}
	return problems.Placed(where)
}

func problemLine(p event.Problem) string {
	text := p.File
	if p.Line > 0 {
		text += fmt.Sprintf(":%d:%d", p.Line, p.Column)
	}
	text += ": " + p.Message
	if p.Hint != "" {
		text += "; " + p.Hint
	}
	return text
}

// summary is a plan as an answer tells it.
func summary(p *plan.Plan) *directive.Plan {
	out := &directive.Plan{Gate: gateText(p), Warnings: p.Warnings}
	for _, t := range p.Tasks {
		out.Run = append(out.Run, directive.Row{Name: t.Name, Pool: t.Pool, Why: t.Why})
	}
	for _, s := range p.Skipped {
		if !strings.HasPrefix(s.Name, "publish ") {
			out.Left = append(out.Left, directive.Row{Name: s.Name, Why: s.Why})
		}
	}
	if _, why := p.Release.Allows(p.Change); len(p.Targets) == 0 {
		out.Publish = "nothing: " + why
	}
	return out
}

func gateText(p *plan.Plan) string {
	if len(p.Gate.Tests) == 0 {
		return "every build succeeds"
	}
	return fmt.Sprintf("every build succeeds, and %d of the tests", len(p.Gate.Tests))
}

// problemsOf are the errors of a definition, or of a comment, as a verdict tells them; of any other error there is one.
func problemsOf(err error) []event.Problem {
	var problems definition.Errors
	var said directive.Errors
	var out []event.Problem
	switch {
	case errors.As(err, &problems):
		for _, p := range problems[:min(len(problems), 200)] {
			out = append(out, event.Problem{
				File: p.File, Line: int32(p.Line), Column: int32(p.Column), Message: p.Message, Hint: p.Hint,
			})
		}
	case errors.As(err, &said):
		for _, p := range said {
			out = append(out, event.Problem{File: "comment", Line: int32(p.Line), Column: int32(p.Column), Message: p.Message, Hint: p.Hint})
		}
	default:
		out = []event.Problem{{File: definitionFile, Message: err.Error()}}
	}
	return out
}
