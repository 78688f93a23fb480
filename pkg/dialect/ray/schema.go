package ray

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/sluiceci/sluice/pkg/dialect/ray/pyyaml"
)

// rule is what a value must be.
type rule struct {
	kind     string // "string", "integer", "boolean", "object", "array"; in the words of JSON Schema
	enum     []string
	minimum  *int64
	keys     map[string]rule // of an object
	required []string
	free     bool // an object may have other keys too
}

// schema is what a test must be, in one generation of Ray's tooling.
func schema(g Generation) rule {
	text, number, yes := rule{kind: "string"}, rule{kind: "integer"}, rule{kind: "boolean"}
	list, free := rule{kind: "array"}, rule{kind: "object", free: true}
	frequency := rule{kind: "string", enum: []string{"manual", "multi", "nightly", "nightly-3x", "weekly"}}
	cluster := object([]string{"cluster_compute", "byod"}, map[string]rule{
		"cluster_compute": text, "cloud_id": text, "cloud_name": text, "autosuspend_mins": {kind: "integer", minimum: new(int64(-1))},
		"byod": object(nil, map[string]rule{"type": text, "post_build_script": text, "pip": list, "runtime_env": list}),
	})
	if g == Generation2025 {
		cluster.keys["project_id"] = text
	}
	run := object([]string{"script", "timeout"}, map[string]rule{
		"script": text, "timeout": number, "prepare": text, "prepare_timeout": number, "long_running": yes, "artifact_path": text,
		"type":           {kind: "string", enum: []string{"command", "sdk_command", "job", "client", "anyscale_job"}},
		"wait_for_nodes": object([]string{"num_nodes"}, map[string]rule{"num_nodes": number, "timeout": number}),
	})
	return object([]string{"name", "team", "working_dir", "frequency", "run", "cluster"}, map[string]rule{
		"name": text, "group": text, "working_dir": text, "frequency": frequency, "team": text, "env": text, "stable": yes,
		"python": {kind: "string", enum: pythons(g)}, "repeated_run": number, "alert": text, "cluster": cluster, "run": run,
		"smoke_test": object([]string{"frequency"}, map[string]rule{
			"frequency": frequency, "working_dir": text, "env": text, "alert": text, "cluster": free, "run": free,
		}),
	})
}

func object(required []string, keys map[string]rule) rule {
	return rule{kind: "object", keys: keys, required: required}
}

// pythons are the Python versions that a test may name.
func pythons(g Generation) []string {
	if g == Generation2025 {
		return []string{"3.9", "3.10", "3.11", "3.12", "3.13"}
	}
	return []string{"3.9", "3.11", "3.12"}
}

// check notes everything about a value that its rule does not allow.
func (r rule) check(n *pyyaml.Node, fail func(at pyyaml.Pos, format string, args ...any)) {
	if !r.fits(n) {
		fail(n.At, "%s is not of type '%s'", pyyaml.Repr(n), r.kind)
		return
	}
	if r.enum != nil && !slices.Contains(r.enum, n.Text) {
		fail(n.At, "%s is not one of %s", pyyaml.Repr(n), pyList(r.enum))
	}
	if r.minimum != nil && toInt(n) < *r.minimum {
		fail(n.At, "%s is less than the minimum of %d", pyyaml.Repr(n), *r.minimum)
	}
	if r.kind != "object" {
		return
	}
	r.additional(n, fail)
	for _, key := range r.required {
		if !n.Has(key) {
			fail(n.At, "'%s' is a required property", key)
		}
	}
	for _, e := range n.Entries {
		if known, ok := r.keys[e.Key.Text]; ok && e.Key.Kind == pyyaml.String {
			known.check(e.Value, fail)
		}
	}
}

// additional notes the keys that a map may not have.
func (r rule) additional(n *pyyaml.Node, fail func(at pyyaml.Pos, format string, args ...any)) {
	var unknown []string
	at := n.At
	for _, e := range n.Entries {
		if _, known := r.keys[e.Key.Text]; r.free || known && e.Key.Kind == pyyaml.String {
			continue
		}
		if len(unknown) == 0 {
			at = e.Key.At
		}
		unknown = append(unknown, pyyaml.Repr(e.Key))
	}
	verb := "was"
	if len(unknown) > 1 {
		verb = "were"
	}
	if len(unknown) > 0 {
		sort.Strings(unknown)
		fail(at, "Additional properties are not allowed (%s %s unexpected)", strings.Join(unknown, ", "), verb)
	}
}

// fits reports whether a value has the rule's type; as in JSON Schema's draft 6, 100.0 is an integer and true is none.
func (r rule) fits(n *pyyaml.Node) bool {
	switch r.kind {
	case "string":
		return n.Kind == pyyaml.String
	case "boolean":
		return n.Kind == pyyaml.Bool
	case "integer":
		return n.Kind == pyyaml.Int && n.Big == nil || n.Kind == pyyaml.Float && whole(n.Float)
	case "array":
		return n.Kind == pyyaml.List
	default:
		return n.Kind == pyyaml.Map
	}
}

func whole(f float64) bool { return math.Trunc(f) == f && math.Abs(f) < 1<<53 }

// toInt is the value of an integer in either form.
func toInt(n *pyyaml.Node) int64 {
	if n.Kind == pyyaml.Float {
		return int64(n.Float)
	}
	return n.Int
}

// pyList is a list of strings as Python prints it.
func pyList(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = pyyaml.ReprString(s)
	}
	return fmt.Sprintf("[%s]", strings.Join(quoted, ", "))
}
