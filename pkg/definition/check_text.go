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
		c.unreadable(t, cond)
		return
	}
	for _, name := range cond.reads {
		short := strings.TrimPrefix(name, "matrix.")
		if slices.Contains(c.matrixKeys, short) && !slices.Contains(matrix, short) {
			c.fail(c.find(t.At, short), nearest(short, matrix), "the condition reads %s, which is no matrix key here", name)
		}
	}
}

// unreadable says what is wrong with a condition; of an unknown name, the whole name and the nearest that there is.
func (c *checker) unreadable(t Text, cond *condition) {
	at := c.within(t, cond.offset)
	if name := cond.unknown(t.Value); name != "" {
		c.fail(at, nearest(name, c.conditions.names), "the condition reads %s, which is nothing that conditions know", shorten(printable(name), 60))
		return
	}
	c.fail(at, "", "cannot read condition: %s", shorten(printable(cond.problem), 300))
}

// within is the place in the text of an offset in a scalar; exact for a scalar on one line.
func (c *checker) within(t Text, offset Pos) Pos {
	lines := strings.Split(t.Value, "\n")
	if offset.Line < 0 || offset.Line >= len(lines) {
		return t.At
	}
	start := c.find(t.At, strings.TrimSpace(lines[offset.Line]))
	return Pos{start.Line, start.Column + offset.Column, start.in}
}

// template checks that every name of a template exists.
func (c *checker) template(t Text, matrix, sequence []string) {
	if !strings.Contains(t.Value, openMark) {
		return
	}
	valid := append(templateNames(matrix), c.parameters...)
	for _, p := range parseTemplate(c.source, t).parts {
		if p.name != "" && !c.full() {
			c.name(p, valid, sequence)
		}
	}
}

func (c *checker) name(p part, valid, sequence []string) {
	if path, ok := strings.CutPrefix(p.name, "settings."); ok {
		found, problem, hint := c.def.Settings.lookup(path)
		switch {
		case found == nil:
			c.fail(c.place(p), hint, "%s", problem)
		case found.Map:
			c.fail(c.place(p), "", "settings.%s is a map, expected one value", path)
		}
		return
	}
	if slices.Contains(sequence, strings.TrimPrefix(p.name, "matrix.")) {
		c.fail(c.place(p), "read it from the environment: \"$"+p.name+"\"", "{{ %s }} is a key of the sequence: it differs while the task runs", p.name)
		return
	}
	if !slices.Contains(valid, p.name) {
		c.fail(c.place(p), firstOf(nearest(p.name, valid), literalHint), "unknown name {{ %s }}, expected one of %s or settings.NAME",
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
