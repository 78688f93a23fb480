package definition

import (
	"encoding/json"
	"reflect"
	"strings"
)

// Schema is the JSON Schema (2020-12) of a definition, derived from the same tags that the parser reads.
func Schema() []byte {
	defs := schemaNode{}
	root := objectSchema(reflect.TypeFor[Definition](), defs)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "sluice.yaml"
	root["$defs"] = defs
	out, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		// Only strings, numbers, lists and maps are in it.
		panic("cannot write the schema: " + err.Error())
	}
	return append(out, '\n')
}

// objectSchema describes a struct by its keys, and what those refer to under defs.
func objectSchema(t reflect.Type, defs schemaNode) schemaNode {
	properties, required := schemaNode{}, []string{}
	out := schemaNode{"type": "object", "properties": properties, "additionalProperties": false}
	for _, k := range keysOfType(t) {
		s := shapeOf(t.Field(k.index).Type)
		properties[k.name] = including(described(s.schema, k), k)
		switch {
		case !k.required || t == reflect.TypeFor[Template]():
		case len(k.unless) > 0:
			any := []schemaNode{{"required": []string{k.name}}}
			for _, other := range k.unless {
				any = append(any, schemaNode{"required": []string{other}})
			}
			out["anyOf"] = any
		default:
			required = append(required, k.name)
		}
		define(s.of, defs)
	}
	if t == reflect.TypeFor[Adjustment]() {
		addKeys(properties, reflect.TypeFor[Job](), adjustable())
	}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

// including adds the key include to a map of jobs, which has no job of that name.
func including(s schemaNode, k key) schemaNode {
	switch k.include {
	case "yes":
		s["properties"] = schemaNode{"include": shapeOf(reflect.TypeFor[List[Include]]()).schema}
	case "no":
		s["properties"] = schemaNode{"include": false}
	}
	return s
}

// addKeys describes keys of another struct that stand beside a struct's own.
func addKeys(properties schemaNode, t reflect.Type, keys []key) {
	for _, k := range keys {
		properties[k.name] = described(shapeOf(t.Field(k.index).Type).schema, k)
	}
}

// define adds a struct that others refer to, once.
func define(t reflect.Type, defs schemaNode) {
	if t == nil || defs[defName(t)] != nil {
		return
	}
	defs[defName(t)] = schemaNode{}
	defs[defName(t)] = objectSchema(t, defs)
}

func defName(t reflect.Type) string { return strings.ToLower(t.Name()) }

func described(s schemaNode, k key) schemaNode {
	out := schemaNode{"description": k.doc}
	for name, v := range s {
		out[name] = v
	}
	if k.fallback != "" {
		out["description"] = k.doc + " Default: " + k.fallback + "."
	}
	return out
}
