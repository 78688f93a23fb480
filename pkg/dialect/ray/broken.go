package ray

import (
	"strings"

	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// exitBroken is the status of a task whose test is broken; it means config.
const exitBroken = 78

// brokenTasks are tasks that fail in place of tests that would run and cannot: what is missing is no success. Each says what is
// wrong with its definition, runs on nothing, and is tried once.
func brokenTasks(tests []*Test, o TaskOptions) []plan.Task {
	out := make([]plan.Task, 0, len(tests))
	for i, t := range tests {
		out = append(out, plan.Task{
			ID:   release.TaskID(release.Derive("broken", t.File, number64(int64(t.Line)), t.Name, number64(int64(i)))),
			Name: t.Name + " (broken)", Job: t.Name, Kind: release.Test, Pool: o.Pool, Stage: "test-1", Priority: o.Priority,
			Group: t.Group, Team: t.Team, Owner: t.Team, Stable: t.Stable, SoftFail: !t.Stable && t.rules.SoftUnstable, Checkout: "none",
			Tags:  t.tags(t.Env),
			Run:   "printf '%s\\n' " + quoted("this test cannot run: "+t.Problem) + " >&2\nexit " + number64(exitBroken),
			Exits: []release.Exit{{From: exitBroken, To: exitBroken, Class: release.ClassConfig}},
			Why:   "its definition is broken: " + t.Problem,
		})
	}
	return out
}

// quoted is a text as one word of a shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
