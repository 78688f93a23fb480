package definition

import (
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/sluiceci/sluice/pkg/release"
)

// Timeout bounds the phases of a task: a duration of the command, or a map.
type Timeout struct {
	Queue   Duration `key:"queue" doc:"From requested to started." example:"2h"`
	Prepare Duration `key:"prepare" doc:"Workspace, inputs and prepare." example:"5m"`
	Nodes   Duration `key:"nodes" doc:"Until every node of the lease is ready." example:"15m"`
	Command Duration `key:"command" doc:"The command itself." default:"1h" example:"10m"`
	Cleanup Duration `key:"cleanup" doc:"What runs after, whatever happened." example:"1m"`

	Disconnect Duration `key:"disconnect" doc:"How long its executor may be out of reach before the attempt counts as lost and is made again." example:"10m"`
}

func (v *Timeout) decode(d *decoder, n ast.Node) { d.shortOr(n, &v.Command, v) }

func (*Timeout) shape() shape { return either("duration, or map", "timeout", Duration{}, Timeout{}) }

// Retry is how often and how soon attempts of one class are made again: a limit, or a map.
type Retry struct {
	Limit   Int      `key:"limit" doc:"Attempts beyond the first." required:"true" example:"2"`
	Wait    Span     `key:"wait" doc:"Before the first retry; or a range such as \"30m..90m\", from which each wait is drawn." default:"5s" example:"30s"`
	Max     Duration `key:"max" doc:"The longest wait." default:"1m" example:"10m"`
	Backoff Backoff  `key:"backoff" doc:"How the waits follow each other: exponential doubles up to max, fixed is always wait, random is anything from wait to max." default:"exponential" example:"fixed"`
}

const maxRetries = 100

func (v *Retry) decode(d *decoder, n ast.Node) {
	d.shortOr(n, &v.Limit, v)
	if v.Limit.Value < 0 || v.Limit.Value > maxRetries {
		d.source.fail(v.Limit.At, "", "expected a limit between 0 and %d, found %d", maxRetries, v.Limit.Value)
	}
	random := v.Backoff.Value == string(release.Random)
	switch {
	case v.Wait.Range && v.Max.Set:
		d.source.fail(v.Max.At, "remove max, or write wait as one duration", "the range of wait says the longest wait already")
	case v.Wait.Range && v.Backoff.Value != "" && !random:
		d.source.fail(v.Backoff.At, "remove backoff, or write wait as one duration", "the waits of a range are random, found backoff %s", v.Backoff.Value)
	case random && v.Max.Set && v.Max.Value < v.Wait.From:
		d.source.fail(v.Max.At, "", "max is shorter than wait: there is nothing to draw from")
	}
}

func (*Retry) shape() shape { return either("limit, or map", "retry", Int{}, Retry{}) }

// Span is a duration, or a range of durations: "30m..90m".
type Span struct {
	At       Pos
	Set      bool
	Range    bool
	From, To release.Duration
}

func (v *Span) decode(d *decoder, n ast.Node) {
	text, _ := scalarText(n)
	from, to, isRange := strings.Cut(text, "..")
	v.At, v.Range = d.at(n), isRange
	var low, high Duration
	low.read(d, n, from)
	if isRange {
		high.read(d, n, to)
		if high.Set && high.Value < low.Value {
			d.fail(n, "", "expected a range from the shorter to the longer wait, found %s", describe(n))
		}
	}
	v.Set, v.From, v.To = low.Set, low.Value, high.Value
}

func (*Span) shape() shape {
	return shape{name: "duration, or range", schema: schemaNode{
		"type": "string", "pattern": spanPattern,
	}}
}

// Backoff is how waits follow each other.
type Backoff struct{ choice }

func backoffs() []string {
	return []string{string(release.Exponential), string(release.Fixed), string(release.Random)}
}
func (c *Backoff) decode(d *decoder, n ast.Node) { c.take(d, n, backoffs()) }
func (*Backoff) shape() shape                    { return choiceShape(backoffs()) }

// Retries are the retries of a job by class, and what exit statuses say of the class.
type Retries struct {
	Map[Retry]
	Exit Map[ExitClass]
}

// exitKey is no class: below it, exit statuses stand with their classes.
const exitKey = "exit"

func (v *Retries) decode(d *decoder, n ast.Node) {
	found, ok := d.entries(n, "a map")
	if !ok {
		return
	}
	for _, e := range found {
		if e.name == exitKey {
			d.into(e.value, &v.Exit)
			v.checkExits(d)
			continue
		}
		one := Entry[Retry]{Name: e.name, At: e.at}
		d.into(e.value, &one.Value)
		v.Map = append(v.Map, one)
	}
	for _, e := range v.Map {
		if !slices.Contains(retryClasses(), e.Name) {
			d.source.fail(e.At, nearest(e.Name, retryClasses()), "unknown class %q, expected one of %s",
				shorten(printable(e.Name), 60), strings.Join(retryClasses(), ", "))
		}
	}
}

func (v *Retries) shape() shape {
	s := v.Map.shape()
	s.name = "map of class to limit, or to map; exit: map of status to class"
	s.schema["propertyNames"] = schemaNode{"enum": append(retryClasses(), exitKey)}
	s.schema["properties"] = schemaNode{exitKey: schemaNode{
		"type": "object", "additionalProperties": shapeOf(reflect.TypeFor[ExitClass]()).schema,
		"propertyNames": schemaNode{"pattern": "^[0-9]{1,3}(-[0-9]{1,3})?$"},
	}}
	return s
}

// checkExits holds statuses to what they can be, and to one class each.
func (v *Retries) checkExits(d *decoder) {
	var before []Entry[ExitClass]
	for _, e := range v.Exit {
		from, to, err := release.ParseExits(e.Name)
		if err != nil {
			d.source.fail(e.At, "for example exit: {75: infra, \"100-109\": setup}", "%s", err)
			continue
		}
		same := slices.IndexFunc(before, func(other Entry[ExitClass]) bool {
			low, high, _ := release.ParseExits(other.Name)
			return from <= high && low <= to
		})
		if same >= 0 {
			d.source.fail(e.At, "", "the exit statuses %s and %s overlap", before[same].Name, e.Name)
			continue
		}
		before = append(before, e)
	}
}

// exits are the statuses in the plan's form. A template's may overlap those of a job that extends it, so the job's go first.
func (v *Retries) exits() []release.Exit {
	var out []release.Exit
	for _, e := range slices.Backward(v.Exit) {
		if from, to, err := release.ParseExits(e.Name); err == nil {
			out = append(out, release.Exit{From: from, To: to, Class: release.Class(e.Value.Value)})
		}
	}
	return out
}

// ExitClass is the class that an exit status means.
type ExitClass struct{ choice }

func exitClasses() []string {
	var out []string
	for _, c := range release.ExitClasses() {
		out = append(out, string(c))
	}
	return out
}
func (c *ExitClass) decode(d *decoder, n ast.Node) { c.take(d, n, exitClasses()) }
func (*ExitClass) shape() shape                    { return choiceShape(exitClasses()) }

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
