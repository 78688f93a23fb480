package health

import (
	"fmt"

	"github.com/sluiceci/sluice/pkg/fault"
)

// Sink takes records: a log, a directory, a database, an object store.
type Sink interface {
	Name() string
	Report(Record) error
}

// SinkError is what one sink made of a record.
type SinkError struct {
	Sink string
	Err  error
}

func (e SinkError) Error() string { return "sink " + e.Sink + ": " + e.Err.Error() }
func (e SinkError) Unwrap() error { return e.Err }

// Report gives a record to every sink, whatever the others make of it, and says which failed. What a sink fails with is
// the sink's matter: the test ended as it ended.
func Report(r Record, sinks []Sink) []SinkError {
	var failed []SinkError
	for _, s := range sinks {
		if err := reportTo(s, r); err != nil {
			failed = append(failed, SinkError{s.Name(), err})
		}
	}
	return failed
}

// reportTo keeps a sink's bug its own.
func reportTo(s Sink, r Record) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.New(fault.Internal, "cannot report: it panicked: %s", fmt.Sprint(p))
		}
	}()
	return s.Report(r)
}

// Where says which sinks a run has.
type Where struct{ CI, Database, State bool }

// SinkNames lists them: the log always.
func (w Where) SinkNames() []string {
	names := []string{"log"}
	for _, s := range []struct {
		name string
		on   bool
	}{{"artifacts", w.CI}, {"database", w.Database}, {"state", w.State}} {
		if s.on {
			names = append(names, s.name)
		}
	}
	return names
}
