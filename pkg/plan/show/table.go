// Package show prints plans: as a table for people, as JSON for scripts, as a graph for dot, and as a GitLab pipeline.
package show

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// Table prints what would run, where and why; what would not and why; what the gate demands; where it is published.
// What it cannot write it leaves to the writer's owner to notice.
func Table(w io.Writer, p *plan.Plan) {
	t := &table{w: w, plan: p, names: map[release.TaskID]*plan.Task{}}
	for i := range p.Tasks {
		t.names[p.Tasks[i].ID] = &p.Tasks[i]
	}
	t.head()
	for _, stage := range stages(p) {
		t.stage(stage)
	}
	t.skipped()
	t.gate()
	t.targets()
	for i, warning := range p.Warnings {
		if i == 0 {
			t.line("")
		}
		t.line("warning: %s", clean(warning))
	}
}

type table struct {
	w     io.Writer
	plan  *plan.Plan
	names map[release.TaskID]*plan.Task
}

func (t *table) line(format string, args ...any) { _, _ = fmt.Fprintf(t.w, format+"\n", args...) }

func (t *table) head() {
	p := t.plan
	t.line("%s: %s: %s, %s", clean(p.Project), clean(changeText(p.Change)), count(len(p.Tasks), "task"), leftOut(len(p.Skipped)))
	if budgets := retryBudgets(p); budgets != "" {
		t.line("retries at most %s", budgets)
	}
	if p.Environment != "" {
		t.line("environment %s", clean(p.Environment))
	}
	if len(p.Presets) > 0 {
		t.line("presets %s", clean(strings.Join(p.Presets, ", ")))
	}
}

// retryBudgets says how often the run's tasks are tried again, whatever each of them says.
func retryBudgets(p *plan.Plan) string {
	var out []string
	if n := p.RetryBudget; n > 0 {
		out = append(out, fmt.Sprintf("%d in this run", n))
	}
	if n := p.Release.RetryBudget; n > 0 {
		of := "in this run and its reruns together"
		if name := p.Release.Name(p.Change); name != "" {
			of = "in all runs of release " + clean(name) + " together"
		}
		out = append(out, fmt.Sprintf("%d %s", n, of))
	}
	return strings.Join(out, ", ")
}

func leftOut(n int) string {
	if n == 0 {
		return "nothing left out"
	}
	return strconv.Itoa(n) + " left out"
}

// changeText says what a change is: "push to master at 4f2a9c1d".
func changeText(c release.Change) string {
	at := ""
	if c.Commit.Valid() {
		at = " at " + c.Commit.Short()
	}
	switch c.Kind {
	case release.Tag:
		return "tag " + strings.TrimPrefix(c.Ref, "refs/tags/") + at
	case release.PullRequest:
		return "pull request into " + c.Branch + at
	default:
		return string(c.Kind) + " on " + c.Branch + at
	}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// stages lists the plan's stages: builds before tests, each in order.
func stages(p *plan.Plan) []string {
	var out []string
	for _, t := range p.Tasks {
		if !slices.Contains(out, t.Stage) {
			out = append(out, t.Stage)
		}
	}
	slices.SortStableFunc(out, func(a, b string) int {
		kindA, levelA := stageOrder(a)
		kindB, levelB := stageOrder(b)
		if kindA != kindB {
			return kindA - kindB
		}
		return levelA - levelB
	})
	return out
}

func stageOrder(stage string) (kind, level int) {
	name, number, _ := strings.Cut(stage, "-")
	level, _ = strconv.Atoi(number)
	return slices.Index([]string{"prepare", "build", "test", "cleanup"}, name), level
}

// stage prints the tasks of a stage. A reason that all of them share is told once, beside the stage's name.
func (t *table) stage(stage string) {
	var tasks []*plan.Task
	for i := range t.plan.Tasks {
		if task := &t.plan.Tasks[i]; task.Stage == stage {
			tasks = append(tasks, task)
		}
	}
	shared := tasks[0].Why
	for _, task := range tasks {
		if task.Why != shared {
			shared = ""
		}
	}
	t.line("\n%s", strings.TrimSpace(clean(stage)+"   "+clean(shared)))
	w := tabwriter.NewWriter(t.w, 2, 8, 3, ' ', 0)
	for _, task := range tasks {
		cells := []string{clean(task.Name), clean(task.Pool), clean(t.needs(task))}
		if shared == "" {
			cells = append(cells, clean(task.Why))
		}
		_, _ = fmt.Fprintf(w, "  %s\n", strings.Join(cells, "\t"))
	}
	_ = w.Flush()
}

// needs names the tasks that a task needs, or counts them by job when they are many.
func (t *table) needs(task *plan.Task) string {
	if len(task.Needs) == 0 {
		return "-"
	}
	return "needs " + t.list(task.Needs, 2)
}

// list names tasks, several of one job as "wheel ×4".
func (t *table) list(ids []release.TaskID, few int) string {
	var jobs []string
	byJob := map[string][]string{}
	for _, id := range ids {
		name, job := string(id), string(id)
		if task := t.names[id]; task != nil {
			name, job = task.Name, task.Job
		}
		if byJob[job] == nil {
			jobs = append(jobs, job)
		}
		byJob[job] = append(byJob[job], name)
	}
	var out []string
	for _, job := range jobs {
		if names := byJob[job]; len(names) <= few && len(jobs) <= few || len(names) == 1 {
			out = append(out, names...)
		} else {
			out = append(out, job+" ×"+strconv.Itoa(len(names)))
		}
	}
	return strings.Join(out, ", ")
}

func (t *table) skipped() {
	var rows []plan.Skipped
	for _, s := range t.plan.Skipped {
		if !strings.HasPrefix(s.Name, "publish ") {
			rows = append(rows, s)
		}
	}
	if len(rows) == 0 {
		return
	}
	t.line("\nleft out")
	w := tabwriter.NewWriter(t.w, 2, 8, 3, ' ', 0)
	for _, s := range rows {
		_, _ = fmt.Fprintf(w, "  %s\t%s\n", clean(s.Name), clean(s.Why))
	}
	_ = w.Flush()
}

func (t *table) gate() {
	if len(t.plan.Tasks) == 0 {
		return
	}
	g := t.plan.Gate
	t.line("\ngate opens when")
	if t.has(release.Build) {
		t.line("  every build succeeds")
	}
	if len(g.Tests) > 0 {
		t.line("  these tests succeed: %s", clean(t.list(g.Tests, 3)))
	}
	if n := t.plan.Release.Approvals; n > 0 {
		t.line("  approved by %s", count(int(n), "person"))
	}
	t.mayPublish()
	if idle := t.notRequired(); len(idle) > 0 {
		t.line("  (not required: %s)", clean(t.list(idle, 3)))
	}
}

// mayPublish prints what the gate demands of the change itself, and whether this one meets it.
func (t *table) mayPublish() {
	c := t.plan.Change
	on := t.plan.Gate.On
	if len(on) == 0 {
		on = []string{string(release.Push)}
	}
	met := "met"
	if !slices.Contains(on, string(c.Kind)) {
		met = "not met, this is a " + strings.ReplaceAll(string(c.Kind), "_", " ")
	}
	t.line("  the change is a %s: %s", clean(strings.Join(on, " or a ")), clean(met))
	allowed, why := t.plan.Release.Allows(c)
	if met = "met, "; !allowed {
		met = "not met, "
	}
	t.line("  the change may publish: %s", clean(met+why))
	if len(t.plan.Targets) == 0 && !slices.ContainsFunc(t.plan.Skipped, func(s plan.Skipped) bool { return strings.HasPrefix(s.Name, "publish ") }) {
		t.line("  (then nothing is published: the definition names no target)")
	}
}

func (t *table) has(kind release.TaskKind) bool {
	return slices.ContainsFunc(t.plan.Tasks, func(task plan.Task) bool { return task.Kind == kind })
}

func (t *table) notRequired() []release.TaskID {
	required := map[release.TaskID]bool{}
	for _, id := range t.plan.Gate.Tests {
		required[id] = true
	}
	var out []release.TaskID
	for _, task := range t.plan.Tasks {
		if task.Kind == release.Test && !required[task.ID] {
			out = append(out, task.ID)
		}
	}
	return out
}

func (t *table) targets() {
	w := tabwriter.NewWriter(t.w, 2, 8, 3, ' ', 0)
	said := false
	say := func(mark, name, what, why string) {
		if !said {
			t.line("\npublish")
			said = true
		}
		_, _ = fmt.Fprintf(w, "  %s %s\t%s\t%s\n", mark, clean(name), clean(what), clean(why))
	}
	for _, target := range t.plan.Targets {
		say("+", target.Name, strings.Join(target.Select, ", ")+" to "+target.Kind, target.When)
	}
	for _, s := range t.plan.Skipped {
		if name, ok := strings.CutPrefix(s.Name, "publish "); ok {
			say("-", name, "", s.Why)
		}
	}
	_ = w.Flush()
}

// clean keeps what a definition or a branch is called from moving the cursor or breaking the columns.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return ' '
		}
		return r
	}, s)
}
