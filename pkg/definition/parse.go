package definition

import (
	"context"
	"path"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/sluiceci/sluice/pkg/release"
)

// Parse reads a definition that includes nothing; see Load.
func Parse(file string, src []byte) (*Definition, error) {
	return Load(context.Background(), file, src, Options{})
}

// Load reads a definition and all that it includes, and checks everything that can be checked without a change: the
// error is an Errors with every problem, or what kept the loader from reading. The file's name is only for messages.
func Load(ctx context.Context, file string, src []byte, options Options) (*Definition, error) {
	s := newSource(file, string(src))
	l := &loading{ctx: ctx, options: options, seen: map[string]bool{}, texts: map[string][]byte{}}
	base := path.Dir(strings.ReplaceAll(file, `\`, "/"))
	def := l.decode(s, where{base: base, chain: []string{file}}, false)
	if l.failed != nil {
		return nil, l.failed
	}
	if def == nil {
		return nil, s.problems.orNil()
	}
	def.Digest, def.source, def.targets = release.DigestOf(src), s, options.Targets
	if len(l.digests) > 0 {
		def.Files = l.digests
		def.Digest = release.DigestOf([]byte(string(def.Digest) + "\n" + strings.Join(l.digests, "\n")))
	}
	def.presets = make(map[string]*Preset, len(def.Presets))
	for i := range def.Presets {
		def.presets[def.Presets[i].Name] = &def.Presets[i].Value
	}
	if !s.full() && def.extend(s) {
		check(def, s)
	}
	if err := s.problems.orNil(); err != nil {
		return nil, err
	}
	return def, nil
}

// decode reads one text and what it includes; nil when there is nothing that could be checked further.
func (l *loading) decode(s *source, from where, part bool) *Definition {
	body := parseText(s)
	if body == nil {
		return nil
	}
	d := &decoder{source: s, anchors: map[string]ast.Node{}, part: part, options: &l.options}
	ast.Walk(anchorCollector{d}, body)
	def := &Definition{}
	d.into(body, def)
	if d.refused || s.full() {
		return nil
	}
	def.Include = append(def.Include, d.lifted...)
	l.environments(def, s, from)
	for i := range def.Include {
		if in := &def.Include[i]; in.dialect != "" {
			l.suite(def, s, in, from)
		} else {
			l.include(def, s, in, from)
		}
	}
	return def
}

// anchorCollector remembers every anchor; one name means one thing in a text.
type anchorCollector struct{ d *decoder }

// Visit implements ast.Visitor.
func (c anchorCollector) Visit(n ast.Node) ast.Visitor {
	if a, ok := n.(*ast.AnchorNode); ok {
		name := a.Name.GetToken().Value
		if _, twice := c.d.anchors[name]; twice {
			c.d.fail(a, "", "anchor &%s is given twice", shorten(name, 40))
		}
		c.d.anchors[name] = a.Value
	}
	return c
}
