package definition

import "github.com/goccy/go-yaml/ast"

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
	d.shortOr(n, &v.Path, v)
}

func (*Output) shape() shape { return either("glob, or map", "output", Text{}, Output{}) }
