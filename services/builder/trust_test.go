package builder

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/forge/forgetest"
	"github.com/sluiceci/sluice/pkg/git"
	"github.com/sluiceci/sluice/pkg/release"
)

// guarded is a shop whose forge can be asked: master of acme/tiny may publish, and grace may not write.
type guarded struct {
	*shop
	forge   *forgetest.Forge
	project Project
}

func newGuarded(t *testing.T) *guarded {
	t.Helper()
	f, stop := forgetest.Start("acme/tiny")
	t.Cleanup(stop)
	f.Allow("ada", "write")
	f.Allow("grace", "read")
	s := newShop(t)
	s.deps.Now = func() time.Time { return time.Now().Add(time.Hour) } // every announcement is older than the time that replicas have
	s.deps.Secret = func(string) (string, error) { return forgetest.Token, nil }
	return &guarded{s, f, Project{
		Name: "tiny", Forge: "gitea", BaseURL: f.URL, Token: "forge", Branches: []string{"master"}, ReleaseRefs: []string{"refs/heads/master"},
	}}
}

// projects is the installation's word for the one repository.
func (g *guarded) projects() map[string]Project { return map[string]Project{"acme/tiny": g.project} }

// pull opens a pull request of what is committed next, which is on no branch of the repository, or on the one that is named.
func (g *guarded) pull(author, from, branch string, files map[string]string) release.Change {
	g.t.Helper()
	g.git("checkout", "-q", "--detach")
	c := g.commit(files)
	g.git("update-ref", "refs/pull/7/head", string(c.Commit))
	if branch != "" {
		g.git("branch", "-f", branch, string(c.Commit))
	}
	g.git("checkout", "-q", "master")
	head := branch
	if head == "" {
		head = "theirs"
	}
	g.forge.Put(forgetest.Pull{Number: 7, Head: string(c.Commit), Branch: head, From: from, Into: "master", Author: author})
	c.Kind, c.Number, c.Ref, c.Author, c.HeadRepo, c.HeadRef, c.Fork = release.PullRequest, 7, "refs/pull/7/head", author, from, head, from != c.Repo
	return c
}

// judged is what a builder makes of a change.
func (g *guarded) judged(c release.Change) judgement {
	g.t.Helper()
	cache, err := git.New(g.t.TempDir(), git.Options{MissingFor: time.Millisecond})
	must(g.t, err)
	b := &builder{Config{Projects: g.projects()}, g.deps, cache}
	j, err := b.judge(g.t.Context(), c, time.Now())
	must(g.t, err)
	return j
}

// TestTrustFollowsFromTheRepositoryAndTheForge is law 15: what a change says of itself decides nothing.
func TestTrustFollowsFromTheRepositoryAndTheForge(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.project.ReleaseRefs = append(g.project.ReleaseRefs, "refs/tags/v*")
	master := g.commit(map[string]string{"sluice.yaml": simple})
	g.git("tag", "v1")
	own := g.pull("ada", "acme/tiny", "topic", map[string]string{"a": "1"})
	g.git("tag", "v2", "topic")
	onTopic := own
	onTopic.Kind, onTopic.Ref, onTopic.Branch = release.Push, "refs/heads/topic", "topic"
	tagged := func(c release.Change, tag string) release.Change {
		c.Kind, c.Ref, c.Branch = release.Tag, "refs/tags/"+tag, ""
		return c
	}
	named := func(c release.Change, branch string) release.Change {
		c.Kind, c.Branch, c.Ref = release.Manual, branch, "refs/heads/"+branch
		if branch == "" {
			c.Ref = ""
		}
		return c
	}
	ours := g.judged(own)
	stranger := g.pull("grace", "acme/tiny", "topic2", map[string]string{"b": "1"}) // whoever may open pull requests of branches of others
	byStranger := g.judged(stranger)
	fork := g.pull("grace", "grace/tiny", "", map[string]string{"c": "1"})
	forged := fork // attack 07: the commit of a fork, which every forge gives out by the same URL, said to be pushed
	forged.Kind, forged.Ref, forged.Branch, forged.Verified = release.Push, "refs/heads/master", "master", "signature"
	disguised := fork // the delivery calls it a branch of the repository itself
	disguised.Fork, disguised.HeadRepo = false, "acme/tiny"
	for name, c := range map[string]struct {
		got    judgement
		want   release.Trust
		why    string
		writer bool
	}{
		"push to master":                      {g.judged(master), release.TrustRelease, "may publish", true},
		"push to another branch":              {g.judged(onTopic), release.TrustTrusted, "not in the project's release_refs", true},
		"unconfirmed push":                    {g.judged(forged), release.TrustUntrusted, "is not on branch master of acme/tiny", false},
		"tag of the release branch":           {g.judged(tagged(master, "v1")), release.TrustRelease, "of a commit of branch master", true},
		"tag of another branch":               {g.judged(tagged(onTopic, "v2")), release.TrustTrusted, "on no release branch", true},
		"tag of another commit":               {g.judged(tagged(onTopic, "v1")), release.TrustUntrusted, "is not of commit", false},
		"tag of a later commit":               {g.judged(tagged(master, "v2")), release.TrustUntrusted, "is not of commit", false},
		"pull request of a member":            {ours, release.TrustTrusted, "of the repository itself", true},
		"pull request of a reader":            {byStranger, release.TrustUntrusted, "grace, who opened pull request 7, may not write", false},
		"pull request of a fork":              {g.judged(fork), release.TrustUntrusted, "a fork", false},
		"fork that is said to be none":        {g.judged(disguised), release.TrustUntrusted, "a fork", false},
		"commit by hand":                      {g.judged(named(master, "")), release.TrustTrusted, "on branch master", true},
		"commit of a fork by hand":            {g.judged(named(fork, "")), release.TrustUntrusted, "on no branch", true},
		"commit of a fork by hand, as master": {g.judged(named(fork, "master")), release.TrustUntrusted, "is not on branch master", true},
	} {
		if c.got.trust != c.want || !strings.Contains(c.got.why, c.why) || c.got.writer != c.writer {
			t.Errorf("%s: %s, writer %t, because %q; expected %s, writer %t, %q", name, c.got.trust, c.got.writer, c.got.why, c.want, c.writer, c.why)
		}
	}
}

// TestUnconfirmedPushIsNoRelease is attack 07 to its end: the run that the forged delivery asks for waits for permission.
func TestUnconfirmedPushIsNoRelease(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.commit(map[string]string{"sluice.yaml": simple})
	forged := g.pull("grace", "grace/tiny", "", map[string]string{"c": "1"})
	forged.Kind, forged.Ref, forged.Branch = release.Push, "refs/heads/master", "master"
	forged.Number, forged.HeadRef, forged.Fork, forged.HeadRepo = 0, "", false, ""
	g.open(Config{Projects: g.projects()})
	g.say(forged.RunID(), event.ChangeReceived{Change: forged})
	if asked := await[event.RunPermissionRequested](g.shop, forged.RunID()); !strings.Contains(asked.Reason, "is not on branch master") {
		t.Errorf("it waits since %q", asked.Reason)
	}
}

// TestForgeThatDoesNotTellLeavesNoPermission: whoever cannot be asked about has none, and a forge that is away is asked again.
func TestForgeThatDoesNotTellLeavesNoPermission(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.commit(map[string]string{"sluice.yaml": simple})
	own := g.pull("ada", "acme/tiny", "topic", map[string]string{"a": "1"})
	g.project.Token = "missing"
	g.deps.Secret = func(name string) (string, error) { return "", os.ErrNotExist }
	if j := g.judged(own); j.trust != release.TrustUntrusted || !strings.Contains(j.why, "the forge cannot be asked") {
		t.Errorf("without the token: %+v", j)
	}
	g.deps.Secret = func(string) (string, error) { return forgetest.Token, nil }
	g.forge.Away(true)
	cache, err := git.New(filepath.Join(t.TempDir(), "git"), git.Options{})
	must(t, err)
	b := &builder{Config{Projects: g.projects()}, g.deps, cache}
	if j, err := b.judge(t.Context(), own, time.Now()); err == nil {
		t.Errorf("a forge that is away makes it %+v, expected to ask again", j)
	}
}
