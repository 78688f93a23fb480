package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/sluiceci/sluice/pkg/definition"
)

// changedTest is the name of the test of a definition's changed rules, beside it: sluice.yaml has sluice.changed.test.
func changedTest(definition string) string {
	return strings.TrimSuffix(definition, filepath.Ext(definition)) + ".changed.test"
}

// lintChanged runs the test of the changed rules, where there is one.
func lintChanged(def *definition.Definition, dir string) (definition.Errors, error) {
	name, err := definitionFile(dir)
	if err != nil {
		return nil, err
	}
	test := changedTest(name)
	text, err := readText(test)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the test of the changed rules: %w", err)
	}
	return definition.CheckChanged(def, test, text), nil
}
