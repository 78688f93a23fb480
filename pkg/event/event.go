package event

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/release"
)

// Type is what happened, "task.finished". On the wire it is "dev.sluice.task.finished.v1".
type Type string

// Fleet is the run of events that belong to no run: those of pools and executors.
const Fleet release.RunID = "-"

// Payload is the typed content of an event.
type Payload interface {
	// EventType names the entry of the catalogue.
	EventType() Type
	// Key tells this event from others of the same run and type: tokens joined by ".", or "" when it happens once.
	Key() string
}

// Event is a fact with its envelope.
type Event struct {
	ID     string        // derived from the cause, the type and the key
	Type   Type          //
	Source string        // who says it: "/executor/linux/ab12"
	Run    release.RunID // Fleet when it belongs to none
	Key    string        // as the payload gave it
	Time   time.Time     // when it was said, by the speaker's clock
	Cause  string        // id of the event that caused this one; empty for what comes from outside
	Actor  Actor         // who asked for it; empty for what no person did
	Data   Payload       // never nil in an event that was decoded

	Seq    uint64    // where the stream keeps it; 0 before it is stored
	Stored time.Time // when the stream stored it, by the server's clock; zero before
}

// New makes an event that cause led to. Its id is derived, so that the same cause gives the same event again.
func New(cause Event, source string, now time.Time, data Payload) Event {
	e := Root(cause.Run, source, now, data)
	e.Cause = cause.ID
	e.ID = release.Derive(cause.ID, string(e.Type), e.Key)
	return e
}

// Root makes an event whose cause is outside: a delivery, a person, a clock. Its id is derived from its place.
func Root(run release.RunID, source string, now time.Time, data Payload) Event {
	e := Event{Type: data.EventType(), Source: source, Run: run, Key: data.Key(), Time: now.UTC(), Data: data}
	e.ID = release.Derive(string(run), string(e.Type), e.Key)
	return e
}

// The first tokens of the subjects of each stream.
const (
	factPrefix  = "sluice.fact."
	fleetPrefix = "sluice.fleet."
)

// Subject is the event's place as a subject: "sluice.fact.<run>.task.finished.<pool>.<task>.<attempt>".
func (e Event) Subject() string {
	prefix := factPrefix + string(e.Run) + "." + string(e.Type)
	if e.Type.Ephemeral() {
		prefix = fleetPrefix + string(e.Type)
	}
	if e.Key == "" {
		return prefix
	}
	return prefix + "." + e.Key
}

// Filter is the subject filter for all events of a type, of any run, whose key begins with the tokens given.
func (t Type) Filter(key ...string) string { return t.FilterRun("*", key...) }

// FilterRun is Filter for one run.
func (t Type) FilterRun(run release.RunID, key ...string) string {
	prefix := factPrefix + string(run) + "." + string(t)
	if t.Ephemeral() {
		prefix = fleetPrefix + string(t)
	}
	for _, k := range key {
		prefix += "." + k
	}
	if keyed, ok := find(t); ok && len(key) < keyed.tokens() {
		return prefix + ".>"
	}
	return prefix
}

// RunFilter is the subject filter for all facts of a run.
func RunFilter(run release.RunID) string { return factPrefix + string(run) + ".>" }

// Ephemeral reports whether events of this type say only what is so now (heartbeats): each replaces the one before it
// in its place, and none is a fact.
func (t Type) Ephemeral() bool { return t == TypeExecutorHeartbeat || t == TypeSchedulerHeartbeat }

// Validate checks the envelope: what is wrong here would be refused, or misread, by the bus.
func (e Event) Validate() error {
	switch {
	case e.Data == nil:
		return fmt.Errorf("cannot publish %s event: it has no data", e.Type)
	case e.ID == "" || e.Source == "":
		return fmt.Errorf("cannot publish %s event: id %q and source %q must both be set", e.Type, e.ID, e.Source)
	case !release.Token(string(e.Run)):
		return fmt.Errorf("cannot publish %s event: run %q is not letters, digits, - and _", e.Type, e.Run)
	}
	if e.Key == "" {
		return nil
	}
	for token := range strings.SplitSeq(e.Key, ".") {
		if !release.Token(token) {
			return fmt.Errorf("cannot publish %s event: %q in key %q is not letters, digits, - and _", e.Type, token, e.Key)
		}
	}
	return nil
}
