package wheels

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/dialect/ray/outcome"
	"github.com/sluiceci/sluice/pkg/release"
)

const (
	c0 = "0123456789abcdef0123456789abcdef01234567"
	c1 = "1111111111111111111111111111111111111111"
	c2 = "2222222222222222222222222222222222222222"
)

func buckets() Buckets { return Buckets{Wheels: "https://b", PullRequests: "https://f"} }

// address is where the wheel of an ask would be, for a commit when the ask names none.
func address(a Ask, commit string) string {
	if a.Commit != "" {
		commit = string(a.Commit)
	}
	return buckets().Address(a.Repo, release.Commit(commit), "3.0.0.dev0", Python{3, 9})
}

// TestVectors is H1 to H10; H10 differs from Ray's tooling on purpose.
func TestVectors(t *testing.T) {
	t.Parallel()
	const file = "ray-3.0.0.dev0-cp39-cp39-manylinux2014_x86_64.whl"
	inBranch := func(branch, commit string) string { return "https://b/" + branch + "/" + commit + "/" + file }
	inFork := func(commit string) string { return "https://f/" + commit + "/tmp/artifacts/.whl/" + file }
	for name, c := range map[string]struct {
		spec string
		ci   CI
		kind Kind
		repo string
		want string
	}{
		"H2":                     {"", CI{Commit: c0}, ByCommit, Main, inBranch("master", c0)},
		"H3":                     {"", CI{Commit: c0, Branch: "releases/2.9.0"}, ByCommit, Main, inBranch("releases/2.9.0", c0)},
		"H4":                     {"", CI{Commit: c0, Branch: "user:feat"}, ByCommit, "https://github.com/user/ray.git", inFork(c0)},
		"H4 named":               {"", CI{Commit: c0, Branch: "user:feat", PullRequestRepo: "user/ray-fork"}, ByCommit, "https://github.com/user/ray-fork.git", inFork(c0)},
		"H5":                     {"", CI{Commit: "HEAD", Branch: "wip"}, ByHead, Main, inBranch("wip", c1)},
		"H6":                     {c0, CI{}, ByCommit, Main, inBranch("master", c0)},
		"H6 in a build":          {c0, CI{Branch: "rel"}, ByCommit, Main, inBranch("rel", c0)},
		"H7":                     {"user:" + c0, CI{}, ByCommit, "https://github.com/user/ray.git", inFork(c0)},
		"H8":                     {"master", CI{}, ByBranch, Main, inBranch("master", c1)},
		"H9":                     {"user:dev", CI{}, ByBranch, "https://github.com/user/ray.git", inFork(c1)},
		"H9 main":                {"ray-project:master", CI{}, ByBranch, Main, inBranch("master", c1)},
		"H10 (differs)":          {"https://host/repo.git:branch/sub", CI{}, ByBranch, "https://host/repo.git", inFork(c1)},
		"H10 (differs), commit":  {"https://host:8443/u/repo:" + c0, CI{}, ByCommit, "https://host:8443/u/repo.git", inFork(c0)},
		"H10 of the main (same)": {Main + ":releases/2.9.0", CI{}, ByBranch, Main, inBranch("releases/2.9.0", c1)},
		"a ref":                  {"refs/heads/" + c0, CI{}, ByBranch, Main, inBranch(c0, c1)},
	} {
		got, err := Parse(c.spec, c.ci)
		if err != nil || got.Kind != c.kind || got.Repo.URL != c.repo || address(got, c1) != c.want {
			t.Errorf("%s: %+v, %v, at %s; want %s of %s at %s", name, got, err, address(got, c1), c.kind, c.repo, c.want)
		}
	}
	for _, spec := range []string{"https://x/ray-1-cp39-cp39-linux.whl", "http://host:80/a:b/x.whl?y=1", "https://host/latest", "https://host"} {
		if got, err := Parse(spec, CI{}); err != nil || got.Kind != ByURL || got.URL != spec {
			t.Errorf("%s: %+v, %v", spec, got, err)
		}
	}
	if got, err := Parse("file:///tmp/a b.whl", CI{}); err != nil || got.Kind != ByFile || got.Path != "/tmp/a b.whl" {
		t.Errorf("a file: %+v, %v", got, err)
	}
}

// TestRefused has H1 and what is hostile.
func TestRefused(t *testing.T) {
	t.Parallel()
	for spec, exception := range map[string]string{
		"":                              "RayWheelsUnspecifiedError", // H1
		"file://":                       "ReleaseTestCLIError",
		"--upload-pack=evil":            "ReleaseTestCLIError",
		"user:-x":                       "ReleaseTestCLIError",
		"a..b":                          "ReleaseTestCLIError",
		"../x:master":                   "ReleaseTestCLIError",
		"https://host/repo.git:--evil":  "ReleaseTestCLIError",
		"https://u:p@host/repo.git:dev": "ReleaseTestCLIError",
		"https://%zz":                   "ReleaseTestCLIError",
		":":                             "ReleaseTestCLIError",
	} {
		_, err := Parse(spec, CI{})
		if err == nil || outcome.CodeOf(err) != outcome.OfException(exception).Code || outcome.CodeOf(err) != 10 {
			t.Errorf("H1 and what is hostile, %q: %v (code %d)", spec, err, outcome.CodeOf(err))
		}
	}
	if _, err := Parse("", CI{Commit: c0, Branch: "a b:c"}); err == nil {
		t.Error("a CI with a hostile branch is believed")
	}
}

// TestH8Search looks for the newest commit that has wheels.
func TestH8Search(t *testing.T) {
	t.Parallel()
	search := func(n int, exists ...bool) Search {
		s := Search{Repo: Repo{Main, "master"}, Exists: exists}
		for i := range n {
			s.Candidates = append(s.Candidates, Candidate{Commit: release.Commit(strings.Repeat(string(rune('a'+i)), 40))})
		}
		return s
	}
	for name, c := range map[string]struct {
		s     Search
		at    int
		found bool
	}{
		"begins with the newest": {search(3), 0, false},
		"goes on":                {search(3, false), 1, false},
		"no, yes, not asked":     {search(3, false, true), 1, true},
		"the newest wins":        {search(3, true, true, true), 0, true},
		"none":                   {search(3, false, false, false), -1, false},
		"no commits":             {search(0), -1, false},
		"not the eleventh":       {search(12, false, false, false, false, false, false, false, false, false, false), -1, false},
	} {
		got, found, err := c.s.Next()
		if (err != nil) != (c.at < 0) || found != c.found || err == nil && got != c.s.Candidates[c.at] {
			t.Errorf("%s: %v, %v, %v", name, got, found, err)
		}
		if err != nil && outcome.CodeOf(err) != 10 {
			t.Errorf("%s: code %d", name, outcome.CodeOf(err))
		}
	}
	if err := Late("u", "2h"); outcome.CodeOf(err) != 30 {
		t.Errorf("late is code %d", outcome.CodeOf(err)) // H11; the waiting itself is in package await
	}
}

// TestForPython is H12 and H13.
func TestForPython(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in string
		py       Python
		want     string
		warn     bool
	}{
		{"H12", "https://h/m/ray-3.0-cp38-cp38-manylinux2014_x86_64.whl", Python{3, 7}, "https://h/m/ray-3.0-cp37-cp37m-manylinux2014_x86_64.whl", false},
		{"H12 back", "https://h/ray-3.0-cp37-cp37m-manylinux2014_x86_64.whl?x=1", Python{3, 11}, "https://h/ray-3.0-cp311-cp311-manylinux2014_x86_64.whl?x=1", false},
		{"the same", "https://h/ray_cpp-3.0-cp39-cp39-win_amd64.whl", Python{3, 9}, "https://h/ray_cpp-3.0-cp39-cp39-win_amd64.whl", false},
		{"H13", "https://h/unknown.whl", Python{3, 7}, "https://h/unknown.whl", true},
		{"no URL", "%zz", Python{3, 7}, "%zz", true},
	} {
		got, warning := ForPython(c.in, c.py)
		if got != c.want || (warning != "") != c.warn {
			t.Errorf("%s: %s for %s: %s, %q", c.name, c.in, c.py, got, warning)
		}
	}
}

// TestH14CommitOf reads the commit from a URL.
func TestH14CommitOf(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]release.Commit{
		"https://b/master/" + c0 + "/x.whl": c0, "https://b/latest/x.whl": "", "https://b/master/" + c0[:39] + "/x.whl": "", "%zz": "",
		"https://f/" + c0 + "/tmp/artifacts/.whl/x.whl": c0,
	} {
		if got := CommitOf(in); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

// TestH15TheSetOfForty has the names of a release, and what is not whole.
func TestH15TheSetOfForty(t *testing.T) {
	t.Parallel()
	m := Release2024()
	set := m.Files("2.9.0")
	if len(set) != 40 || set[0] != "ray-2.9.0-cp39-cp39-manylinux2014_x86_64.whl" || set[39] != "ray_cpp-2.9.0-cp312-cp312-win_amd64.whl" {
		t.Fatalf("%d wheels from %s to %s", len(set), set[0], set[len(set)-1])
	}
	if slices.Sort(set); len(slices.Compact(slices.Clone(set))) != 40 {
		t.Error("two wheels have one name")
	}
	if err := m.Complete("2.9.0", set); err != nil {
		t.Error(err)
	}
	for name, have := range map[string][]string{
		"one is missing":     set[1:],
		"one too many":       append(slices.Clone(set), "ray-2.9.0.tar.gz"),
		"one is another's":   append(slices.Clone(set[1:]), "ray-2.9.1-cp39-cp39-win_amd64.whl"),
		"one is there twice": append(slices.Clone(set), set[0]),
		"none":               nil,
	} {
		if err := m.Complete("2.9.0", have); err == nil {
			t.Errorf("%s: complete", name)
		}
	}
	if err := m.Complete("2.9.0", set[1:]); !strings.Contains(err.Error(), set[0]) {
		t.Errorf("%v does not name what is missing", err)
	}
}

// TestRepos is R1 to R6.
func TestRepos(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]Repo{
		"https://github.com/ray-project/ray.git":      {Main, "master"},
		"https://github.com/user/ray/tree/branch/sub": {"https://github.com/user/ray.git", "branch/sub"},
		"user:branch/sub":                             {"https://github.com/user/ray.git", "branch/sub"},
		"user":                                        {"https://github.com/user/ray.git", "master"},
		"git://github.com/user/ray-fork.git":          {"https://github.com/user/ray-fork.git", "master"},
		"https://github.com/user/ray/":                {"https://github.com/user/ray.git", "master"},
	} {
		if got, err := ParseRepo(in); err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", in, got, err, want)
		}
	}
	for _, c := range []struct {
		branch, pr string
		want       Repo
	}{
		{"user:some_branch", "user/ray-fork", Repo{"https://github.com/user/ray-fork.git", "some_branch"}},
		{"user:some_branch", "", Repo{"https://github.com/user/ray.git", "some_branch"}},
		{"user:some_branch", "git://github.com/user/ray-fork.git", Repo{"https://github.com/user/ray-fork.git", "some_branch"}},
		{"wip", "user/ray-fork", Repo{Main, "wip"}},
		{"", "", Repo{Main, "master"}},
	} {
		if got, err := CheckedOut(c.branch, c.pr); err != nil || got != c.want {
			t.Errorf("%s of %s: %v, %v; want %v", c.branch, c.pr, got, err, c.want)
		}
	}
	for _, bad := range []string{"", "a b", "-x", "https://", "ssh://h/x", "file:///etc", "https://u:p@h/x", "user:-b", "user:a..b", "https://h/x?y"} {
		if got, err := ParseRepo(bad); err == nil {
			t.Errorf("%q is %v", bad, got)
		}
	}
	for _, bad := range []string{"noslash", "a/b/c", "ssh://h/x"} {
		if got, err := CheckedOut("user:b", bad); err == nil {
			t.Errorf("a pull request of %q is %v", bad, got)
		}
	}
}

func TestPythons(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]Python{"39": {3, 9}, "3.9": {3, 9}, "311": {3, 11}, "3.11": {3, 11}} {
		if got, err := ParsePython(in); err != nil || got != want {
			t.Errorf("%s: %v, %v", in, got, err)
		}
	}
	for _, bad := range []string{"", "3", "3.9.1", "x", "3.", "31234"} {
		if got, err := ParsePython(bad); err == nil {
			t.Errorf("%q is %v", bad, got)
		}
	}
}

func TestStamps(t *testing.T) {
	t.Parallel()
	const text = "version = \"3.0.0.dev0\"\ncommit = \"{{RAY_COMMIT_SHA}}\"\n"
	if v, err := VersionIn(text); err != nil || v != "3.0.0.dev0" {
		t.Errorf("%q, %v", v, err)
	}
	if _, err := CommitIn(text); err == nil || !strings.Contains(err.Error(), "did not stamp it") {
		t.Errorf("the word is a commit: %v", err)
	}
	stamped, err := Stamp(text, c0)
	if got, readErr := CommitIn(stamped); err != nil || readErr != nil || got != c0 {
		t.Errorf("%q, %v, %v", got, err, readErr)
	}
	if _, err := Stamp(stamped, c1); err == nil {
		t.Error("it is stamped twice")
	}
	if _, err := Stamp(text, ""); err == nil {
		t.Error("it is stamped with nothing")
	}
	for _, bad := range []string{"", "commit = ''", "x = 1"} {
		if _, err := CommitIn(bad); err == nil {
			t.Errorf("%q has a commit", bad)
		}
		if _, err := VersionIn(bad); err == nil {
			t.Errorf("%q has a version", bad)
		}
	}
	for name, c := range map[string]struct {
		expected release.Commit
		carried  map[string]release.Commit
		ok       bool
	}{
		"all":           {c0, map[string]release.Commit{"a": c0, "b": c0}, true},
		"another":       {c0, map[string]release.Commit{"a": c0, "b": c1}, false},
		"one has none":  {c0, map[string]release.Commit{"a": ""}, false},
		"none":          {c0, nil, false},
		"none expected": {"", map[string]release.Commit{"a": c0}, false},
	} {
		if err := Verify(c.expected, c.carried); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("https://host/repo.git:branch", "user:feat", "user/ray-fork")
	f.Add("user:"+c0, "", "git://x/y")
	f.Fuzz(func(t *testing.T, spec, branch, pr string) {
		a, err := Parse(spec, CI{Commit: "HEAD", Branch: branch, PullRequestRepo: pr})
		if err != nil {
			if outcome.CodeOf(err) != 10 {
				t.Errorf("%q: %v is code %d", spec, err, outcome.CodeOf(err))
			}
			return
		}
		repoAsked := a.Kind == ByBranch || a.Kind == ByHead || a.Kind == ByCommit
		if repoAsked && (strings.HasPrefix(a.Repo.Branch, "-") || !strings.HasPrefix(a.Repo.URL, "http") || !release.ValidRef("refs/heads/"+a.Repo.Branch)) {
			t.Errorf("%q gives git %+v", spec, a.Repo)
		}
		_, _ = ForPython(a.URL, Python{3, 9})
	})
}

func FuzzParseRepo(f *testing.F) {
	f.Add("https://github.com/user/ray/tree/branch/sub")
	f.Add("user:branch")
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRepo(s)
		if err != nil {
			return
		}
		u, err := url.Parse(r.URL)
		if err != nil || u.User != nil || u.Host == "" || strings.HasPrefix(r.Branch, "-") || !release.ValidRef("refs/heads/"+r.Branch) {
			t.Errorf("%q gives git %+v, %v", s, r, err)
		}
		if again, err := ParseRepo(r.URL); err != nil || again.URL != r.URL {
			t.Errorf("%q is %s, which reads as %s, %v", s, r.URL, again.URL, err)
		}
	})
}

func FuzzVersion(f *testing.F) {
	f.Add("version = \"3.0.0\"\ncommit = \"" + c0 + "\"")
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := CommitIn(text); err == nil && !c.Valid() {
			t.Errorf("%q has commit %q", text, c)
		}
		_, _ = VersionIn(text)
	})
}
