package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/sluiceci/sluice/pkg/release"
)

// Diff is how one plan differs from another. What a plan is made for, and of which text, is no part of it: only what a
// run would do.
type Diff struct {
	From    release.Digest `json:"from"` // of the plans
	To      release.Digest `json:"to"`
	Added   []DiffTask     `json:"added"`
	Removed []DiffTask     `json:"removed"`
	Changed []DiffChanged  `json:"changed"`
	Plan    []DiffField    `json:"plan"` // what is not of one task: settings, gate, targets, what is left out
}

// DiffTask is a task that only one of two plans has.
type DiffTask struct {
	ID   release.TaskID `json:"id"`
	Name string         `json:"name"`
	Why  string         `json:"why,omitempty"` // of an added one, why it is there; of a removed one, why it is left out, if it is
}

// DiffChanged is a task that both plans have, and do otherwise.
type DiffChanged struct {
	ID     release.TaskID `json:"id"`
	Name   string         `json:"name"`
	Fields []DiffField    `json:"fields"`
}

// DiffField is one value that differs. A value that is not there is nil.
type DiffField struct {
	Path string `json:"path"` // "timeout_s", "outputs[wheel].path"
	From any    `json:"from"`
	To   any    `json:"to"`
}

// Empty reports whether two plans do the same.
func (d Diff) Empty() bool { return len(d.Added)+len(d.Removed)+len(d.Changed)+len(d.Plan) == 0 }

// Compare tells how a plan differs from an earlier one. Tasks are the same when their ids are.
func Compare(from, to *Plan) (Diff, error) {
	d := Diff{Added: []DiffTask{}, Removed: []DiffTask{}, Changed: []DiffChanged{}, Plan: []DiffField{}}
	var err error
	if _, d.From, err = from.Encode(); err != nil {
		return d, err
	}
	if _, d.To, err = to.Encode(); err != nil {
		return d, err
	}
	before, after := index(from), index(to)
	left := map[string]string{}
	for _, s := range to.Skipped {
		left[s.Name] = s.Why
	}
	for i := range to.Tasks {
		task := &to.Tasks[i]
		old, known := before[task.ID]
		if !known {
			d.Added = append(d.Added, DiffTask{ID: task.ID, Name: task.Name, Why: task.Why})
			continue
		}
		fields, err := differences(old, task)
		if err != nil {
			return d, err
		}
		if len(fields) > 0 {
			d.Changed = append(d.Changed, DiffChanged{ID: task.ID, Name: task.Name, Fields: fields})
		}
	}
	for i := range from.Tasks {
		if task := &from.Tasks[i]; after[task.ID] == nil {
			d.Removed = append(d.Removed, DiffTask{ID: task.ID, Name: task.Name, Why: left[task.Name]})
		}
	}
	d.Plan, err = differences(rest(from, after), rest(to, before))
	return d, err
}

func index(p *Plan) map[release.TaskID]*Task {
	out := make(map[release.TaskID]*Task, len(p.Tasks))
	for i := range p.Tasks {
		out[p.Tasks[i].ID] = &p.Tasks[i]
	}
	return out
}

// rest is a plan without its tasks and what it was made for. What was a task of the other plan is left out here, and told
// there.
func rest(p *Plan, others map[release.TaskID]*Task) *Plan {
	out := *p
	out.Tasks, out.Definition, out.Change, out.Base, out.Skipped = nil, "", release.Change{}, "", nil
	known := map[string]bool{}
	for _, t := range others {
		known[t.Name] = true
	}
	for _, s := range p.Skipped {
		if !known[s.Name] {
			out.Skipped = append(out.Skipped, s)
		}
	}
	return &out
}

// differences compares two values field by field, in their JSON form.
func differences(from, to any) ([]DiffField, error) {
	if reflect.DeepEqual(from, to) {
		return []DiffField{}, nil
	}
	before, err := flat(from)
	if err != nil {
		return nil, err
	}
	after, err := flat(to)
	if err != nil {
		return nil, err
	}
	out := []DiffField{}
	paths := maps.Clone(before)
	maps.Copy(paths, after)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if a, b := before[path], after[path]; !reflect.DeepEqual(a, b) {
			out = append(out, DiffField{Path: path, From: a, To: b})
		}
	}
	return out, nil
}

func flat(v any) (map[string]any, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("cannot compare plans: %w", err)
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil, fmt.Errorf("cannot compare plans: %w", err)
	}
	out := map[string]any{}
	flatten("", tree, out)
	return out, nil
}

// flatten lists the leaves of a tree by their paths. A list of plain values is one leaf; what is empty is not there.
func flatten(path string, v any, out map[string]any) {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			flatten(strings.TrimPrefix(path+"."+name, "."), value, out)
		}
	case []any:
		if len(v) == 0 {
			return
		}
		if !slices.ContainsFunc(v, func(one any) bool { _, is := one.(map[string]any); return is }) {
			out[path] = v
			return
		}
		for i, one := range v {
			name, fields := named(one, i)
			if len(fields) == 0 {
				out[path+"["+name+"]"] = fields
			}
			flatten(path+"["+name+"]", fields, out)
		}
	case nil:
	default:
		out[path] = v
	}
}

// named is what tells an element of a list from the others, rather than its place, and its other fields.
func named(v any, place int) (string, map[string]any) {
	fields, _ := v.(map[string]any)
	for _, keys := range [][]string{{"name"}, {"job", "type"}, {"type"}, {"class"}, {"job"}} {
		var parts []string
		for _, key := range keys {
			if part, is := fields[key].(string); is && part != "" {
				parts = append(parts, part)
			}
		}
		if len(parts) == len(keys) {
			others := maps.Clone(fields)
			maps.DeleteFunc(others, func(key string, _ any) bool { return slices.Contains(keys, key) })
			return strings.Join(parts, "."), others
		}
	}
	return strconv.Itoa(place), fields
}
