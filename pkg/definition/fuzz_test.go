package definition_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/definition"
	"github.com/sluiceci/sluice/pkg/release"
)

// FuzzCondition: any text as a condition of a job gives a plan, or problems with places.
func FuzzCondition(f *testing.F) {
	for _, s := range []string{
		`p == "1"`, "int(p) > 0 && settings.a.b == 1", "change.branch.matches('^m')", "[1,2].all(x, x > 0)", "has(settings.a)", "\"a\" + p", "1/0 == 1",
		"[1,2,3].map(x, [x].map(y, y)) == []", "size('a') > 0 ? true : false", "change.parameters.x",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, condition string) {
		text := fmt.Sprintf("project: x\nsettings: {a: {b: 1}}\nbuilds: {a: {run: x, matrix: {p: [1, 2]}, if: %q}}\ngate: {require: [builds]}\n", condition)
		_, err := resolve(text, definition.Request{Change: release.Change{Kind: release.Push, Branch: "master"}})
		if _, ok := err.(definition.Errors); err != nil && !ok {
			t.Fatalf("the error is %T: %v", err, err)
		}
	})
}

// FuzzCron: any text as a time is a problem with a place, or has a next time within bounds.
func FuzzCron(f *testing.F) {
	for _, s := range []string{"0 3 * * *", "*/5 * * * 1-5", "@daily", "TZ=Europe/Paris 0 3 * * *", "0 0 30 2 *", "1-59/2 * * * *"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, cron string) {
		text := fmt.Sprintf("project: x\ntriggers: {schedule: [{name: n, cron: %q}]}\nbuilds: {a: {run: x}}\ngate: {require: [builds]}\n", cron)
		began := time.Now()
		_, err := resolve(text, definition.Request{Change: release.Change{Kind: release.Schedule, Branch: "master", Parameters: map[string]string{"schedule": "n"}}})
		if _, ok := err.(definition.Errors); err != nil && !ok || time.Since(began) > time.Minute {
			t.Fatalf("the error is %T: %v, after %s", err, err, time.Since(began))
		}
	})
}

// FuzzTemplate: any text with marks, in a place that no shell reads.
func FuzzTemplate(f *testing.F) {
	for _, s := range []string{"{{ p }}", "{{ settings.a.b }}-{{ commit }}", `{{ "{{" }}`, "{{", "{{ x | upper }}", "{{ settings.a }}", "{{settings.a.b}}}}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, template string) {
		text := fmt.Sprintf("project: x\nsettings: {a: {b: 1}}\nbuilds: {a: {run: x, matrix: {p: [1, 2]}, env: {V: %q}, prepare: %q}}\ngate: {require: [builds]}\n", template, template)
		_, err := resolve(text, definition.Request{Change: release.Change{Kind: release.Push, Branch: "master"}})
		if _, ok := err.(definition.Errors); err != nil && !ok {
			t.Fatalf("the error is %T: %v", err, err)
		}
	})
}
