package definition

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Concerned tells which jobs a changed path concerns by the rules of changed, without what those need. The rule is the
// place of the one that said so, the first that matches; no rule matches where it has no line, and then the path concerns
// every job.
func Concerned(def *Definition, path string) (jobs []string, rule Pos) {
	i := slices.IndexFunc(def.Changed, func(r Rule) bool { return matchesAny(r.Paths, path) })
	if i < 0 {
		for _, list := range []Map[Job]{def.Builds, def.Tests} {
			jobs = append(jobs, list.Names()...)
		}
		return jobs, Pos{}
	}
	return Strings(def.Changed[i].Jobs), def.Changed[i].At
}

// The bounds of a test of changed.
const (
	maxTestSize  = 1 << 20 // bytes
	everything   = "*"
	testExpected = `expected PATH: JOB.., "PATH: *" for every job, or "PATH:" for none`
)

// CheckChanged runs the test of a definition's changed rules: lines of a path and the jobs that the rules are to name for
// it, "docs/index.md: site". What follows a # at the beginning of a line is a comment. It returns every line that is
// wrong or does not hold.
func CheckChanged(def *Definition, file string, text []byte) Errors {
	s := newSource(file, string(text))
	if len(text) > maxTestSize || !utf8.Valid(text) {
		s.fail(Pos{Line: 1, Column: 1}, "", "expected at most %d bytes of UTF-8, found %d bytes", maxTestSize, len(text))
		return s.problems
	}
	seen := map[string]int{}
	for i, line := range s.lines {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") || s.full() {
			continue
		}
		at := s.find(Pos{Line: i + 1, Column: 1}, line)
		path, expected, ok := testLine(line)
		switch before := seen[path]; {
		case !ok:
			s.fail(at, "docs/index.md: site", "%s, found %q", testExpected, shorten(printable(line), 60))
			continue
		case before > 0:
			s.fail(at, "", "%s is given twice, first in line %d", shorten(printable(path), 60), before)
			continue
		}
		seen[path] = i + 1
		if testJobs(def, s, at, expected) {
			holds(def, s, at, path, expected)
		}
	}
	return s.problems
}

// testLine splits a line at its last colon: a path may hold others.
func testLine(line string) (path string, jobs []string, ok bool) {
	end := strings.LastIndexByte(line, ':')
	if end < 0 {
		return "", nil, false
	}
	path, jobs = strings.TrimSpace(line[:end]), strings.Fields(line[end+1:])
	ok = path != "" && !strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "./") && !strings.Contains(path, "\\") &&
		(len(jobs) < 2 || !slices.Contains(jobs, everything))
	return path, jobs, ok
}

// testJobs checks that the jobs of a line exist.
func testJobs(def *Definition, s *source, at Pos, jobs []string) bool {
	known := append(def.Builds.Names(), def.Tests.Names()...)
	ok := true
	for _, job := range jobs {
		if job != everything && !slices.Contains(known, job) {
			s.fail(s.find(at, job), nearest(job, known), "unknown job %s", shorten(printable(job), 60))
			ok = false
		}
	}
	return ok
}

// holds compares what the rules say of a path with what was expected.
func holds(def *Definition, s *source, at Pos, path string, expected []string) {
	found, rule := Concerned(def, path)
	said := fmt.Sprintf("no rule matches %s, so it concerns every job", shorten(printable(path), 60))
	if rule.Line > 0 {
		said = fmt.Sprintf("the rule at %s:%d:%d says that %s concerns %s", def.source.fileOf(rule), rule.Line, rule.Column,
			shorten(printable(path), 60), enumerated(found))
	}
	every := rule.Line == 0
	if slices.Contains(expected, everything) {
		if !every {
			s.fail(at, "", "%s; expected every job", said)
		}
		return
	}
	if every || !sameNames(found, expected) {
		s.fail(at, "", "%s; expected %s", said, enumerated(expected))
	}
}

func enumerated(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, " ")
}

func sameNames(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(slices.Compact(a), slices.Compact(b))
}
