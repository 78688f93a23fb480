package ray

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"
)

const anyCompute = "head_node_type: {instance_type: m5.xlarge}\nworker_node_types: []\n"

// valid is a test that nothing is wrong with; tests change a line of it.
const valid = `- name: sample
  group: g
  working_dir: dir
  frequency: nightly
  team: core
  cluster:
    byod: {}
    cluster_compute: compute.yaml
  run:
    timeout: 100
    script: python x.py
    wait_for_nodes:
      num_nodes: 1
  smoke_test:
    frequency: nightly
`

// tree is a file system with a test file and the compute files that tests name.
func tree(text string) fstest.MapFS {
	return fstest.MapFS{
		"release/tests.yaml":           {Data: []byte(text)},
		"release/dir/compute.yaml":     {Data: []byte(anyCompute)},
		"release/dir/compute_gce.yaml": {Data: []byte("head_node_type: {instance_type: n1-standard-16}\nworker_node_types: []\n")},
	}
}

// read reads a test file, and tells everything that is wrong with it and with its definitions.
func read(text string, o Options) (*Suite, Problems) {
	s, err := Import(tree(text), []string{"release/tests.yaml"}, o)
	var found Problems
	if errors.As(err, &found) && o.Strict {
		return s, found
	}
	return s, append(found, s.Problems...)
}

// change replaces one part of the valid test.
func change(t *testing.T, from, to string) string {
	t.Helper()
	if strings.Count(valid, from) != 1 {
		t.Fatalf("%q is %d times in the valid test, want once", from, strings.Count(valid, from))
	}
	return strings.Replace(valid, from, to, 1)
}

func mustRead(t *testing.T, text string) *Suite {
	t.Helper()
	return mustReadAs(t, text, Generation2024)
}

func mustReadAs(t *testing.T, text string, g Generation) *Suite {
	t.Helper()
	s, found := read(text, Options{Generation: g})
	if len(found) > 0 {
		t.Fatalf("%v\nin\n%s", found, text)
	}
	return s
}

func names(tests []*Test) []string {
	var out []string
	for _, t := range tests {
		out = append(out, t.Name)
	}
	return out
}
