package show

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/sluiceci/sluice/pkg/plan"
)

// Diff prints how one plan differs from another: tasks that are new, gone or otherwise, and what else differs.
func Diff(w io.Writer, d plan.Diff) {
	t := &table{w: w}
	if d.Empty() {
		t.line("a run would do the same")
		return
	}
	t.line("%s added, %d removed, %d changed", count(len(d.Added), "task"), len(d.Removed), len(d.Changed))
	t.diffTasks("added", "+", d.Added)
	t.diffTasks("removed", "-", d.Removed)
	if len(d.Changed) > 0 {
		t.line("\nchanged")
	}
	for _, c := range d.Changed {
		t.line("  ~ %s", clean(c.Name))
		t.fields("      ", c.Fields)
	}
	if len(d.Plan) > 0 {
		t.line("\nthe plan")
		t.fields("  ", d.Plan)
	}
}

func (t *table) diffTasks(title, mark string, tasks []plan.DiffTask) {
	if len(tasks) == 0 {
		return
	}
	t.line("\n%s", title)
	w := tabwriter.NewWriter(t.w, 2, 8, 3, ' ', 0)
	for _, task := range tasks {
		_, _ = fmt.Fprintf(w, "  %s %s\t%s\n", mark, clean(task.Name), clean(task.Why))
	}
	_ = w.Flush()
}

// fields prints each value that differs; a text of several lines by the lines that differ.
func (t *table) fields(indent string, fields []plan.DiffField) {
	for _, f := range fields {
		from, to := value(f.From), value(f.To)
		if !strings.Contains(from, "\n") && !strings.Contains(to, "\n") {
			t.line("%s%s: %s → %s", indent, clean(f.Path), clean(from), clean(to))
			continue
		}
		t.line("%s%s:", indent, clean(f.Path))
		before, after := trimmed(from, to)
		for _, line := range before {
			t.line("%s  - %s", indent, clean(line))
		}
		for _, line := range after {
			t.line("%s  + %s", indent, clean(line))
		}
	}
}

// value is a value as it is read: a text as it is, anything else as JSON, what is not there as "(none)".
func value(v any) string {
	switch v := v.(type) {
	case nil:
		return "(none)"
	case string:
		return v
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// trimmed are the lines of two texts, without those that both begin or end with.
func trimmed(from, to string) (before, after []string) {
	before, after = strings.Split(strings.TrimRight(from, "\n"), "\n"), strings.Split(strings.TrimRight(to, "\n"), "\n")
	for len(before) > 0 && len(after) > 0 && before[0] == after[0] {
		before, after = before[1:], after[1:]
	}
	for len(before) > 0 && len(after) > 0 && before[len(before)-1] == after[len(after)-1] {
		before, after = before[:len(before)-1], after[:len(after)-1]
	}
	return before, after
}
