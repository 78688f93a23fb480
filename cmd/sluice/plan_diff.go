package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/client"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/plan/show"
	"github.com/sluiceci/sluice/pkg/release"
)

// compare prints how the plan differs from that of the definition at another revision of the checkout, for the same
// change and with the same flags.
func (o *planOptions) compare(ctx context.Context, p *plan.Plan, dir string, out, talk io.Writer) error {
	before, err := o.before(ctx, p, dir, talk)
	if err != nil {
		return o.refused(out, err)
	}
	d, err := plan.Compare(before, p)
	if err != nil {
		return exitWith(exitError, err)
	}
	if o.format == "json" {
		return printJSON(out, d)
	}
	show.Diff(out, d)
	return nil
}

// before is the plan of the other revision; one without tasks where it has no definition.
func (o *planOptions) before(ctx context.Context, now *plan.Plan, dir string, talk io.Writer) (*plan.Plan, error) {
	name, err := definitionFile(dir)
	if err != nil {
		return nil, err
	}
	at, err := revisionOf(ctx, filepath.Dir(name), o.diff)
	if err != nil {
		return nil, err
	}
	text, found, err := at.read(ctx, filepath.Base(name))
	if err != nil {
		return nil, err
	}
	if !found {
		_, _ = fmt.Fprintf(talk, "there is no %s at %s: every task is new\n", filepath.Base(name), at.commit.Short())
		return &plan.Plan{Project: now.Project, Release: now.Release, Gate: plan.Gate{Builds: true, On: now.Gate.On}}, nil
	}
	def, err := loadDefinition(ctx, client.Line(o.diff)+":"+filepath.Base(name), text, at)
	if err != nil {
		return nil, err
	}
	return o.resolve(ctx, def)
}

// gitTimeout bounds one question to git about a checkout.
const gitTimeout = 30 * time.Second

// checkout is a folder of a checkout as it is at a commit.
type checkout struct {
	dir    string
	commit release.Commit
}

// revisionOf finds the commit that a name means in a checkout.
func revisionOf(ctx context.Context, dir, name string) (checkout, error) {
	out, err := gitIn(ctx, dir, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	commit := release.Commit(strings.TrimSpace(string(out)))
	if err != nil || !commit.Valid() {
		return checkout{}, fmt.Errorf("cannot compare with %q: git finds no such commit in %s; name a branch, a tag or a commit", name, dir)
	}
	return checkout{dir, commit}, nil
}

// read reads a file of the folder; found is false where there is none.
func (r checkout) read(ctx context.Context, name string) (text []byte, found bool, err error) {
	there, err := gitIn(ctx, r.dir, "ls-tree", "-z", "--name-only", string(r.commit), "--", "./"+name)
	if err != nil || len(there) == 0 {
		return nil, false, err
	}
	text, err = gitIn(ctx, r.dir, "cat-file", "blob", string(r.commit)+":./"+filepath.ToSlash(name))
	return text, err == nil, err
}

func gitIn(ctx context.Context, dir string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, "git", append([]string{"-C", dir, "--literal-pathspecs"}, args...)...)
	var said bytes.Buffer
	command.Stderr = &said
	out, err := command.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("cannot read %s with git: %s", dir, client.Line(strings.TrimSpace(said.String())))
	}
	return out, err
}
