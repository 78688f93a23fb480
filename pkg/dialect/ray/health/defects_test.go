package health

import (
	"errors"
	"strings"
	"testing"
)

// sink is a sink of a test.
type sink struct {
	name   string
	report func(Record) error
}

func (s sink) Name() string          { return s.name }
func (s sink) Report(r Record) error { return s.report(r) }

// TestDefect10SinksAreIsolated: one that fails and one that panics keep no other from the record, and each is named.
func TestDefect10SinksAreIsolated(t *testing.T) {
	t.Parallel()
	var got []string
	well := func(name string) sink {
		return sink{name, func(r Record) error { got = append(got, name+string(r.Status)); return nil }}
	}
	down := errors.New("the database is down")
	sinks := []Sink{
		sink{"database", func(Record) error { return down }},
		well("log"),
		sink{"state", func(Record) error { var m map[string]int; m["x"]++; return nil }},
		well("artifacts"),
	}
	failed := Report(Record{Status: "error"}, sinks)
	if strings.Join(got, " ") != "logerror artifactserror" {
		t.Errorf("reported to %q", got)
	}
	if len(failed) != 2 || failed[0].Sink != "database" || !errors.Is(failed[0], down) || failed[1].Sink != "state" || !strings.Contains(failed[1].Error(), "panicked") {
		t.Errorf("%v", failed)
	}
	if len(Report(Record{}, nil)) != 0 {
		t.Error("no sinks fail")
	}
	if got := (Where{CI: true, Database: true, State: true}).SinkNames(); strings.Join(got, " ") != "log artifacts database state" {
		t.Errorf("%q", got)
	}
	if got := (Where{}).SinkNames(); strings.Join(got, " ") != "log" {
		t.Errorf("%q", got)
	}
}

// TestDefect22TwoFailuresAtOnceAreBisected: Ray's opens the issue and asks nobody who broke the test.
func TestDefect22TwoFailuresAtOnceAreBisected(t *testing.T) {
	t.Parallel()
	turn := Look(Test{Name: "t"}, results("E,E,S"), now())
	if turn.To != ConsistentlyFailing || len(turn.Intents) != 2 || turn.Intents[0].Do != Bisect || turn.Intents[0].Passing != "c0" || turn.Intents[0].Failing != "c1" {
		t.Errorf("%+v", turn)
	}
}
