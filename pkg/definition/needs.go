package definition

import (
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/sluiceci/sluice/pkg/release"
)

// Needs is a list of jobs, or a map of jobs and artifacts.
type Needs struct {
	Jobs      List[Text] `key:"jobs" doc:"Jobs to wait for, with all their artifacts." example:"[lock]"`
	Artifacts List[Text] `key:"artifacts" doc:"Artifacts to wait for: JOB.TYPE." example:"[jar.native]"`
}

func (v *Needs) decode(d *decoder, n ast.Node) {
	_, scalar := scalarText(n)
	if _, list := n.(*ast.SequenceNode); list || scalar {
		v.Jobs.decode(d, n)
		return
	}
	d.object(n, reflect.ValueOf(v).Elem())
}

func (*Needs) shape() shape {
	return either("list of job names, or map", "needs", List[Text]{}, Needs{})
}

// Output is one type of artifact that a task leaves: a glob, or a map.
type Output struct {
	At        Pos
	Path      Text `key:"path" doc:"Glob below the workspace; a match that is a directory becomes one artifact." required:"true" example:"dist/*.whl"`
	StampIn   Text `key:"stamp_in" doc:"Glob of the archive's entries that carry the commit; any entry when absent." example:"rayish/_commit.py"`
	Optional  Bool `key:"optional" doc:"No match is not an error." default:"false" example:"true"`
	MediaType Text `key:"media_type" doc:"Media type of the artifact." example:"application/java-archive"`
}

func (v *Output) decode(d *decoder, n ast.Node) {
	v.At = d.at(n)
	if _, scalar := scalarText(n); scalar {
		v.Path.decode(d, n)
		return
	}
	d.object(n, reflect.ValueOf(v).Elem())
}

func (*Output) shape() shape { return either("glob, or map", "output", Text{}, Output{}) }

// Timeout bounds the phases of a task: a duration of the command, or a map.
type Timeout struct {
	Queue   Duration `key:"queue" doc:"From requested to started." example:"2h"`
	Prepare Duration `key:"prepare" doc:"Workspace, inputs and prepare." example:"5m"`
	Command Duration `key:"command" doc:"The command itself." default:"1h" example:"10m"`
	Cleanup Duration `key:"cleanup" doc:"What runs after, whatever happened." example:"1m"`
}

func (v *Timeout) decode(d *decoder, n ast.Node) {
	if _, scalar := scalarText(n); scalar {
		v.Command.decode(d, n)
		return
	}
	d.object(n, reflect.ValueOf(v).Elem())
}

func (*Timeout) shape() shape { return either("duration, or map", "timeout", Duration{}, Timeout{}) }

// Retry is how often and how soon attempts of one class are made again: a limit, or a map.
type Retry struct {
	Limit Int      `key:"limit" doc:"Attempts beyond the first." required:"true" example:"2"`
	Wait  Duration `key:"wait" doc:"Before the first retry; doubles with each." default:"5s" example:"30s"`
	Max   Duration `key:"max" doc:"The longest wait." default:"1m" example:"10m"`
}

const maxRetries = 100

func (v *Retry) decode(d *decoder, n ast.Node) {
	if _, scalar := scalarText(n); scalar {
		v.Limit.decode(d, n)
	} else {
		d.object(n, reflect.ValueOf(v).Elem())
	}
	if v.Limit.Value < 0 || v.Limit.Value > maxRetries {
		d.source.fail(v.Limit.At, "", "expected a limit between 0 and %d, found %d", maxRetries, v.Limit.Value)
	}
}

func (*Retry) shape() shape { return either("limit, or map", "retry", Int{}, Retry{}) }

// Retries are the retries of a job by class.
type Retries struct{ Map[Retry] }

func (v *Retries) decode(d *decoder, n ast.Node) {
	v.Map.decode(d, n)
	for _, e := range v.Map {
		if !slices.Contains(retryClasses(), e.Name) {
			d.source.fail(e.At, nearest(e.Name, retryClasses()), "unknown class %q, expected one of %s",
				shorten(printable(e.Name), 60), strings.Join(retryClasses(), ", "))
		}
	}
}

func (v *Retries) shape() shape {
	s := v.Map.shape()
	s.name = "map of class to limit, or to map"
	s.schema["propertyNames"] = schemaNode{"enum": retryClasses()}
	return s
}

// retryClasses are those whose attempts can be made again.
func retryClasses() []string {
	var out []string
	for _, c := range release.Classes() {
		if c != release.ClassOK && c != release.ClassCancelled {
			out = append(out, string(c))
		}
	}
	return out
}

// either is the shape of a value that is short, or a map with the keys of long.
func either(name, def string, short, long any) shape {
	t := reflect.TypeOf(long)
	return shape{name: name, of: t, schema: schemaNode{"anyOf": []schemaNode{
		shapeOf(reflect.TypeOf(short)).schema, {"$ref": "#/$defs/" + def},
	}}}
}

// choice is one of a few words.
type choice struct {
	Value string
	At    Pos
}

func (c *choice) take(d *decoder, n ast.Node, valid []string) {
	c.At = d.at(n)
	text, _ := scalarText(n)
	for _, v := range valid {
		if v == text {
			c.Value = text
			return
		}
	}
	d.fail(n, nearest(text, valid), "expected %s, found %s", orList(valid), describe(n))
}

func orList(valid []string) string {
	switch len(valid) {
	case 0:
		return "nothing"
	case 1:
		return valid[0]
	}
	out := valid[0]
	for _, v := range valid[1 : len(valid)-1] {
		out += ", " + v
	}
	return out + " or " + valid[len(valid)-1]
}

func choiceShape(valid []string) shape {
	return shape{name: orList(valid), schema: schemaNode{"enum": valid}}
}

// Checkout is commit or none.
type Checkout struct{ choice }

func checkouts() []string                         { return []string{"commit", "none"} }
func (c *Checkout) decode(d *decoder, n ast.Node) { c.take(d, n, checkouts()) }
func (*Checkout) shape() shape                    { return choiceShape(checkouts()) }

// TargetKind is what a target is.
type TargetKind struct{ choice }

func targetKinds() []string                         { return []string{"pypi", "pypi-index", "maven", "oci"} }
func (c *TargetKind) decode(d *decoder, n ast.Node) { c.take(d, n, targetKinds()) }
func (*TargetKind) shape() shape                    { return choiceShape(targetKinds()) }

// GateKind is a kind of change that a definition can let publish; which of them may is for release to say.
type GateKind struct{ choice }

func gateKinds() []string {
	return []string{string(release.Push), string(release.Tag), string(release.Manual)}
}
func (c *GateKind) decode(d *decoder, n ast.Node) { c.take(d, n, gateKinds()) }
func (*GateKind) shape() shape                    { return choiceShape(gateKinds()) }

// Stamp is commit, or absent.
type Stamp struct{ choice }

func stamps() []string                         { return []string{"commit"} }
func (c *Stamp) decode(d *decoder, n ast.Node) { c.take(d, n, stamps()) }
func (*Stamp) shape() shape                    { return choiceShape(stamps()) }
