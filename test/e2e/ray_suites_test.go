package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// mutated is a real suite some definitions of which were changed: a field of the schema set to another value, or taken away.
func (o *oracle) mutated(r *rand.Rand) []map[string]any {
	o.t.Helper()
	files := o.real()
	text := o.command("python3", "-c", "import json, sys, yaml; print(json.dumps(yaml.safe_load(open(sys.argv[1]))))",
		filepath.Join(o.dir, files[r.IntN(len(files))]))
	var suite []map[string]any
	if err := json.Unmarshal(text, &suite); err != nil {
		o.t.Fatal(err)
	}
	for range 12 {
		d := suite[r.IntN(len(suite))]
		if d["name"] == "DEFAULTS" {
			continue
		}
		parts := []map[string]any{d}
		for _, key := range []string{"run", "cluster"} {
			if m, ok := d[key].(map[string]any); ok {
				parts = append(parts, m)
			}
		}
		changes := []func(map[string]any){
			func(m map[string]any) { m["colour"] = "red" },
			func(m map[string]any) { m["timeout"] = pick(r, any(7), any("soon"), any(1.5)) },
			func(m map[string]any) { m["stable"] = pick(r, any(true), any(false), any("no")) },
			func(m map[string]any) { m["repeated_run"] = 1 + r.IntN(4) },
			func(m map[string]any) { m["group"] = "mutated" },
			func(m map[string]any) { m["python"] = pick(r, "3.8", "3.10", "3.11", "3.12", "3.13") },
			func(m map[string]any) {
				delete(m, pick(r, "script", "team", "group", "byod", "alert", "stable", "env", "python"))
			},
		}
		changes[r.IntN(len(changes))](parts[r.IntN(len(parts))])
	}
	return suite
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// random is a suite of what the schema of the version knows, with compute files of its own.
func (o *oracle) random(r *rand.Rand) []map[string]any {
	o.t.Helper()
	for i := range 12 {
		text, err := json.Marshal(compute(r))
		if err == nil {
			err = os.MkdirAll(filepath.Join(o.dir, "release", "made"), 0o700)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(o.dir, "release", "made", fmt.Sprintf("c%d.yaml", i)), text, 0o600)
		}
		if err != nil {
			o.t.Fatal(err)
		}
	}
	modern := o.version >= "2025"
	var suite []map[string]any
	if modern {
		suite = append(suite, map[string]any{"name": "DEFAULTS", "group": "made-by-default", "stable": pick(r, true, false)})
	}
	for i := range 60 {
		d := o.definition(r, fmt.Sprintf("%s_%d", pick(r, "many", "stress", "made", "train"), i))
		switch {
		case r.IntN(3) == 0:
			d["variations"] = []any{
				map[string]any{"__suffix__": "aws"},
				map[string]any{"__suffix__": "gce", "env": "gce", "frequency": "manual", "cluster": map[string]any{"cluster_compute": fmt.Sprintf("c%d.yaml", r.IntN(12))}},
			}
		case modern && r.IntN(4) == 0:
			d["name"] = fmt.Sprint(d["name"], "_{{ size }}_{{kind}}")
			d["matrix"] = map[string]any{
				"setup":       map[string]any{"kind": []any{"a", "b"}, "size": []any{1, 2}},
				"adjustments": []any{map[string]any{"with": map[string]any{"kind": "c", "size": 9}}},
			}
		}
		suite = append(suite, d)
	}
	return suite
}

// definition is one definition.
func (o *oracle) definition(r *rand.Rand, name string) map[string]any {
	pythons, frequencies, types := []string{"3.9", "3.11", "3.12"}, []string{"manual", "nightly", "nightly-3x", "weekly", "multi"}, []string{"cpu", "gpu", "cu123"}
	modern, newest := o.version >= "2025", o.version >= "2026"
	if modern {
		frequencies[4], types = "monthly", append(types, "llm-cu128")
	}
	if newest {
		pythons = []string{"3.10", "3.11", "3.12", "3.13"}
	}
	byod := map[string]any{}
	cluster := map[string]any{"cluster_compute": fmt.Sprintf("c%d.yaml", r.IntN(12)), "byod": byod}
	run := map[string]any{"script": "python " + name + ".py", "timeout": 60 * (1 + r.IntN(100))}
	d := map[string]any{
		"name": name, "team": pick(r, "core", "data", "ml", "serve"), "working_dir": "made", "frequency": pick(r, frequencies...),
		"cluster": cluster, "run": run,
	}
	if modern && r.IntN(3) == 0 {
		d["working_dir"] = "//release/made"
	}
	maybe := func(m map[string]any, key string, value any) {
		if r.IntN(3) == 0 {
			m[key] = value
		}
	}
	maybe(d, "group", pick(r, "core-a", "data-tests", "Serve tests"))
	maybe(d, "env", pick(r, "aws", "gce", "aws_perf"))
	maybe(d, "stable", pick(r, true, false))
	maybe(d, "python", pick(r, pythons...))
	maybe(d, "repeated_run", r.IntN(4))
	maybe(d, "alert", pick(r, "default", "long_running_tests", "tune_tests"))
	maybe(d, "smoke_test", map[string]any{"frequency": pick(r, frequencies...), "run": map[string]any{"timeout": 60}})
	maybe(byod, "type", pick(r, types...))
	maybe(byod, "post_build_script", "byod_x.sh")
	maybe(byod, "runtime_env", []any{"A=b=c", "B"})
	maybe(cluster, "autosuspend_mins", r.IntN(9)-1)
	maybe(cluster, "cloud_id", "cld_x")
	maybe(run, "type", pick(r, "job", "client", "anyscale_job"))
	maybe(run, "long_running", pick(r, true, false))
	maybe(run, "prepare", "python wait.py")
	maybe(run, "wait_for_nodes", map[string]any{"num_nodes": r.IntN(500)})
	if modern {
		maybe(cluster, "project_id", "prj_x")
		maybe(cluster, "ray_version", "2.50.0")
		maybe(byod, "python_depset", "a.lock")
	}
	if newest {
		maybe(run, "num_retries", r.IntN(4))
		if r.IntN(4) == 0 {
			delete(cluster, "byod")
		}
	}
	return d
}

// compute is a compute file, also of keys that the version does not size.
func compute(r *rand.Rand) map[string]any {
	kind := func() string {
		return pick(r, "m5.xlarge", "m5.4xlarge", "m5.16xlarge", "p3.8xlarge", "g4dn.12xlarge", "n1-standard-16", "n2-standard-64",
			"a2-highgpu-8g", "n1-highmem-64-nvidia-tesla-v100-8", "n1-standard-8-nvidia-tesla-t4-1", "weird", strings.Repeat("x", 3)+"-12")
	}
	out := map[string]any{"region": "us-west-2", "cloud_id": "{{env['ANYSCALE_CLOUD_ID']}}"}
	head := map[string]any{"name": "head", "instance_type": kind()}
	if r.IntN(6) == 0 {
		out["head_node"], out["worker_nodes"] = head, []any{map[string]any{"instance_type": kind(), "max_nodes": r.IntN(9)}}
		return out
	}
	out["head_node_type"] = head
	if r.IntN(5) == 0 {
		out["auto_select_worker_config"] = true
		return out
	}
	workers := []any{}
	for range r.IntN(3) {
		w := map[string]any{"name": "w", "instance_type": kind()}
		if r.IntN(2) == 0 {
			w["min_workers"] = r.IntN(5)
		}
		if r.IntN(2) == 0 {
			w["max_workers"] = r.IntN(80) - 2
		}
		workers = append(workers, w)
	}
	out["worker_node_types"] = workers
	return out
}
