package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluiceci/sluice/pkg/definition"
	"github.com/sluiceci/sluice/pkg/directive"
	"github.com/sluiceci/sluice/pkg/files"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/plan/show"
	"github.com/sluiceci/sluice/pkg/release"
)

// definitionName is the file at a repository's root.
const definitionName = "sluice.yaml"

// planOptions are the flags of `sluice plan`: the change to plan for, and what is asked of the plan.
type planOptions struct {
	event, branch, tag, format string
	params                     []string
	comment, diff, explained   string
	config                     string
	commented                  bool // --comment was given
	request                    definition.Request

	commands directive.Commands // of the comment
	flagSets int                // how many of request.Set are flags; the others are the comment's
}

func planCommand() *cobra.Command {
	var o planOptions
	c := &cobra.Command{
		Use:   "plan [DIR]",
		Short: "Print what would run and where, what would not, and why",
		Long: "Plan resolves the definition in DIR (default .) for a change that you describe, by default a push to the\n" +
			"release branch, and prints what a run of it would do. Nothing is run and nothing is sent anywhere.\n" +
			"The format gitlab is a child pipeline of GitLab; comments at its beginning tell what GitLab does not do as Sluice does.",
		Args: arguments(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if asJSON(c) {
				o.format = "json"
			}
			o.commented = c.Flags().Changed("comment")
			if o.commented && !c.Flags().Changed("event") {
				o.event = string(release.Comment)
			}
			return inTime(func() error { return o.run(c.Context(), append(args, ".")[0], c.OutOrStdout(), c.ErrOrStderr()) })
		},
	}
	f := c.Flags()
	f.StringVar(&o.event, "event", string(release.Push), "push, pull_request, tag, schedule, comment or manual")
	f.StringVar(&o.branch, "branch", "", "the branch; of a pull request its target (default the release branch)")
	f.StringVar(&o.tag, "tag", "", "with --event tag: the tag")
	f.StringVar(&o.comment, "comment", "", "plan as if this comment had been posted on a pull request: \"/test smoke\"")
	f.StringArrayVar(&o.request.Changed, "changed", nil, "plan as if only this path had changed (repeatable)")
	f.StringArrayVar(&o.request.Presets, "preset", nil, "apply a preset of the definition (repeatable, in order)")
	f.StringArrayVar(&o.request.Set, "set", nil, "override a setting: path=value (repeatable, after the presets)")
	f.StringVar(&o.request.Environment, "env", "", "environment")
	f.StringArrayVar(&o.request.Select, "select", nil, "only tasks whose id or name matches the glob, and what they need (repeatable)")
	f.StringArrayVar(&o.params, "param", nil, "parameter of the change: name=value; of a schedule schedule=NAME (repeatable)")
	f.StringVar(&o.diff, "diff", "", "print how the plan differs from that of the definition at another revision of the checkout")
	f.StringVar(&o.explained, "explain", "", "settings: print each setting, its value and where that comes from")
	f.StringVar(&o.config, "config", "", "file of an installation: tell which secrets its grants give")
	f.StringVar(&o.format, "format", "table", "table, json, dot or gitlab")
	return c
}

func (o planOptions) run(ctx context.Context, dir string, out, talk io.Writer) error {
	if err := o.check(); err != nil {
		return exitWith(64, err)
	}
	if err := o.obey(); err != nil {
		return o.refused(out, err)
	}
	def, err := readDefinition(dir)
	if err != nil {
		return o.refused(out, err)
	}
	o.request.Change = o.change(ctx, def, dir)
	o.request.Trust = assumed(def, o.request.Change)
	if o.explained != "" {
		return o.explain(def, out)
	}
	p, err := o.resolve(ctx, def)
	if err != nil {
		return o.refused(out, err)
	}
	if err := o.tellSecrets(p); err != nil {
		return exitWith(2, err)
	}
	o.acts(talk)
	if o.diff != "" {
		return o.compare(ctx, p, dir, out, talk)
	}
	return o.print(out, p)
}

// check refuses flags that mean nothing before anything is read.
func (o planOptions) check() error {
	events := []string{"push", "pull_request", "tag", "schedule", "comment", "manual"}
	formats := []string{"table", "json", "dot", "gitlab"}
	switch {
	case !slices.Contains(events, o.event):
		return fmt.Errorf("cannot plan for the event %q, expected one of %s", o.event, strings.Join(events, ", "))
	case !slices.Contains(formats, o.format):
		return fmt.Errorf("cannot print the format %q, expected one of %s", o.format, strings.Join(formats, ", "))
	case o.event == string(release.Tag) && o.tag == "":
		return errors.New("cannot plan for a tag without its name: add --tag NAME")
	case slices.ContainsFunc(o.params, func(p string) bool { return strings.Index(p, "=") < 1 }):
		return fmt.Errorf("cannot take --param %q: expected name=value", o.params)
	case o.commented && o.event != string(release.Comment):
		return fmt.Errorf("cannot plan a comment for the event %q: leave --event out", o.event)
	case o.explained != "" && o.explained != "settings":
		return fmt.Errorf("cannot explain %q, expected settings", o.explained)
	case (o.diff != "" || o.explained != "") && o.format != "table" && o.format != "json":
		return fmt.Errorf("cannot print this in the format %q, expected table or json", o.format)
	}
	return nil
}

// resolve resolves the definition, or tells that the change would not start a run.
func (o planOptions) resolve(ctx context.Context, def *definition.Definition) (*plan.Plan, error) {
	if starts, why := definition.Triggered(def, o.request.Change); !starts {
		return definition.Untriggered(def, o.request.Change, why), nil
	}
	if o.commented && !o.commands.Plans() {
		return definition.Untriggered(def, o.request.Change, "the comment asks for none"), nil
	}
	answers, err := answered(ctx, def, o.request)
	if err != nil {
		return nil, err
	}
	o.request.Answers = answers
	p, err := definition.Resolve(def, o.request)
	return p, o.placed(err)
}

// assumed is how far a change would be trusted that comes from the repository itself, by somebody who may write to it. What
// an installation makes of one it finds out from its forge.
func assumed(def *definition.Definition, c release.Change) release.Trust {
	if allowed, _ := def.Policy().Allows(c); allowed {
		return release.TrustRelease
	}
	return release.TrustTrusted
}

// change describes the change that the flags name, at the checkout's commit where there is one.
func (o planOptions) change(ctx context.Context, def *definition.Definition, dir string) release.Change {
	branch := o.branch
	if branch == "" {
		branch = def.Policy().Branch
	}
	c := release.Change{
		Kind: release.ChangeKind(o.event), Project: def.Project.Value, Repo: "local/" + def.Project.Value,
		Ref: "refs/heads/" + branch, Branch: branch, Commit: headOf(ctx, dir),
	}
	for _, p := range o.params {
		name, value, _ := strings.Cut(p, "=")
		if c.Parameters == nil {
			c.Parameters = map[string]string{}
		}
		c.Parameters[name] = value
	}
	switch c.Kind {
	case release.Tag:
		c.Ref, c.Branch = "refs/tags/"+o.tag, ""
	case release.PullRequest:
		o.pull(&c)
	case release.Comment:
		o.pull(&c)
		if len(o.commands) > 0 {
			c.Parameters = map[string]string{"directives": o.commands.String()}
		}
	}
	return c
}

// pull makes a change one of a pull request.
func (planOptions) pull(c *release.Change) {
	c.Number, c.Ref, c.HeadRepo, c.HeadRef = 1, "refs/pull/1/head", c.Repo, "change"
}

// headOf is the commit of a checkout; all zeros, which is no commit, where there is none or no git.
func headOf(ctx context.Context, dir string) release.Commit {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		dir = filepath.Dir(dir)
	}
	out, err := exec.CommandContext(ctx, "git", "-C", dir, "rev-parse", "--verify", "-q", "HEAD").Output()
	if commit := release.Commit(strings.TrimSpace(string(out))); err == nil && commit.Valid() {
		return commit
	}
	return release.Commit(strings.Repeat("0", 40))
}

func (o planOptions) print(out io.Writer, p *plan.Plan) error {
	switch o.format {
	case "json":
		return show.JSON(out, p)
	case "dot":
		return show.Dot(out, p)
	case "gitlab":
		return show.GitLab(out, p)
	default:
		show.Table(out, p)
		return nil
	}
}

// refused ends a plan that cannot be made: with the problems, as JSON when that was asked for.
func (o planOptions) refused(out io.Writer, err error) error {
	var problems definition.Errors
	if !errors.As(err, &problems) || o.format != "json" {
		return exitWith(1, err)
	}
	if err := printJSON(out, map[string]any{"problems": problems}); err != nil {
		return exitWith(2, err)
	}
	return exitWith(1, nil)
}

// readDefinition reads sluice.yaml in a directory, or the file that is named.
func readDefinition(dir string) (*definition.Definition, error) {
	name, err := definitionFile(dir)
	if err != nil {
		return nil, err
	}
	text, err := readText(name)
	if err != nil {
		return nil, fmt.Errorf("cannot read the definition: %w; expected %s at the root of the repository", err, definitionName)
	}
	return loadDefinition(context.Background(), name, text, filesOf(filepath.Dir(name)))
}

// textLimit is above the size of any definition; what is larger is refused before it is read.
const textLimit = 2 << 20

// readText reads a file that people write. Only a plain one: a pipe would be waited for, a device has no end.
func readText(name string) ([]byte, error) {
	return files.ReadPath(name, textLimit)
}

func definitionFile(dir string) (string, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return "", fmt.Errorf("cannot find the definition: %w", err)
	}
	if info.IsDir() {
		return filepath.Join(dir, definitionName), nil
	}
	return dir, nil
}
