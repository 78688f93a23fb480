package definition

import (
	"reflect"
	"slices"
	"strconv"

	"github.com/goccy/go-yaml/ast"

	"github.com/sluiceci/sluice/pkg/release"
)

// Manual says what a manual run may be given.
type Manual struct {
	At         Pos
	Parameters Map[Parameter] `key:"parameters" doc:"What may be given, by name; anything else is refused. Conditions and templates read it as change.parameters.NAME, in every run." example:"{level: {default: low, choices: [low, high]}}"`
}

func (m *Manual) decode(d *decoder, n ast.Node) { d.object(n, reflect.ValueOf(m).Elem()) }
func (*Manual) shape() shape {
	return shape{name: "map", of: reflect.TypeFor[Manual](), schema: schemaNode{"$ref": "#/$defs/manual"}}
}

// Parameter is one of them.
type Parameter struct {
	At      Pos
	Type    ParameterType `key:"type" doc:"What its value is." default:"text" example:"number"`
	Default Text          `key:"default" doc:"Its value when it is not given; without a default it must be given." example:"low"`
	Choices List[Text]    `key:"choices" doc:"The values that it may have." default:"any" example:"[low, high]"`
	Doc     Text          `key:"doc" doc:"What it is for." example:"How much to test"`
}

// ParameterType is text, number or boolean.
type ParameterType struct{ choice }

func parameterTypes() []string                         { return []string{"text", "number", "boolean"} }
func (c *ParameterType) decode(d *decoder, n ast.Node) { c.take(d, n, parameterTypes()) }
func (*ParameterType) shape() shape                    { return choiceShape(parameterTypes()) }

// wrong says why a value is none of the parameter, or "".
func (p *Parameter) wrong(value string) (problem, hint string) {
	choices := Strings(p.Choices)
	_, notNumber := strconv.ParseFloat(value, 64)
	switch {
	case len(choices) > 0 && !slices.Contains(choices, value):
		return "expected one of " + enumerate(choices, 20), nearest(value, choices)
	case p.Type.Value == "number" && notNumber != nil:
		return "expected a number", ""
	case p.Type.Value == "boolean" && value != "true" && value != "false":
		return "expected true or false", ""
	}
	return "", ""
}

// parameterNames lists what a manual run or a schedule may give.
func (def *Definition) parameterNames() []string {
	names := map[string]bool{}
	for _, e := range def.Triggers.Manual.Parameters {
		names[e.Name] = true
	}
	for _, s := range def.Triggers.Schedule {
		for _, e := range s.With {
			names[e.Name] = true
		}
	}
	return keysOf(names)
}

// checkParameters checks the parameters of manual runs and of schedules.
func checkParameters(c *checker) {
	for _, e := range c.def.Triggers.Manual.Parameters {
		if !identifier.MatchString(e.Name) {
			c.fail(e.At, "", "expected a parameter's name of letters, digits and _, found %q", shorten(printable(e.Name), 60))
		}
		p := &e.Value
		for _, t := range append([]Text{p.Default}, p.Choices...) {
			if problem, hint := p.wrong(t.Value); t.At.Line > 0 && problem != "" {
				c.fail(t.At, hint, "%q is no value of parameter %s: %s", shorten(printable(t.Value), 60), e.Name, problem)
			}
		}
	}
	for _, s := range c.def.Triggers.Schedule {
		for _, e := range s.With {
			if !identifier.MatchString(e.Name) {
				c.fail(e.At, "", "expected a parameter's name of letters, digits and _, found %q", shorten(printable(e.Name), 60))
				continue
			}
			p, known := c.def.Triggers.Manual.Parameters.Get(e.Name)
			if !known {
				continue
			}
			if problem, hint := p.wrong(e.Value.Value); problem != "" {
				c.fail(e.Value.At, hint, "%q is no value of parameter %s: %s", shorten(printable(e.Value.Value), 60), e.Name, problem)
			}
		}
	}
}

// accept checks the parameters of a manual run, and gives a scheduled one those of its schedule. The plan's change has
// what was given, and the defaults of the rest.
func (r *resolver) accept() {
	c := &r.req.Change
	switch m := r.def.Triggers.Manual; {
	case c.Kind == release.Schedule:
		for _, s := range r.def.Triggers.Schedule {
			if name := c.Parameters["schedule"]; name == s.Name.Value || name == "" {
				with := textMap(s.With)
				with["schedule"] = s.Name.Value
				c.Parameters = r.variables(with, c.Parameters)
				break
			}
		}
	case c.Kind == release.Manual && m.At.Line > 0 && c.Verified != release.Local:
		r.acceptManual(m)
	}
	r.plan.Change = *c
}

func (r *resolver) acceptManual(m Manual) {
	given := r.variables(r.req.Change.Parameters)
	for _, name := range keysOf(given) {
		p, known := m.Parameters.Get(name)
		if !known {
			r.refuse("parameter "+shorten(printable(name), 60), nearest(name, m.Parameters.Names()), "there is no such parameter%s", amongKeysOf(m.Parameters.Names()))
			continue
		}
		if problem, hint := p.wrong(given[name]); problem != "" {
			r.refuse("parameter "+name, hint, "%q is not what it may be: %s", shorten(printable(given[name]), 60), problem)
		}
	}
	for _, e := range m.Parameters {
		if _, ok := given[e.Name]; ok {
			continue
		}
		if e.Value.Default.At.Line == 0 {
			r.refuse("parameter "+e.Name, "", "it must be given: it has no default")
			continue
		}
		given = r.variables(given, map[string]string{e.Name: e.Value.Default.Value})
	}
	r.req.Change.Parameters = given
}

func amongKeysOf(names []string) string {
	if len(names) == 0 {
		return ": the definition has none"
	}
	return ", expected one of " + enumerate(names, 20)
}

// parameters are those of the change, and in every run the defaults of those that it was not given.
func (r *resolver) parameters() map[string]string {
	if r.given == nil {
		r.given = map[string]string{}
		for _, e := range r.def.Triggers.Manual.Parameters {
			r.given[e.Name] = e.Value.Default.Value
		}
		for k, v := range r.req.Change.Parameters {
			r.given[k] = v
		}
	}
	return r.given
}
