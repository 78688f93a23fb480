package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDefinitionsOfDocs lints what the pages show to whoever copies it, with the options of the targets that there are. A
// part of a definition is one that names no project; it stands in one that makes every type it publishes.
func TestDefinitionsOfDocs(t *testing.T) {
	t.Parallel()
	const around = "project: part\nbuilds: {a: {run: make, outputs: {wheel: w, jar: j, image: i, native: n, wasm: s}}}\ngate: {require: [builds]}\n"
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```")
	keys := regexp.MustCompile(`(?m)^(project|builds|publish|tests|include|triggers):`)
	found := 0
	for _, page := range []string{"../../README.md", "../../docs/definition.md", "../../docs/targets.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, block := range blocks.FindAllStringSubmatch(string(text), -1) {
			definition := block[1]
			if !keys.MatchString(definition) {
				continue
			}
			found++
			if !strings.Contains(definition, "project:") {
				definition = around + definition
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, definitionName), []byte(definition), 0o600); err != nil {
				t.Fatal(err)
			}
			problems, _, err := lintProblems(dir)
			if err != nil || len(problems) > 0 {
				t.Errorf("%s, block %d: %v\n%v", page, i+1, err, fmt.Sprint(problems))
			}
		}
	}
	if found < 2 {
		t.Errorf("found %d definitions, expected at least two", found)
	}
}

// TestInstallationOfDocs reads the file that the page shows as `sluice up` reads it: no key of it is unknown.
func TestInstallationOfDocs(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/operate/installation.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(text), "```yaml\n")
	block, _, _ = strings.Cut(block, "```")
	name := filepath.Join(t.TempDir(), "installation.yaml")
	if err := os.WriteFile(name, []byte(block), 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := readInstallation(name)
	if err != nil || len(in.Projects) == 0 || len(in.Builder.Includes) != 1 {
		t.Errorf("%v: %+v", err, in)
	}
}

// TestExamplesLint lints whole definitions as their users do, with the options of the targets that there are.
func TestExamplesLint(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"../../examples/polyglot", "../../pkg/definition/testdata/rayish-push.yaml"} {
		if problems, warnings, err := lintProblems(name); err != nil || len(problems) > 0 || len(warnings) > 0 {
			t.Errorf("%s: %v\n%v\n%v", name, err, problems, warnings)
		}
	}
}
