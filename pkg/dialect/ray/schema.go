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
	free     bool       // an object may have other keys too
	from, to Generation // that know the key; empty: all before, or after
}

// of bounds a rule to the generations that know its key.
func (r rule) of(from, to Generation) rule {
	r.from, r.to = from, to
	return r
}

func (r rule) knownTo(g Generation) bool {
	return (r.from == "" || g >= r.from) && (r.to == "" || g <= r.to)
}

// schema is what a test must be, in one generation of Ray's tooling.
func schema(g Generation) rule {
	text, number, yes := rule{kind: "string"}, rule{kind: "integer"}, rule{kind: "boolean"}
	list, free := rule{kind: "array"}, rule{kind: "object", free: true}
	frequency := rule{kind: "string", enum: frequencies(g)}
	cluster := object([]string{"cluster_compute"}, map[string]rule{
		"cluster_compute": text, "cloud_id": text, "cloud_name": text.of("", Generation2025), "autosuspend_mins": {kind: "integer", minimum: new(int64(-1))},
		"project_id": text.of(Generation2025, ""), "ray_version": text.of(Generation2025, ""), "cloud": text.of(Generation2026, ""),
		"anyscale_sdk_2026": yes.of(Generation2026, ""), "cluster_env": text.of("", Generation2023),
		"byod": object(nil, map[string]rule{
			"type": text, "post_build_script": text, "pip": list.of("", Generation2025), "runtime_env": list,
			"python_depset": text.of(Generation2025, ""),
		}),
	})
	if g == Generation2024 || g == Generation2025 {
		cluster.required = append(cluster.required, "byod")
	}
	run := object([]string{"script", "timeout"}, map[string]rule{
		"script": text, "timeout": number, "prepare": text, "prepare_timeout": number, "long_running": yes, "artifact_path": text,
		"type":           {kind: "string", enum: []string{"command", "sdk_command", "job", "client", "anyscale_job"}},
		"wait_for_nodes": object([]string{"num_nodes"}, map[string]rule{"num_nodes": number, "timeout": number}),
		"num_retries":    number.of(Generation2026, ""),
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

// frequencies are what a test may say of how often it runs.
func frequencies(g Generation) []string {
	if g >= Generation2025 {
		return []string{"manual", "nightly", "nightly-3x", "weekly", "monthly"}
	}
	return []string{"manual", "multi", "nightly", "nightly-3x", "weekly"}
}

// pythons are the Python versions that a test may name.
func pythons(g Generation) []string {
	switch g {
	case Generation2023:
		return []string{"3.7", "3.8", "3.9", "3.10", "3.11"}
	case Generation2025:
		return []string{"3.9", "3.10", "3.11", "3.12"}
	case Generation2026:
		return []string{"3.10", "3.11", "3.12", "3.13"}
	default:
		return []string{"3.9", "3.11", "3.12"}
	}
}

// checker checks values by rules. What makes a test impossible is a failure. What only the tooling of the generation would
// refuse, or what nothing here reads, is a remark: an unknown key has no effect, an unknown word is taken as text.
type checker struct {
	generation Generation
	fail       func(at pyyaml.Pos, format string, args ...any)
	remark     func(at pyyaml.Pos, effect, format string, args ...any)
}

// check notes everything about a value that its rule does not allow.
func (c checker) check(r rule, n *pyyaml.Node) {
	if !r.fits(n) {
		c.fail(n.At, "%s is not of type '%s'", pyyaml.Repr(n), r.kind)
		return
	}
	if r.enum != nil && !slices.Contains(r.enum, n.Text) {
		effect := "it is taken as text"
		if known(r.enum, n.Text) {
			effect = ""
		}
		c.remark(n.At, effect, "%s is not one of %s", pyyaml.Repr(n), pyList(r.enum))
	}
	if r.minimum != nil && toInt(n) < *r.minimum {
		c.fail(n.At, "%s is less than the minimum of %d", pyyaml.Repr(n), *r.minimum)
	}
	if r.kind != "object" {
		return
	}
	c.additional(r, n)
	for _, key := range r.required {
		switch {
		case n.Has(key):
		case key == "byod": // later generations do without
			c.remark(n.At, "", "'%s' is a required property", key)
		default:
			c.fail(n.At, "'%s' is a required property", key)
		}
	}
	for _, e := range n.Entries {
		if known, ok := r.keys[e.Key.Text]; ok && e.Key.Kind == pyyaml.String {
			c.check(known, e.Value)
		}
	}
}

// known reports whether any generation knows a word of a list.
func known(list []string, word string) bool {
	for _, g := range Generations() {
		for _, all := range [][]string{frequencies(g), pythons(g)} {
			if slices.Contains(all, list[0]) && slices.Contains(all, word) {
				return true
			}
		}
	}
	return false
}

// additional notes the keys that a map may not have: those that no generation knows together, and those of another generation,
// which are read all the same.
func (c checker) additional(r rule, n *pyyaml.Node) {
	var unknown, foreign []*pyyaml.Node
	for _, e := range n.Entries {
		known, is := r.keys[e.Key.Text]
		switch {
		case r.free:
		case !is || e.Key.Kind != pyyaml.String:
			unknown = append(unknown, e.Key)
		case !known.knownTo(c.generation):
			foreign = append(foreign, e.Key)
		}
	}
	c.unexpected(unknown, noEffect)
	c.unexpected(foreign, "")
}

// noEffect is what is said of a key that nothing here reads.
const noEffect = "it has no effect"

func (c checker) unexpected(keys []*pyyaml.Node, effect string) {
	if len(keys) == 0 {
		return
	}
	verb := "was"
	if len(keys) > 1 {
		verb = "were"
		effect = strings.Replace(effect, "it has", "they have", 1)
	}
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = pyyaml.Repr(key)
	}
	sort.Strings(names)
	c.remark(keys[0].At, effect, "Additional properties are not allowed (%s %s unexpected)", strings.Join(names, ", "), verb)
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
