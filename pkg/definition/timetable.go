package definition

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/robfig/cron/v3"

	"github.com/sluiceci/sluice/pkg/fault"
)

// Timetable is when a definition wants to be run, whatever else it says.
type Timetable struct {
	Branch    string // whose head is run
	Schedules []Time
}

// Time is one schedule.
type Time struct {
	Name string
	With map[string]string
	Cron string // as written

	Overlap string // OverlapSkip when empty

	cron cron.Schedule
}

// ReadTimetable reads only what a definition says of its release branch and its schedules. Nothing that it includes has a
// part in that. An error says that this cannot be read; what else is wrong with the definition is for its runs to tell.
func ReadTimetable(text []byte) (Timetable, error) {
	s := newSource("sluice.yaml", string(text))
	body := parseText(s)
	def := &Definition{}
	if body != nil {
		d := &decoder{source: s, anchors: map[string]ast.Node{}}
		ast.Walk(anchorCollector{d}, body)
		keys := slices.DeleteFunc(keysOfType(reflect.TypeFor[Definition]()), func(k key) bool { return k.name != "release" && k.name != "triggers" })
		found, _ := d.entries(body, "a definition")
		found = slices.DeleteFunc(found, func(e entry) bool { return e.name != "release" && e.name != "triggers" })
		d.fields(body, found, keys, reflect.ValueOf(def).Elem())
	}
	if err := s.problems.orNil(); err != nil {
		return Timetable{}, fault.As(fault.Invalid, err)
	}
	out := Timetable{Branch: def.Policy().Branch}
	for _, one := range def.Triggers.Schedule {
		times, problem := parseCron(one.Cron.Value)
		if problem != "" {
			return Timetable{}, fault.New(fault.Invalid, "cannot read the cron expression of schedule %.60q: %s", one.Name.Value, problem)
		}
		out.Schedules = append(out.Schedules, Time{Name: one.Name.Value, With: textMap(one.With), Cron: one.Cron.Value, Overlap: one.Overlap.Value, cron: times})
	}
	return out, nil
}

// parseCron reads five fields, in UTC, or a word such as @daily. The word @every, which counts from whenever somebody
// begins to count, is refused.
func parseCron(text string) (times cron.Schedule, problem string) {
	word := strings.HasPrefix(text, "@") && !strings.HasPrefix(text, "@every")
	if len(text) > 200 || !word && len(strings.Fields(text)) != 5 {
		return nil, "expected five fields: minute, hour, day of the month, month, day of the week"
	}
	times, err := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor).Parse(text)
	if err != nil {
		return nil, err.Error()
	}
	if times.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return nil, "there is no such day"
	}
	return times, ""
}

// Has reports whether a schedule stands in the timetable with the same times.
func (t Timetable) Has(one Time) bool {
	return slices.ContainsFunc(t.Schedules, func(s Time) bool { return s.Name == one.Name && s.Cron == one.Cron })
}

// Last is the last time after one moment, and not after another, at which the schedule is due. Of all the times that were
// missed in between, the last stands for them all.
func (t Time) Last(after, until time.Time) (due time.Time, ok bool) {
	after, until = after.UTC(), until.UTC()
	for _, window := range []time.Duration{time.Hour, 24 * time.Hour, 32 * 24 * time.Hour, 366 * 24 * time.Hour, 5 * 366 * 24 * time.Hour} {
		from := until.Add(-window)
		if from.Before(after) {
			from = after
		}
		for next := t.cron.Next(from); !next.IsZero() && !next.After(until); next = t.cron.Next(next) {
			due, ok = next, true
		}
		if ok || from.Equal(after) {
			return due, ok
		}
	}
	return due, ok
}
