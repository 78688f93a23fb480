package exporter

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluiceci/sluice/pkg/blob/bucket"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/test/property"
)

const commitA = release.Commit("4f2a9c1d00112233445566778899aabbccddeeff")

func TestBase(t *testing.T) {
	c := string(commitA)
	for _, test := range []struct {
		change release.Change
		want   string
	}{
		{release.Change{Kind: release.Push, Branch: "master"}, "master/" + c},
		{release.Change{Kind: release.Push, Branch: "releases/2.0"}, "releases/2.0/" + c},
		{release.Change{Kind: release.Push, Ref: "refs/heads/x"}, "x/" + c},
		{release.Change{Kind: release.Schedule, Branch: "master", Ref: "refs/heads/master"}, "master/" + c},
		{release.Change{Kind: release.PullRequest, Branch: "master", Number: 7}, "pull/7/" + c},
		{release.Change{Kind: release.Comment, Branch: "master", Number: 7}, "pull/7/" + c},
		{release.Change{Kind: release.Manual, Branch: "master", Fork: true, Ref: "refs/pull/7/head"}, "pull/refs_pull_7_head~s62mjdfa/" + c},
		{release.Change{Kind: release.Tag, Ref: "refs/tags/v1.0"}, "tags/v1.0/" + c},
		{release.Change{Kind: release.Manual, Branch: "master", Ref: "refs/tags/v1.0"}, "tags/v1.0/" + c},
		{release.Change{Kind: release.Push, Branch: "latest"}, "latest~/latest/" + c},
		{release.Change{Kind: release.Push, Branch: "Released"}, "Released~/Released/" + c},
		{release.Change{Kind: release.Push, Branch: "Latest/x"}, "Latest~/Latest/x/" + c},
		{release.Change{Kind: release.Push, Branch: "pull/7"}, "pull~/pull/7/" + c},
		{release.Change{Kind: release.Push, Branch: "../../etc"}, "~/~/etc/" + c},
		{release.Change{Kind: release.Push, Branch: "a//b"}, "a/~/b/" + c},
		{release.Change{Kind: release.Push, Branch: ".hidden"}, "hidden~/" + c},
		{release.Change{Kind: release.Push, Branch: "größe"}, "gr__e~/" + c},
		{release.Change{Kind: release.Push, Branch: "master/" + c + "/artifacts"}, "master/" + c + "~/artifacts/" + c},
		{release.Change{Kind: release.Push, Branch: "a\x00b\nc"}, "a_b_c~/" + c},
	} {
		test.change.Commit = commitA
		// What is derived is not spelled out here.
		got := derived.ReplaceAllString(base(test.change), "~")
		if want := derived.ReplaceAllString(test.want, "~"); got != want {
			t.Errorf("base(%s %q %q) = %q, want %q", test.change.Kind, test.change.Branch, test.change.Ref, got, want)
		}
	}
}

// word draws text as the world sends it: ordinary, awkward and hostile.
func word(t *rapid.T, label string) string {
	parts := rapid.SliceOfN(rapid.OneOf(
		rapid.SampledFrom([]string{
			"master", "latest", "LATEST", "pull", "tags", "..", ".", "", "a", "a~b", "a@b", "run.json", "artifacts", "candidate.json",
			string(commitA), "results", "runs", "round-0.json", "1", "1.json", strings.Repeat("x", 300), "x.whl", "x.tar", "wheel",
		}),
		rapid.StringMatching(`[a-c./~@_-]{0,4}`),
		rapid.String(),
	), 1, 4).Draw(t, label)
	return strings.Join(parts, "/")
}

func drawChange(t *rapid.T) release.Change {
	return release.Change{
		Kind:   rapid.SampledFrom([]release.ChangeKind{release.Push, release.Tag, release.PullRequest, release.Manual}).Draw(t, "kind"),
		Branch: word(t, "branch"), Ref: rapid.SampledFrom([]string{"refs/heads/", "refs/tags/"}).Draw(t, "refs") + word(t, "ref"),
		Commit: rapid.SampledFrom([]release.Commit{commitA, "0123456789012345678901234567890123456789"}).Draw(t, "commit"),
		Number: rapid.Int32Range(0, 3).Draw(t, "number"),
	}
}

// Whatever branches, tags, tasks and files are called: every name is one that all stores take, no name is a directory of
// another, only latest/ is below latest/, and what differs does not meet.
func TestNamesNeverMeet(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		seen := map[string]string{} // name → what it is for
		add := func(name, what string) {
			if err := bucket.CheckName(name); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			for segment := range strings.SplitSeq(name, "/") {
				if segment == "" || segment[0] == '.' || len(segment) > 255 {
					t.Fatalf("%s: segment %q of %q", what, segment, name)
				}
			}
			if other, ok := seen[name]; ok && other != what {
				t.Fatalf("%q is the name of %s and of %s", name, other, what)
			}
			seen[name] = what
		}
		add(latestFolder+"/"+manifestFile, "latest")
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			change := drawChange(t)
			home := base(change)
			who := fmt.Sprintf("%s/%s", under(change), change.Commit)
			for _, name := range []string{runFile, planFile, candidateFile, manifestFile, "runs/4f2a-x/" + runFile, "candidate-0123456789abcdef/" + manifestFile, "results/round-0.json"} {
				add(home+"/"+name, who+" "+name)
			}
			for _, a := range drawKept(t) {
				add(home+"/artifacts/"+a.path, fmt.Sprintf("%s %s", who, a.Digest))
			}
			task := release.TaskID(rapid.StringMatching(`[a-z0-9_-]{1,3}|round-0|[a-z]{120}`).Draw(t, "task"))
			for n := range int32(2) {
				add(home+"/"+attemptPath("results", task, n)+".json", fmt.Sprintf("%s %q %d", who, task, n))
				add(home+"/"+attemptPath("logs", task, n)+".log.zst", fmt.Sprintf("%s %q %d log", who, task, n))
				for _, a := range drawKept(t) {
					add(home+"/"+attemptPath("results", task, n)+"/"+a.path, fmt.Sprintf("%s %q %d %s", who, task, n, a.Digest))
				}
			}
		}
		for name := range seen {
			for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
				if what, ok := seen[dir]; ok {
					t.Fatalf("%q (%s) is a directory of %q (%s)", dir, what, name, seen[name])
				}
			}
		}
	})
}

// drawKept draws the artifacts of one candidate, or none if they cannot be kept side by side.
func drawKept(t *rapid.T) []keptArtifact {
	artifacts := make([]release.Artifact, rapid.IntRange(0, 4).Draw(t, "artifacts"))
	for i := range artifacts {
		artifacts[i] = release.Artifact{
			Name: word(t, "name"), Type: word(t, "type"), Task: release.TaskID(word(t, "task")), Directory: rapid.Bool().Draw(t, "directory"),
			Digest: release.DigestOf([]byte{byte(rapid.IntRange(0, 3).Draw(t, "bytes"))}),
		}
	}
	kept, err := layout(artifacts)
	if err != nil {
		return nil
	}
	digests := map[release.Digest]bool{}
	for _, k := range kept {
		digests[k.Digest] = true
	}
	for _, a := range artifacts {
		if !digests[a.Digest] {
			t.Fatalf("artifact %q is not kept", a.Name)
		}
	}
	return kept
}

// Two branches that differ are two places.
func TestLinesAreDifferent(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		one, two := drawChange(t), drawChange(t)
		one.Kind, two.Kind = release.Push, release.Push
		one.Ref, two.Ref, one.Number, two.Number, one.Commit, two.Commit = "", "", 0, 0, commitA, commitA
		if one.Branch != two.Branch && one.Branch != "" && two.Branch != "" && base(one) == base(two) {
			t.Fatalf("branches %q and %q are both kept at %q", one.Branch, two.Branch, base(one))
		}
	})
}

func FuzzBase(f *testing.F) {
	for _, s := range []string{"master", "../..", "a//b", "latest", string(commitA), "\xff", strings.Repeat("a/", 300)} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, branch, name string) {
		kept := path.Join(base(release.Change{Kind: release.Push, Branch: branch, Commit: commitA}), "artifacts",
			artifactPath(release.Artifact{Name: name, Type: branch}, "@"+segment(name)))
		if err := bucket.CheckName(kept); err != nil {
			t.Error(err)
		}
		if first, _, _ := strings.Cut(kept, "/"); strings.EqualFold(first, "latest") {
			t.Errorf("branch %q reaches latest/: %q", branch, kept)
		}
	})
}

// derived are the letters that segment derives of a whole word.
var derived = regexp.MustCompile(`~[a-z2-7]{8}`)
