package rules

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func parse(t testing.TB, path string) File {
	t.Helper()
	f, err := Parse(filepath.Base(path), read(t, path))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestSpecifications holds the files to what stands beside them: 2.10 of November 2024, and the always-rules of 2026.
func TestSpecifications(t *testing.T) {
	t.Parallel()
	for name, least := range map[string]int{"2024-11": 39, "prose": 10} {
		specs, err := ParseSpec(name, read(t, "testdata/"+name+".rules.test.txt"))
		if err != nil || len(specs) < least {
			t.Fatalf("%s: %d lines, %v", name, len(specs), err)
		}
		f := parse(t, "testdata/"+name+".rules.txt")
		for _, p := range Check(f, name+".rules.test.txt", specs) {
			t.Error("2.10", p)
		}
		for _, p := range f.Shadowed() {
			t.Error(p)
		}
	}
}

// TestUnion is the rest of 2.10: tags of several paths and of several files are united, lint is always there, and on
// release branches everything runs.
func TestUnion(t *testing.T) {
	t.Parallel()
	files := []File{parse(t, "testdata/2024-11.rules.txt"), parse(t, "testdata/always.rules.txt")}
	for name, c := range map[string]struct {
		change Change
		want   string
	}{
		"one":                  {Change{PullRequest: true, Branch: "master", Paths: []string{"java/x"}}, "java lint"},
		"two":                  {Change{PullRequest: true, Paths: []string{"doc/x.md", "java/x.java"}}, "java lint"},
		"prose":                {Change{PullRequest: true, Paths: []string{"doc/x.md"}}, "lint"},
		"nothing":              {Change{PullRequest: true}, ""},
		"master":               {Change{Branch: "master", Paths: []string{"doc/x.md"}}, "*"},
		"releases":             {Change{Branch: "releases/2.9.0"}, "*"},
		"asked for everything": {Change{Everything: true, PullRequest: true, Paths: []string{"doc/x.md"}}, "*"},
		"another branch":       {Change{Branch: "wip", Paths: []string{"cpp/x"}}, "cpp lint"},
	} {
		if got := Decide(files, c.change); strings.Join(got.Tags, " ") != c.want || got.All != (c.want == "*") {
			t.Errorf("2.10 %s: %v, want %s", name, got, c.want)
		}
	}
	d := Decide(files, Change{PullRequest: true, Paths: []string{"java/x"}})
	if !d.Runs(nil) || !d.Runs([]string{"cpp", "java"}) || d.Runs([]string{"cpp"}) || !(Decision{All: true}).Runs([]string{"cpp"}) {
		t.Error("a step without tags always runs, one with tags when one is emitted")
	}
}

// TestRuleEngine has the facts that Ray's own test asserts of its engine.
func TestRuleEngine(t *testing.T) {
	t.Parallel()
	rule := Rule{Dirs: []string{"fancy"}, Files: []string{"file.txt"}, Patterns: []string{"python/*.py"}, Tags: []string{"hit"}}
	for path, want := range map[string]bool{
		"fancy": true, "fancy/a.md": true, "python/a.py": true, "python/subdir/a.py": true, "file.txt": true,
		"fancy_file.txt": false, "python/a.txt": false, "": false,
	} {
		if _, got := rule.Match(path); got != want {
			t.Errorf("%q: %v", path, got)
		}
	}
	f, err := Parse("r", "fancy/ # c\n@fancy\n;\n\t\t  \nfoobar.txt\n@foobar\n;\nskip.txt\n;")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"fancy/file.txt": "fancy", "foobar.txt": "foobar", "skip.txt": "", "other": "fancy foobar"} {
		if got := f.explain(path); strings.Join(got.Tags, " ") != want {
			t.Errorf("%s emits %v, want %s", path, got.Tags, want)
		}
	}
	if _, _, ok := f.Match("other"); ok {
		t.Error("a path that no rule is about matches")
	}
	if empty, err := Parse("r", ""); err != nil || len(empty.explain("x").Tags) != 0 {
		t.Errorf("%v, %v", empty, err)
	}
}

// TestRealFile reads the file of August 2025 as it is.
func TestRealFile(t *testing.T) {
	t.Parallel()
	f := parse(t, "../../../../test/data/ray/2025-08/ci/pipeline/test_rules.txt")
	if len(f.Rules) != 34 || f.Declared != nil {
		t.Fatalf("%d rules, declared %v", len(f.Rules), f.Declared)
	}
	for path, want := range map[string]string{
		"python/ray/data/__init__.py":          "data linux_wheels ml train",
		"python/ray/data/x/y.py":               "data linux_wheels ml train",
		"doc/source/llm/x.md":                  "llm",
		"doc/index.md":                         "",
		"doc/tutorial.rst":                     "doc",
		"doc/x/BUILD":                          "doc",
		"python/core.py":                       "dashboard data java linux_wheels macos_wheels ml python train tune",
		"python/requirements_compiled_py3.txt": "llm",
		"python/requirements/x.txt":            "dashboard data java linux_wheels macos_wheels ml python python_dependencies serve train tune workflow",
		"src/ray.cpp":                          "core_cpp cpp dashboard java linux_wheels macos_wheels python release_tests",
		"release/ray_release/x.py":             "tools",
		"release/release_tests.yaml":           "tools",
		"release/x.py":                         "release_tests",
		".github/CODEOWNERS":                   "",
		"ci/docker/doctest.build.Dockerfile":   "",
		".buildkite/macos.rayci.yml":           "macos_wheels",
	} {
		got := f.explain(path)
		slices.Sort(got.Tags)
		if strings.Join(got.Tags, " ") != want {
			t.Errorf("%s emits %q, want %q (%s)", path, got.Tags, want, got)
		}
	}
	if got := f.explain("BUILD.bazel"); got.Line != 0 || len(got.Tags) != len(f.All()) || len(got.Tags) != 26 {
		t.Errorf("what no rule is about emits %d of %d tags", len(got.Tags), len(f.All()))
	}
	// The real file has rules that can never match; they are told, not repaired.
	var lines []string
	for _, p := range f.Shadowed() {
		lines = append(lines, p.Text)
	}
	if len(lines) != 3 || !strings.Contains(strings.Join(lines, "\n"), "src/ray/core_worker/experimental*.h can never match: src/ at line") {
		t.Errorf("shadowed: %q", lines)
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"! a\nx/\n@ b\n;":          `r:3: tag "b" is not declared, expected one of a`,
		"x/\n@ a\n;\n! a\n":        "r:4: found a declaration after a rule",
		"x/\n! a\n":                "r:2: found a declaration after a rule",
		"! a a":                    `r:1: tag "a" is declared twice`,
		"@ a\n":                    "r:1: found tags before any path",
		"x/\n@ a\ny/\n@ b":         `r:3: found path "y/" after the tags of a rule`,
		strings.Repeat(" ", 1<<21): "expected at most",
	} {
		if _, err := Parse("r", text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.40q: %v, want %q", text, err, says)
		}
	}
	if _, err := Parse("r", "! a\nx/\n@ b\n;\n@ c\n"); err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("not all problems are told: %v", err)
	}
	if _, err := ParseSpec("s", "nothing\n: x\n"); err == nil || strings.Count(err.Error(), "expected \"path: tags\"") != 2 {
		t.Errorf("%v", err)
	}
	if got := Check(File{}, "s", nil); len(got) != 1 {
		t.Errorf("an empty specification is %v", got)
	}
	f, _ := Parse("r", "x/\n@ a\n;")
	got := Check(f, "s", []Spec{{3, "x/y", []string{"b"}}, {4, "x/y", []string{"a"}}})
	if len(got) != 1 || got[0].String() != `s:3: x/y is to emit "b"; x/y: r:1 matches it by x/: a` {
		t.Errorf("%v", got)
	}
}

func TestFnmatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"*", "a/b", true},
		{"*", "", true},
		{"a*c", "abc", true},
		{"a*c", "a/b/c", true},
		{"a*c", "ab", false},
		{"doc/*.py", "doc/.py", true},
		{"doc/*.py", "doc/a/b.py", true},
		{"doc/*.py", "doc.py", false},
		{"?", "a", true},
		{"?", "", false},
		{"?", "é", true},
		{"[ab]c", "bc", true},
		{"[!ab]c", "bc", false},
		{"[!ab]c", "dc", true},
		{"[a-c]", "b", true},
		{"[a-c]", "d", false},
		{"[]]", "]", true},
		{"[!]]", "]", false},
		{"[", "[", true},
		{"[a", "[a", true},
		{"[a-]", "-", true},
		{"**", "x", true},
		{"a*b*c", "aXbXbc", true},
		{"x", "xy", false},
		{"a[", "a[", true},
	} {
		if got := fnmatch(c.pattern, c.path); got != c.want {
			t.Errorf("%q on %q: %v", c.pattern, c.path, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(read(f, "testdata/prose.rules.txt"), "doc/x.md")
	f.Add("! a\nx/\n@ a\n;", "[")
	f.Fuzz(func(t *testing.T, text, path string) {
		file, err := Parse("r", text)
		if err != nil {
			return
		}
		all := file.All()
		got := file.explain(path)
		for _, tag := range got.Tags {
			if !slices.Contains(all, tag) {
				t.Errorf("emits %q, which is none of %q", tag, all)
			}
		}
		_ = file.Shadowed()
	})
}

func FuzzParseSpec(f *testing.F) {
	f.Add("a: b c\n# d\n")
	f.Fuzz(func(t *testing.T, text string) {
		specs, err := ParseSpec("s", text)
		if err == nil {
			_ = Check(File{}, "s", specs)
		}
	})
}

func FuzzFnmatch(f *testing.F) {
	f.Add("a*[!b-d]?", "a/x")
	f.Fuzz(func(t *testing.T, pattern, path string) {
		fnmatch(pattern, path)
		if !strings.ContainsAny(pattern, "*?[") && fnmatch(pattern, path) != (string([]rune(pattern)) == string([]rune(path))) {
			t.Errorf("%q on %q", pattern, path)
		}
	})
}
