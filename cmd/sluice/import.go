package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/sluiceci/sluice/pkg/client"
	"github.com/sluiceci/sluice/pkg/dialect/ray"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/plan/show"
	"github.com/sluiceci/sluice/pkg/release"
)

// importCommand has the dialects: other systems' own files, shown as the tasks that they are here.
func importCommand() *cobra.Command {
	return family("import", "Show the files of another system as a plan: what would run, what would not, and why", importRayCommand())
}

// importFormats are the forms that imported tasks are printed in.
func importFormats() []string { return []string{"table", "json", "dot", "gitlab"} }

// imported is what an import shows.
type imported struct {
	Tasks    []importedTask `json:"tasks"`
	Skipped  []plan.Skipped `json:"skipped"`
	Warnings []string       `json:"warnings"`

	Generation    ray.Generation `json:"generation,omitempty"` // of Ray's tooling
	GenerationWhy string         `json:"generation_why,omitempty"`
	Problems      ray.Problems   `json:"problems,omitempty"` // of the definitions that are broken
	Confirm       string         `json:"confirm,omitempty"`  // what Ray asks before so many tests that a person has picked
}

// importedTask is a task whose retries are a map, as in the JSON form of a plan.
type importedTask struct {
	*plan.Task
	Retry map[release.Class]int32 `json:"retry,omitempty"`
}

// print writes tasks in one of the forms; what the table says about them is the dialect's.
func (i imported) print(out io.Writer, format string, table func(io.Writer)) error {
	p := &plan.Plan{Skipped: i.Skipped, Warnings: i.Warnings}
	for _, t := range i.Tasks {
		p.Tasks = append(p.Tasks, *t.Task)
	}
	switch format {
	case "json":
		return printJSON(out, i)
	case "dot":
		return show.Dot(out, p)
	case "gitlab":
		return show.GitLab(out, p)
	}
	table(out)
	i.leftOut(out)
	for _, w := range i.Warnings {
		_, _ = fmt.Fprintf(out, "\nwarning: %s\n", client.Line(w))
	}
	if i.Confirm != "" {
		_, _ = fmt.Fprintf(out, "\n%s\n", i.Confirm)
	}
	return nil
}

func newImported(tasks []plan.Task, skipped []plan.Skipped, warnings []string) imported {
	out := imported{Tasks: make([]importedTask, len(tasks)), Skipped: append([]plan.Skipped{}, skipped...), Warnings: append([]string{}, warnings...)}
	for i := range tasks {
		out.Tasks[i].Task = &tasks[i]
		for _, r := range tasks[i].Retry {
			if out.Tasks[i].Retry == nil {
				out.Tasks[i].Retry = map[release.Class]int32{}
			}
			out.Tasks[i].Retry[r.Class] = r.Limit
		}
	}
	return out
}

// few is how many names are told of what is left out for one reason.
const few = 3

// leftOut tells what is left out, by reason, the most frequent first.
func (i imported) leftOut(out io.Writer) {
	names := map[string][]string{}
	var reasons []string
	for _, s := range i.Skipped {
		if names[s.Why] == nil {
			reasons = append(reasons, s.Why)
		}
		names[s.Why] = append(names[s.Why], s.Name)
	}
	if len(reasons) == 0 {
		return
	}
	slices.SortStableFunc(reasons, func(a, b string) int { return len(names[b]) - len(names[a]) })
	_, _ = fmt.Fprintln(out, "\nleft out")
	w := tabwriter.NewWriter(out, 2, 8, 3, ' ', 0)
	for _, why := range reasons {
		list := names[why]
		text := strings.Join(list[:min(few, len(list))], ", ")
		if len(list) > few {
			text += " …"
		}
		_, _ = fmt.Fprintf(w, "  %d\t%s\t%s\n", len(list), client.Line(why), client.Line(text))
	}
	_ = w.Flush()
}

// harmlessError is an error whose text keeps its lines and nothing else that moves the cursor.
func harmlessError(err error) error {
	lines := strings.Split(err.Error(), "\n")
	for i := range lines {
		lines[i] = client.Line(lines[i])
	}
	return errors.New(strings.Join(lines, "\n"))
}
