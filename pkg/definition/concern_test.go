package definition_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/definition"
)

const ruled = `project: x
changed:
  - {paths: ["docs/**", "*.md"], jobs: []}
  - {paths: ["java/**"], jobs: [jar, jar-test]}
  - {paths: ["src/**"], jobs: [wheel]}
builds:
  wheel: {run: x}
  jar: {run: x}
tests:
  jar-test: {run: x}
gate: {require: [builds]}
`

func TestChangedRulesHaveATest(t *testing.T) {
	t.Parallel()
	def, err := definition.Parse("sluice.yaml", []byte(ruled))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"":                               "",
		"# a comment\n\n  # another\r\n": "",
		"docs/a.md:\nREADME.md:\njava/x/Y.java: jar-test jar\r\nsrc/a b:c.py : wheel\nMakefile: *\n": "",
		"docs/a.md: wheel":                  "1:1: the rule at sluice.yaml:3:5 says that docs/a.md concerns none; expected wheel",
		"\n  java/A.java: jar":              "2:3: the rule at sluice.yaml:4:5 says that java/A.java concerns jar jar-test; expected jar",
		"src/a.py: *":                       "1:1: the rule at sluice.yaml:5:5 says that src/a.py concerns wheel; expected every job",
		"Makefile: wheel jar jar-test":      "1:1: no rule matches Makefile, so it concerns every job; expected wheel jar jar-test",
		"src/a.py: whel":                    "1:11: unknown job whel (did you mean wheel?)",
		"src/a.py":                          `1:1: expected PATH: JOB.., "PATH: *" for every job, or "PATH:" for none, found "src/a.py" (docs/index.md: site)`,
		"/src/a.py: wheel":                  `1:1: expected PATH`,
		"a: * wheel":                        `1:1: expected PATH`,
		"src/a.py: wheel\nsrc/a.py: wheel":  "2:1: src/a.py is given twice, first in line 1",
		"a: \xff":                           "1:1: expected at most",
		"a:\x1b[31m":                        "1:3: unknown job",
		strings.Repeat("a", 1<<20) + "a: *": "1:1: expected at most",
	} {
		var said []string
		for _, p := range definition.CheckChanged(def, "sluice.changed.test", []byte(text)) {
			line := fmt.Sprintf("%d:%d: %s", p.Line, p.Column, p.Message)
			if p.Hint != "" {
				line += " (" + p.Hint + ")"
			}
			said = append(said, line)
		}
		if got := strings.Join(said, "\n"); got != want && !(want != "" && len(said) == 1 && strings.HasPrefix(got, want)) {
			t.Errorf("%.60q gives\n%s\nexpected\n%s", text, got, want)
		}
	}
}

// FuzzCheckChanged: whatever the text, the problems stand at places of it.
func FuzzCheckChanged(f *testing.F) {
	def, err := definition.Parse("sluice.yaml", []byte(ruled))
	if err != nil {
		f.Fatal(err)
	}
	f.Add("docs/a.md:\njava/x: jar jar-test\nx: *\n# y")
	f.Add("a\r\n: :\n:::\n\\: wheel")
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.Count(text, "\n") + 1
		for _, p := range definition.CheckChanged(def, "x", []byte(text)) {
			if p.Line < 1 || p.Line > lines || p.Column < 1 || p.Message == "" {
				t.Fatalf("%q gives %+v", text, p)
			}
		}
	})
}
