package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"testing"
)

// TestImportRaySuite prints the real suite and counts what scripts would.
func TestImportRaySuite(t *testing.T) {
	t.Parallel()
	const root = "../../test/data/ray/2024-11"
	for _, c := range []struct {
		args  []string
		tasks int
	}{
		{[]string{"--unstable"}, 317},
		{[]string{"--frequency", "nightly", "--unstable"}, 142},
		{[]string{"--frequency", "weekly", "--unstable", "--run-per-test", "2"}, 58},
		{[]string{"--filter", "name:(?!.*gce).*", "--filter", "cluster/byod/type:gpu"}, 75},
	} {
		root := append([]string{"import", "ray", root + "/release/release_tests.yaml", "--root", root, "--json"}, c.args...)
		var out bytes.Buffer
		command := rootCommand()
		command.SetArgs(root)
		command.SetOut(&out)
		if err := command.Execute(); err != nil {
			t.Fatal(err)
		}
		var got struct {
			Tasks []struct {
				ID    string `json:"id"`
				Kind  string `json:"kind"`
				Pool  string `json:"pool"`
				Group string `json:"concurrency_group"`
				Why   string `json:"why"`
			} `json:"tasks"`
			Skipped  []struct{ Name, Why string } `json:"skipped"`
			Warnings []string                     `json:"warnings"`
		}
		if err := json.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		ids, groups := map[string]bool{}, map[string]int{}
		for _, task := range got.Tasks {
			ids[task.ID] = true
			groups[task.Group]++
			if task.Kind != "test" || task.Pool == "" || task.Why == "" {
				t.Errorf("%v: got %+v", c.args, task)
			}
		}
		if len(got.Tasks) != c.tasks || len(ids) != c.tasks {
			t.Errorf("%v: got %d tasks with %d ids, want %d", c.args, len(got.Tasks), len(ids), c.tasks)
		}
		// microbenchmark.aws is small and runs five times: four more than there are tests.
		if want := map[string]int{
			"tiny-gce": 46, "tiny": 39, "small-gpu": 37, "gpu-gce": 30, "medium": 25, "medium-gce": 24, "minuscule": 22, "minuscule-gce": 22,
			"small": 22, "large-gpu": 17, "small-gce": 12, "enormous": 9, "enormous-gce": 7, "large": 4, "large-gce": 1,
		}; c.tasks == 317 && !maps.Equal(groups, want) {
			t.Errorf("concurrency groups are %v, want %v", groups, want)
		}
	}
}
