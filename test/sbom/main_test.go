package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

const static = "../../services/reporter/pages/static"

// TestTheBillIsValidAndWhole makes the bill of this test's own binary, holds it against the schema of CycloneDX, and looks for
// every module and every script of somebody else in it.
func TestTheBillIsValidAndWhole(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(self, static, &out); err != nil {
		t.Fatal(err)
	}
	valid(t, out.Bytes())
	var bom cdx.BOM
	if err := json.Unmarshal(out.Bytes(), &bom); err != nil {
		t.Fatal(err)
	}
	listed := map[string]cdx.Component{}
	for _, c := range *bom.Components {
		listed[c.Name+" "+c.Version] = c
	}
	info, err := buildinfo.ReadFile(self)
	if err != nil || len(info.Deps) == 0 {
		t.Fatal(info, err)
	}
	for _, m := range info.Deps {
		if c := listed[m.Path+" "+m.Version]; c.Properties == nil || (*c.Properties)[0].Value != m.Sum {
			t.Errorf("%s %s is listed as %+v", m.Path, m.Version, c)
		}
	}
	scripts := 0
	err = filepath.WalkDir(static, func(name string, e fs.DirEntry, err error) error {
		if err == nil && strings.Contains(name, ".min.") {
			scripts++
		}
		return err
	})
	if found, failed := vendored(static); err != nil || failed != nil || len(found) != scripts || scripts == 0 {
		t.Errorf("of %d scripts %d are listed: %v %v; name one NAME-VERSION.min.js", scripts, len(found), err, failed)
	}
}

// valid holds a bill against the schema that comes with the library.
func valid(t *testing.T, text []byte) {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go").Output()
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	for file, url := range map[string]string{
		"bom-1.6.schema.json": "http://cyclonedx.org/schema/bom-1.6.schema.json", "spdx.schema.json": "http://cyclonedx.org/schema/spdx.schema.json",
		"jsf-0.82.schemax.json": "http://cyclonedx.org/schema/jsf-0.82.schema.json",
	} {
		text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "schema", file))
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.AddResource(url, doc); err != nil {
			t.Fatal(err)
		}
	}
	schema, err := c.Compile("http://cyclonedx.org/schema/bom-1.6.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(doc); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}
