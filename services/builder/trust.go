package builder

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/forge"
	"github.com/sluiceci/sluice/pkg/release"
)

// Project is what the installation says of a repository, apart from the definitions that stand in it.
type Project struct {
	Name     string
	Forge    string
	BaseURL  string   // of the forge's API
	Token    string   // name of the secret that is shown there; without one the forge is not asked
	Branches []string // watched

	// ReleaseRefs are globs of the full refs that may publish. A definition is part of the commit that it judges: without
	// them, whoever can push any branch could write there that it is the release branch.
	ReleaseRefs []string

	Approvals int32    // at least so many, whatever a definition says
	Require   []string // of the gate, beside what a definition requires
	Policy    Policy   // for untrusted changes
}

const (
	// grace is how long a push may be ahead of what the repository says: a forge announces a commit before all of its
	// replicas have it.
	grace = 5 * time.Second
	// asking bounds the questions to the forge about one change.
	asking = 20 * time.Second
)

// judgement is how far a change is trusted.
type judgement struct {
	trust  release.Trust
	why    string // what that rests on, or why it is no higher
	writer bool   // its author may write to the repository, or somebody who may named the commit
}

func untrusted(format string, args ...any) judgement {
	return judgement{trust: release.TrustUntrusted, why: fmt.Sprintf(format, args...)}
}

// judge decides how far a change is trusted: by what the repository and its forge say now, never by what the announcement
// says of itself, nor by the definition. What nobody can tell is untrusted.
func (b *builder) judge(ctx context.Context, c release.Change, announced time.Time) (judgement, error) {
	if c.Verified == release.Local {
		return judgement{release.TrustTrusted, "it is the working directory of whoever runs it", true}, nil
	}
	project := b.config.Projects[c.Repo]
	switch c.Kind {
	case release.Push, release.Schedule:
		return b.judgeBranch(ctx, project, c, announced)
	case release.Manual:
		j, err := b.judgeManual(ctx, project, c, announced)
		j.writer = true // somebody with a token named it
		return j, err
	case release.Tag:
		return b.judgeTag(ctx, project, c, announced)
	case release.PullRequest, release.Comment:
		// Who may say /test has not said that they looked at the commit: that takes /ok-to-test.
		return b.judgePull(ctx, project, c)
	}
	return untrusted("%q is no kind of change that is known", c.Kind), nil
}

// judgeBranch asks the repository whether the commit is on the branch.
func (b *builder) judgeBranch(ctx context.Context, p Project, c release.Change, announced time.Time) (judgement, error) {
	if c.Ref != "refs/heads/"+c.Branch {
		return untrusted("ref %s is not branch %q", c.Ref, c.Branch), nil
	}
	s, err := b.git.Confirm(ctx, c.CloneURL, c.Commit, c.Ref)
	if err != nil {
		return judgement{}, err
	}
	if !s.Holds {
		return b.unconfirmed(announced, "commit %s is not on branch %s of %s: %s", c.Commit.Short(), c.Branch, c.Repo, headed(s.Head))
	}
	if !p.releases(c.Ref) {
		return judgement{release.TrustTrusted, "it is on branch " + c.Branch + ", which is not in the project's release_refs", true}, nil
	}
	return judgement{release.TrustRelease, "it is on branch " + c.Branch + ", which may publish", true}, nil
}

// unconfirmed is untrusted, once the repository has had time to show what was announced.
func (b *builder) unconfirmed(announced time.Time, format string, args ...any) (judgement, error) {
	j := untrusted(format, args...)
	if !announced.IsZero() && b.deps.Now().Sub(announced) < grace {
		return j, fault.Later(time.Second, "cannot confirm the change yet: %s", j.why)
	}
	return j, nil
}

func headed(head release.Commit) string {
	if head == "" {
		return "there is none of that name"
	}
	return "its head is " + head.Short()
}

// judgeManual judges a run that somebody asked for by what was named. A commit alone has to be on some branch: forges give
// out what is only in a fork by the same URL.
func (b *builder) judgeManual(ctx context.Context, p Project, c release.Change, announced time.Time) (judgement, error) {
	if c.Branch != "" {
		return b.judgeBranch(ctx, p, c, announced)
	}
	branches, err := b.git.Branches(ctx, c.CloneURL, c.Commit)
	if err != nil {
		return judgement{}, err
	}
	if len(branches) == 0 {
		return untrusted("commit %s is on no branch of %s", c.Commit.Short(), c.Repo), nil
	}
	return judgement{release.TrustTrusted, "it is on branch " + strings.TrimPrefix(branches[0], "refs/heads/"), true}, nil
}

// judgeTag asks the repository whether the tag is of the commit, and whether that is on a branch that may publish: anybody
// who can push a tag could release anything otherwise.
func (b *builder) judgeTag(ctx context.Context, p Project, c release.Change, announced time.Time) (judgement, error) {
	if !strings.HasPrefix(c.Ref, "refs/tags/") {
		return untrusted("ref %s is no tag", c.Ref), nil
	}
	s, err := b.git.Confirm(ctx, c.CloneURL, c.Commit, c.Ref)
	if err != nil {
		return judgement{}, err
	}
	tag := strings.TrimPrefix(c.Ref, "refs/tags/")
	if s.Head != c.Commit {
		return b.unconfirmed(announced, "tag %s of %s is not of commit %s: %s", tag, c.Repo, c.Commit.Short(), headed(s.Head))
	}
	if !p.releases(c.Ref) {
		return judgement{release.TrustTrusted, "tag " + tag + " is not in the project's release_refs", true}, nil
	}
	branches, err := b.git.Branches(ctx, c.CloneURL, c.Commit)
	if err != nil {
		return judgement{}, err
	}
	globs := p.releaseBranches()
	for _, branch := range branches {
		if matches(globs, branch) {
			return judgement{release.TrustRelease, "tag " + tag + " is of a commit of branch " + strings.TrimPrefix(branch, "refs/heads/"), true}, nil
		}
	}
	return judgement{release.TrustTrusted, fmt.Sprintf("tag %s is of a commit that is on no release branch (%s)", tag, strings.Join(globs, ", ")), true}, nil
}

// judgePull judges a pull request, or a comment on one. A fork is untrusted whoever wrote it.
func (b *builder) judgePull(ctx context.Context, p Project, c release.Change) (judgement, error) {
	asked, err := b.ask(ctx, p, c)
	if err != nil {
		return judgement{}, err
	}
	from := asked.from
	if from == "" {
		from = c.HeadRepo
	}
	if c.Fork || asked.fork || c.HeadRef == "" {
		j := untrusted("pull request %d comes from %s, a fork", c.Number, orUnknown(from))
		j.writer = asked.writes
		return j, nil
	}
	branch := strings.TrimPrefix(c.HeadRef, "refs/heads/")
	s, err := b.git.Confirm(ctx, c.CloneURL, c.Commit, "refs/heads/"+branch)
	switch {
	case err != nil:
		return judgement{}, err
	case !s.Holds:
		j := untrusted("commit %s of pull request %d is not on branch %s of %s: %s", c.Commit.Short(), c.Number, branch, c.Repo, headed(s.Head))
		j.writer = asked.writes
		return j, nil
	case asked.asked && !asked.writes:
		return untrusted("%s, who opened pull request %d, may not write to %s%s", orUnknown(asked.author), c.Number, c.Repo, asked.trouble), nil
	}
	return judgement{release.TrustTrusted, "pull request from branch " + branch + " of the repository itself", true}, nil
}

func orUnknown(s string) string {
	if s == "" {
		return "somebody unknown"
	}
	return s
}

// answers of a forge about a pull request.
type pullAnswer struct {
	asked   bool // the forge could be asked: the project has a token
	author  string
	writes  bool
	fork    bool
	from    string
	trouble string // why the forge did not tell, after a colon
}

// ask asks the forge who opened a pull request and what they may do. A forge that is away is asked again later; one that
// refuses to tell leaves the author without permission.
func (b *builder) ask(ctx context.Context, p Project, c release.Change) (pullAnswer, error) {
	if p.Token == "" || p.BaseURL == "" || c.Forge == "git" {
		return pullAnswer{}, nil
	}
	token, err := b.deps.Secret(p.Token)
	if err != nil {
		return pullAnswer{asked: true, trouble: ": the forge cannot be asked: " + err.Error()}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, asking)
	defer cancel()
	api := forge.API{Forge: p.Forge, BaseURL: p.BaseURL, Token: token, Repo: c.Repo}
	pull, err := api.Pull(ctx, c.Number)
	if fault.Is(err, fault.Transient) {
		return pullAnswer{}, err
	}
	if err != nil {
		return pullAnswer{asked: true, trouble: ": " + err.Error()}, nil
	}
	out := pullAnswer{asked: true, author: pull.Change.Author, fork: pull.Change.Fork || pull.Change.HeadRef != c.HeadRef, from: pull.Change.HeadRepo}
	permission, err := api.Permission(ctx, pull.Change.Author, pull.AuthorID)
	if fault.Is(err, fault.Transient) {
		return pullAnswer{}, err
	}
	if err != nil {
		out.trouble = ": " + err.Error()
	}
	out.writes = permission == "write" || permission == "admin"
	return out, nil
}

// releases reports whether the installation lets a ref publish.
func (p Project) releases(ref string) bool { return matches(p.ReleaseRefs, ref) }

// releaseBranches are globs of the branches whose commits a tag may release: those that may publish themselves or, where
// only tags may, those that are watched.
func (p Project) releaseBranches() []string {
	globs := slices.DeleteFunc(slices.Clone(p.ReleaseRefs), func(glob string) bool { return !strings.HasPrefix(glob, "refs/heads/") })
	if len(globs) > 0 {
		return globs
	}
	for _, branch := range p.Branches {
		globs = append(globs, "refs/heads/"+branch)
	}
	return globs
}

func matches(globs []string, ref string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool {
		ok, _ := path.Match(glob, ref)
		return ok
	})
}
