package ray

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/dialect/ray/pyyaml"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// Environment is a named set of variables: a file "aws.env" of NAME=VALUE.
type Environment struct {
	Name      string
	Variables map[string]string
}

// ParseEnvironment reads a *.env file. Comments that take a whole line and blank lines are allowed; quotes around a value
// are taken off.
func ParseEnvironment(file, content string) (Environment, error) {
	e := Environment{Name: strings.TrimSuffix(path.Base(file), ".env"), Variables: map[string]string{}}
	var found Problems
	number := 0
	for line := range strings.SplitSeq(strings.TrimPrefix(content, "\ufeff"), "\n") {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if name = strings.TrimSpace(name); !ok || !variable(name) {
			found = append(found, Problem{
				File: file, Line: number, Column: 1,
				Message: "expected NAME=VALUE, found " + pyyaml.ReprString(cut(line, 80)),
			})
			continue
		}
		e.Variables[name] = strings.Trim(strings.TrimSpace(value), `"`)
	}
	return e, found.orNil()
}

// variable reports whether a shell takes s as the name of a variable.
func variable(s string) bool {
	ok := func(i int, c rune) bool {
		return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && c >= '0' && c <= '9'
	}
	for i, c := range s {
		if !ok(i, c) {
			return false
		}
	}
	return s != ""
}

func cut(s string, n int) string {
	if runes := []rune(s); len(runes) > n {
		return string(runes[:n]) + "…"
	}
	return s
}

// environments reads all environments beside the first test file. That there are none is no problem.
func (im *importer) environments(first string, tests []raw) {
	dir := im.options.Environments
	if dir == "" {
		dir = beside(first, "ray_release/environments")
	}
	im.suite.Environments = map[string]Environment{}
	entries, err := fs.ReadDir(im.files, dir)
	if err == nil {
		for _, entry := range entries {
			if !entry.IsDir() && path.Ext(entry.Name()) == ".env" {
				im.environment(path.Join(dir, entry.Name()))
			}
		}
		return
	}
	if im.options.Environments != "" {
		im.fail(pyyaml.Pos{File: dir}, "", "cannot read the environments: %s", reason(err))
	}
	for _, name := range guesses(tests) {
		if _, err := readFile(im.files, path.Join(dir, name+".env")); err == nil {
			im.environment(path.Join(dir, name+".env"))
		}
	}
}

// guesses are the environments to look for where files can be opened but directories not listed: those that tests name, and
// those that Ray has had.
func guesses(tests []raw) []string {
	names := map[string]bool{"aws": true, "aws_perf": true, "gce": true, "prod": true, "staging": true}
	for _, r := range tests {
		for _, n := range []*pyyaml.Node{r.node.Get("env"), lookup(r.node, "smoke_test", "env")} {
			if n != nil && n.Kind == pyyaml.String && release.Token(n.Text) {
				names[n.Text] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func (im *importer) environment(file string) {
	content, err := readFile(im.files, file)
	if err != nil {
		im.fail(pyyaml.Pos{File: file}, "", "cannot read the environment: %s", reason(err))
		return
	}
	e, err := ParseEnvironment(file, content)
	var found Problems
	if errors.As(err, &found) {
		im.problems = append(im.problems, found...)
	}
	im.suite.Environments[e.Name] = e
}

// ChooseEnvironment returns the environment of a test: the one that is asked for, else the test's own, which is "aws" unless
// it says otherwise (t may be nil). A suite without environment files has only names.
func (s *Suite) ChooseEnvironment(asked string, t *Test) (Environment, error) {
	name := asked
	switch {
	case name == "" && t != nil:
		name = t.Env
	case name == "":
		name = DefaultEnvironment
	}
	e, known := s.Environments[name]
	if !known && len(s.Environments) > 0 {
		return e, fault.New(fault.Invalid, "Unknown environment with name: %s; expected one of %s",
			name, strings.Join(slices.Sorted(maps.Keys(s.Environments)), ", "))
	}
	if !known {
		e = Environment{Name: name}
	}
	return e, nil
}

// Layer lays sets of variables over each other; the last one that has a name gives its value. For a test they are: what the
// process has, the environment's file, what the caller sets for this run.
func Layer(sets ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, set := range sets {
		maps.Copy(out, set)
	}
	return out
}
