package definition

import (
	"reflect"

	"github.com/goccy/go-yaml/ast"
)

// Target is one entry of publish.
type Target struct {
	At        Pos
	Kind      TargetKind
	Artifacts List[Text]
	If        Text
	Unless    Text
	Options   Map[Text]
}

// targetKeys are the keys that every kind of target has; all others are options of the kind.
type targetKeys struct {
	Kind      TargetKind `key:"kind" doc:"What the place is: pypi, pypi-index, maven or oci." default:"the name" example:"pypi-index"`
	Artifacts List[Text] `key:"artifacts" doc:"What is published: a type of output, or JOB.TYPE." required:"true" example:"[wheel]"`
	If        Text       `key:"if" doc:"CEL condition on change, settings, env and environment: otherwise the target is not offered." example:"change.kind == \"tag\""`
	Unless    Text       `key:"unless" doc:"CEL condition: when it holds, the target is not offered." example:"settings.dry"`
}

func (t *Target) decode(d *decoder, n ast.Node) {
	t.At = d.at(n)
	found, ok := d.entries(n, "a map with artifacts and the options of the target")
	if !ok {
		return
	}
	for _, e := range found {
		switch e.name {
		case "kind":
			d.into(e.value, &t.Kind)
		case "artifacts":
			d.into(e.value, &t.Artifacts)
		case "if":
			d.into(e.value, &t.If)
		case "unless":
			d.into(e.value, &t.Unless)
		default:
			one := Entry[Text]{Name: e.name, At: e.at}
			d.into(e.value, &one.Value)
			t.Options = append(t.Options, one)
		}
	}
}

func (*Target) shape() shape {
	t := reflect.TypeFor[targetKeys]()
	properties := schemaNode{}
	for _, k := range keysOfType(t) {
		properties[k.name] = shapeOf(t.Field(k.index).Type).schema
	}
	return shape{name: "target", of: t, schema: schemaNode{
		"type": "object", "properties": properties, "required": []string{"artifacts"},
		"additionalProperties": (&Text{}).shape().schema,
	}}
}
