package definition

import (
	"slices"
	"strings"
)

// condition compiles a condition and checks that it reads only what its place has.
func (c *checker) condition(t Text, matrix []string) {
	if t.At.Line == 0 {
		return
	}
	cond := c.conditions.compile(t.Value)
	if cond.problem != "" {
		c.fail(c.within(t, cond.offset), "", "cannot read condition: %s", shorten(printable(cond.problem), 300))
		return
	}
	for _, name := range cond.reads {
		short := strings.TrimPrefix(name, "matrix.")
		if slices.Contains(c.def.matrixKeys(), short) && !slices.Contains(matrix, short) {
			c.fail(c.find(t.At, short), "", "the condition reads %s, which is no key of this matrix: %s", name, enumerate(matrix, 20))
		}
	}
}

// within is the place in the text of an offset in a scalar; exact for a scalar on one line.
func (c *checker) within(t Text, offset Pos) Pos {
	lines := strings.Split(t.Value, "\n")
	if offset.Line < 0 || offset.Line >= len(lines) {
		return t.At
	}
	start := c.find(t.At, strings.TrimSpace(lines[offset.Line]))
	return Pos{Line: start.Line, Column: start.Column + offset.Column}
}

// template checks that every name of a template exists.
func (c *checker) template(t Text, matrix []string) {
	if !strings.Contains(t.Value, openMark) {
		return
	}
	for _, p := range parseTemplate(c.source, t).parts {
		if p.name != "" {
			c.name(p, matrix)
		}
	}
}

func (c *checker) name(p part, matrix []string) {
	if path, ok := strings.CutPrefix(p.name, "settings."); ok {
		found, missing, valid := c.def.Settings.lookup(path)
		switch {
		case found == nil:
			c.fail(p.at, nearest(missing, valid), "unknown setting %s%s", missing, unknownAmong(valid))
		case found.Map:
			c.fail(p.at, "", "settings.%s is a map, expected one value", path)
		}
		return
	}
	valid := templateNames(matrix)
	if !slices.Contains(valid, p.name) {
		c.fail(p.at, firstOf(nearest(p.name, valid), literalHint), "unknown name {{ %s }}, expected one of %s or settings.NAME",
			shorten(printable(p.name), 60), enumerate(valid, 30))
	}
}

// templateNames lists what a template may name, besides settings.
func templateNames(matrix []string) []string {
	out := append([]string(nil), matrix...)
	out = append(out, prefixed("matrix.", matrix)...)
	out = append(out, prefixed("change.", changeNames())...)
	return append(append(out, keysOf(shortForms())...), "project", "environment")
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
