package definition

import (
	"reflect"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// Needs is what a job waits for: a list of jobs and needs, or a map of jobs and artifacts.
type Needs struct{ List []Need }

// Need is one job, or one type of artifact, that a job waits for.
type Need struct {
	At        Pos
	Job       Text      `key:"job" doc:"A job, with all its artifacts." example:"lock"`
	Artifacts Text      `key:"artifacts" doc:"JOB.TYPE, or TYPE of whatever build makes it." example:"jar.native"`
	Where     Map[Text] `key:"where" doc:"Only tasks whose matrix fits these globs. Such keys need not agree with the job's own." example:"{platform: linux-*}"`
	Optional  Bool      `key:"optional" doc:"What is left out, or not there for a row of the matrix, is not waited for." default:"false" example:"true"`
}

// needsMap is the longer form of needs.
type needsMap struct {
	Jobs      Texts `key:"jobs" doc:"Jobs to wait for, with all their artifacts." example:"[lock]"`
	Artifacts Texts `key:"artifacts" doc:"Artifacts to wait for: JOB.TYPE, or TYPE." example:"[jar.native]"`
}

func (v *Needs) decode(d *decoder, n ast.Node) {
	v.List = []Need{}
	if list, ok := n.(*ast.SequenceNode); ok {
		for _, one := range list.Values {
			var need Need
			d.into(one, &need)
			v.List = append(v.List, need)
		}
		return
	}
	if _, scalar := scalarText(n); scalar {
		var list List[Text]
		list.decode(d, n) // says that a list is expected
		return
	}
	var m needsMap
	d.object(n, reflect.ValueOf(&m).Elem())
	for _, t := range m.Jobs {
		v.List = append(v.List, Need{At: t.At, Job: t})
	}
	for _, t := range m.Artifacts {
		v.List = append(v.List, Need{At: t.At, Artifacts: t})
	}
}

func (*Needs) shape() shape {
	return shape{name: "list of job names and of needs, or map", of: reflect.TypeFor[Need](), schema: schemaNode{"anyOf": []schemaNode{
		{"type": "array", "items": (&Need{}).shape().schema},
		{"type": "object", "additionalProperties": false, "properties": schemaNode{
			"jobs": (&Texts{}).shape().schema, "artifacts": (&Texts{}).shape().schema,
		}},
	}}}
}

func (v *Need) decode(d *decoder, n ast.Node) {
	v.At = d.at(n)
	d.shortOr(n, &v.Job, v)
	if _, scalar := scalarText(n); !scalar && (v.Job.Value == "") == (v.Artifacts.Value == "") && !d.full() {
		d.fail(n, "for example {job: lock, optional: true}", "expected either job or artifacts")
	}
}

func (*Need) shape() shape { return either("job, or map", "need", Text{}, Need{}) }

// of is the job that is needed, and the type of its output; empty for all of them.
func (v *Need) of() (job, kind string) {
	if v.Job.Value != "" || v.Artifacts.Value == "" {
		return v.Job.Value, ""
	}
	job, kind, _ = strings.Cut(v.Artifacts.Value, ".")
	return job, kind
}

// text is the need as it is written.
func (v *Need) text() Text {
	if v.Artifacts.Value != "" {
		return v.Artifacts
	}
	return v.Job
}

// whereNames lists the keys of the matrix that where decides.
func (v *Need) whereNames() []string { return v.Where.Names() }

// artifacts lists what a job names as JOB.TYPE.
func (v *Needs) artifacts() []string {
	var out []string
	for _, n := range v.List {
		if n.Artifacts.Value != "" {
			out = append(out, n.Artifacts.Value)
		}
	}
	return out
}

// spread replaces each need of a type alone by one for each build that makes it. What no build makes is left as it is,
// for the check to tell. The budget counts the needs that are made; below zero no more are.
func (v *Needs) spread(job string, types map[string][]string, budget *int) {
	var out []Need
	for _, n := range v.List {
		kind := n.Artifacts.Value
		if kind == "" || strings.Contains(kind, ".") || len(types[kind]) == 0 {
			out = append(out, n)
			continue
		}
		if *budget -= len(types[kind]); *budget < 0 {
			continue
		}
		for _, of := range types[kind] {
			if of != job {
				one := n
				one.Artifacts.Value = of + "." + kind
				out = append(out, one)
			}
		}
	}
	v.List = out
}
