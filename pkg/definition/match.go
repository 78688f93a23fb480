package definition

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/goccy/go-yaml/ast"
)

// Match is one expression of a pool: "os=linux", "gpu>=1", "docker".
type Match struct {
	Text   Text
	name   string
	op     string // "", "=", "!=", ">=", "<=", ">", "<"
	glob   string
	number float64
}

var matchPattern = regexp.MustCompile(`^\s*([A-Za-z][A-Za-z0-9_./-]*)\s*(?:(!=|>=|<=|==|=|>|<)\s*(.+?))?\s*$`)

func (m *Match) decode(d *decoder, n ast.Node) {
	m.Text.decode(d, n)
	parts := matchPattern.FindStringSubmatch(m.Text.Value)
	if parts == nil {
		d.fail(n, `write "os=linux", "gpu>=1" or a tag`, "expected a match expression, found %s", describe(n))
		return
	}
	m.name, m.op, m.glob = parts[1], strings.Replace(parts[2], "==", "=", 1), parts[3]
	var ok bool
	m.number, ok = parseQuantity(m.glob)
	if strings.ContainsAny(m.op, "<>") && !ok {
		d.fail(n, "", "expected a number after %s, found %q", m.op, shorten(m.glob, 40))
	}
	if !validGlob(m.glob) {
		d.fail(n, "", "expected a glob after %s, found %q", m.op, shorten(m.glob, 40))
	}
}

func (*Match) shape() shape {
	return shape{name: "match expression", schema: schemaNode{"type": "string", "pattern": `^\s*[A-Za-z]`}}
}

// traits is what pools match on: the resources, matrix, tags and names of one task.
type traits struct {
	resources map[string]float64
	matrix    map[string]string
	tags      []string
	names     map[string]string // job, kind, group
}

// holds reports whether the expression is true of a task, with what was found.
func (m *Match) holds(t *traits) (bool, string) {
	if m.op == "" {
		for _, tag := range t.tags {
			if tag == m.name {
				return true, "tag " + tag
			}
		}
		return false, "no tag " + m.name
	}
	values := t.values(m.name)
	if len(values) == 0 {
		return m.op == "!=", m.name + " is not stated"
	}
	found := m.name + " is " + strings.Join(values, ", ")
	for _, v := range values {
		if m.fits(v) {
			return m.op != "!=", found
		}
	}
	return m.op == "!=", found
}

// fits compares one value; "!=" asks as "=" does, and its answer is turned around by holds.
func (m *Match) fits(value string) bool {
	if m.op == "=" || m.op == "!=" {
		ok, _ := doublestar.Match(m.glob, value)
		return ok
	}
	v, ok := parseQuantity(value)
	switch {
	case !ok:
		return false
	case m.op == ">=":
		return v >= m.number
	case m.op == "<=":
		return v <= m.number
	case m.op == ">":
		return v > m.number
	default:
		return v < m.number
	}
}

func (t *traits) values(name string) []string {
	var out []string
	if v, ok := t.resources[name]; ok {
		out = append(out, strconv.FormatFloat(v, 'f', -1, 64))
	}
	if v, ok := t.matrix[name]; ok {
		out = append(out, v)
	}
	if v, ok := t.names[name]; ok && v != "" {
		out = append(out, v)
	}
	for _, tag := range t.tags {
		if k, v, found := strings.Cut(tag, "="); found && k == name {
			out = append(out, v)
		}
	}
	return out
}

const maxTried = 20 // pools that a problem names

// choosePool finds the first pool that takes a task, and why; what was tried when none does.
func choosePool(pools []Pool, t *traits) (*Pool, string) {
	var tried []string
	for i := range pools {
		p := &pools[i]
		fits, why := p.takes(t)
		if fits {
			return p, why
		}
		if len(tried) <= maxTried {
			tried = append(tried, p.Name.Value+" ("+why+")")
		}
	}
	return nil, enumerate(tried, maxTried)
}

func (p *Pool) takes(t *traits) (bool, string) {
	var reasons []string
	for i := range p.Match {
		m := &p.Match[i]
		ok, found := m.holds(t)
		if !ok {
			return false, fmt.Sprintf("%s: %s", m.Text.Value, found)
		}
		reasons = append(reasons, m.Text.Value)
	}
	if len(reasons) == 0 {
		return true, "it takes every task"
	}
	return true, strings.Join(reasons, " and ")
}
