package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
)

// Rule is one block of a file.
type Rule struct {
	Line     int // of its first path
	Dirs     []string
	Files    []string
	Patterns []string
	Tags     []string // in the order written
}

// File is a file of rules.
type File struct {
	Name     string
	Declared []string // nil when it declares none
	Rules    []Rule
}

// Problem is what is wrong at a line.
type Problem struct {
	File string
	Line int
	Text string
}

func (p Problem) String() string { return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text) }

// maxFile is the most bytes that a file of rules may have; the largest real one has some ten thousand.
const maxFile = 1 << 20

// Parse reads a file of rules and says everything that is wrong with it.
func Parse(name, text string) (File, error) {
	p := parser{file: File{Name: name}}
	if len(text) > maxFile {
		return File{}, fault.New(fault.Invalid, "cannot read rules %s: it has %d bytes, expected at most %d", name, len(text), maxFile)
	}
	n := 0
	for line := range strings.Lines(text) {
		n++
		p.line(n, line)
	}
	p.end()
	if len(p.problems) > 0 {
		return File{}, invalid("rules", p.problems)
	}
	return p.file, nil
}

// invalid is one error of all problems.
func invalid(what string, problems []Problem) error {
	lines := make([]string, 0, len(problems))
	for _, p := range problems {
		lines = append(lines, p.String())
	}
	return fault.New(fault.Invalid, "cannot read %s: %s", what, strings.Join(lines, "\n"))
}

type parser struct {
	file     File
	rule     Rule
	tagged   bool // the rule has a line of tags
	problems []Problem
}

func (p *parser) say(line int, format string, args ...any) {
	p.problems = append(p.problems, Problem{p.file.Name, line, fmt.Sprintf(format, args...)})
}

// line takes one line, without its comment.
func (p *parser) line(n int, line string) {
	line, _, _ = strings.Cut(line, "#")
	line = strings.TrimSpace(line)
	switch {
	case line == "":
	case line == ";":
		p.end()
	case line[0] == '!':
		p.declare(n, strings.Fields(line[1:]))
	case line[0] == '@':
		p.tag(n, strings.Fields(line[1:]))
	default:
		p.path(n, line)
	}
}

func (p *parser) declare(n int, tags []string) {
	if len(p.file.Rules) > 0 || p.rule.Line > 0 {
		p.say(n, "found a declaration after a rule, expected all at the beginning")
	}
	if p.file.Declared == nil {
		p.file.Declared = []string{}
	}
	for _, tag := range tags {
		if slices.Contains(p.file.Declared, tag) {
			p.say(n, "tag %q is declared twice", tag)
			continue
		}
		p.file.Declared = append(p.file.Declared, tag)
	}
}

func (p *parser) tag(n int, tags []string) {
	if p.rule.Line == 0 {
		p.say(n, "found tags before any path, expected a path first")
	}
	p.tagged = true
	for _, tag := range tags {
		if p.file.Declared != nil && !slices.Contains(p.file.Declared, tag) {
			p.say(n, "tag %q is not declared, expected one of %s", tag, strings.Join(p.file.Declared, ", "))
			continue
		}
		if !slices.Contains(p.rule.Tags, tag) {
			p.rule.Tags = append(p.rule.Tags, tag)
		}
	}
}

func (p *parser) path(n int, text string) {
	if p.tagged {
		p.say(n, "found path %q after the tags of a rule, expected \";\" before the next rule", text)
		p.end()
	}
	if p.rule.Line == 0 {
		p.rule.Line = n
	}
	switch dir, isDir := strings.CutSuffix(text, "/"); {
	case strings.ContainsAny(text, "*?["):
		p.rule.Patterns = append(p.rule.Patterns, text)
	case isDir && dir != "":
		p.rule.Dirs = append(p.rule.Dirs, dir)
	default:
		p.rule.Files = append(p.rule.Files, text)
	}
}

// end closes the rule that is open, if one is.
func (p *parser) end() {
	if p.rule.Line > 0 {
		p.file.Rules = append(p.file.Rules, p.rule)
	}
	p.rule, p.tagged = Rule{}, false
}
