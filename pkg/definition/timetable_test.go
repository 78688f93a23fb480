package definition_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/definition"
)

// TestTimetable reads schedules out of definitions that are otherwise wrong, and finds the last time that was missed.
func TestTimetable(t *testing.T) {
	read := func(cron string) (definition.Timetable, error) {
		return definition.ReadTimetable([]byte("projct: x\nrelease: {branch: main}\ninclude: [gone.yaml]\ntriggers: {schedule: [{name: n, cron: \"" + cron + "\", with: {a: b}}]}\n"))
	}
	at := func(text string) time.Time {
		out, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, c := range []struct{ cron, after, until, want string }{
		{"0 3 * * *", "2026-11-20T04:00:00Z", "2026-11-21T02:59:59Z", ""},
		{"0 3 * * *", "2026-11-20T04:00:00Z", "2026-11-21T03:00:00Z", "2026-11-21T03:00:00Z"},
		{"0 3 * * *", "2026-11-21T03:00:00Z", "2026-11-21T03:10:00Z", ""},
		{"0 3 * * *", "2026-10-01T00:00:00Z", "2026-11-21T02:00:00Z", "2026-11-20T03:00:00Z"},
		{"* * * * *", "2020-01-01T00:00:00Z", "2026-11-21T02:00:30Z", "2026-11-21T02:00:00Z"},
		{"0 0 29 2 *", "2021-01-01T00:00:00Z", "2026-11-21T02:00:00Z", "2024-02-29T00:00:00Z"},
		{"0 3 * * 1", "2026-11-20T04:00:00+05:00", "2026-11-23T04:00:00+01:00", "2026-11-23T03:00:00Z"},
	} {
		table, err := read(c.cron)
		if err != nil || table.Branch != "main" || len(table.Schedules) != 1 || table.Schedules[0].With["a"] != "b" {
			t.Fatal(table, err)
		}
		due, ok := table.Schedules[0].Last(at(c.after), at(c.until))
		if c.want == "" && ok || c.want != "" && (!ok || !due.Equal(at(c.want))) {
			t.Errorf("%s after %s until %s: %s %v, want %q", c.cron, c.after, c.until, due, ok, c.want)
		}
	}
	for cron, want := range map[string]string{
		"@every 1s": "five fields", "0 0 30 2 *": "no such day", "TZ=Asia/Tokyo 0 3 * *": "cannot read the cron", "61 * * * *": "above maximum",
	} {
		if _, err := read(cron); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", cron, err, want)
		}
	}
	for _, text := range []string{"", "- a", "triggers: {schedule: {}}", "a: [", "triggers: {schedule: [{name: a}]}"} {
		if _, err := definition.ReadTimetable([]byte(text)); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}
