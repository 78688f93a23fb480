package definition_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sluiceci/sluice/pkg/definition"
)

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(definition.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("sluice.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("sluice.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// TestSchemaAgreesWithTheParser holds the two together: the schema takes every definition that the parser takes.
func TestSchemaAgreesWithTheParser(t *testing.T) {
	schema := compiled(t)
	files := append(cases(t), "../../examples/polyglot/sluice.yaml")
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := definition.Load(t.Context(), "sluice.yaml", text, options()); err != nil {
				return
			}
			if err := schema.Validate(asJSON(t, text)); err != nil {
				t.Errorf("the parser takes it, the schema does not: %v", err)
			}
		})
	}
}

// TestSchemaRefuses shows that the schema is as strict as an editor needs it to be.
func TestSchemaRefuses(t *testing.T) {
	schema := compiled(t)
	for name, text := range map[string]string{
		"no project":      "builds: {a: {run: x}}",
		"unknown key":     "{project: x, build: {}}",
		"unknown job key": "{project: x, builds: {a: {run: x, runs: y}}}",
		"no run":          "{project: x, builds: {a: {}}}",
		"wrong checkout":  "{project: x, builds: {a: {run: x, checkout: all}}}",
		"wrong timeout":   "{project: x, builds: {a: {run: x, timeout: 10}}}",
		"unknown output":  "{project: x, builds: {a: {run: x, outputs: {o: {pth: x}}}}}",
		"unknown class":   "{project: x, builds: {a: {run: x, retry: {comand: 1}}}}",
		"wrong kind":      "{project: x, publish: {pypi: {kind: pipy, artifacts: [a]}}}",
		"nothing chosen":  "{project: x, publish: {pypi: {}}}",
		"include a job":   "{project: x, tests: {include: {run: x}}}",
		"builds include":  "{project: x, builds: {include: [a.yaml]}}",
		"wrong gate":      "{project: x, gate: {on: [pull_request]}}",
	} {
		if err := schema.Validate(asJSON(t, []byte(text))); err == nil {
			t.Errorf("%s: the schema takes %s", name, text)
		}
	}
}

func asJSON(t *testing.T, text []byte) any {
	t.Helper()
	b, err := yaml.YAMLToJSON(bytes.TrimPrefix(text, []byte("\ufeff")))
	if err != nil {
		t.Fatal(err)
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}
