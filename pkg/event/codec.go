package event

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2/event"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// ContentType is the media type of a structured CloudEvent.
const ContentType = "application/cloudevents+json"

const (
	typePrefix = "dev.sluice."
	typeSuffix = ".v1"
	// maxSize bounds what is decoded; the streams refuse larger messages as well.
	maxSize = 8 << 20
)

// WireType is the CloudEvents type: "dev.sluice.task.finished.v1".
func (t Type) WireType() string { return typePrefix + string(t) + typeSuffix }

// Encode writes the event as a structured CloudEvent, JSON.
func Encode(e Event) ([]byte, error) {
	if err := e.Validate(); err != nil {
		return nil, fault.As(fault.Invalid, err)
	}
	schema, known := schemas()[e.Type]
	if !known {
		return nil, fault.New(fault.Invalid, "cannot encode event of type %q: it is not in the catalogue", e.Type)
	}
	text, err := json.Marshal(wire[Payload]{
		SpecVersion: "1.0", ID: e.ID, Source: e.Source, Type: e.Type.WireType(), Subject: e.Key, Time: e.Time.UTC(),
		ContentType: "application/json", Schema: schema, Run: string(e.Run),
		Causation: e.Cause, TraceParent: e.TraceParent(),
		AuthID: e.Actor.Subject, AuthType: e.Actor.Method, ClientAddr: e.Actor.Remote, Data: e.Data,
	})
	if err != nil {
		return nil, fault.New(fault.Invalid, "cannot encode %s event: %w", e.Type, err)
	}
	return text, nil
}

// schemas are the names of the payloads' schemas. They are read by every encode, so they are made once.
var schemas = sync.OnceValue(func() map[Type]string {
	index := map[Type]string{}
	for _, e := range Catalogue() {
		index[e.Type] = "urn:proto:" + e.Message()
	}
	return index
})

// wire is the structured form. The SDK's own writer is not used: it is three times as slow, and events are the hot
// path. A test reads what is written here with the SDK. Data is a payload when it is written, and raw when it is read.
type wire[D any] struct {
	SpecVersion string    `json:"specversion"`
	ID          string    `json:"id"`
	Source      string    `json:"source"`
	Type        string    `json:"type"`
	Subject     string    `json:"subject,omitempty"`
	Time        time.Time `json:"time,omitzero"`
	ContentType string    `json:"datacontenttype,omitempty"`
	Schema      string    `json:"dataschema,omitempty"`
	Run         string    `json:"run,omitempty"`
	Causation   string    `json:"causationid,omitempty"`
	TraceParent string    `json:"traceparent,omitempty"`
	AuthID      string    `json:"authid,omitempty"`
	AuthType    string    `json:"authtype,omitempty"`
	ClientAddr  string    `json:"clientaddr,omitempty"`
	Data        D         `json:"data,omitempty"`
}

// TraceParent is the W3C trace context: the run is the trace, the event the span.
func (e Event) TraceParent() string {
	trace := release.DigestOf([]byte(e.Run)).Hex()[:32]
	span := release.DigestOf([]byte(e.ID)).Hex()[:16]
	return "00-" + trace + "-" + span + "-01"
}

// Decode reads a CloudEvent in structured mode, or in binary mode from its "ce-" headers. Header names are as they came;
// get looks one up.
func Decode(body []byte, get func(header string) string) (Event, error) {
	if len(body) > maxSize {
		return Event{}, fault.New(fault.Invalid, "cannot decode event of %d bytes: at most %d are read", len(body), maxSize)
	}
	if strings.HasPrefix(strings.ToLower(get("Content-Type")), "application/cloudevents") || get("ce-specversion") == "" {
		return decodeStructured(body)
	}
	return decodeBinary(body, get)
}

func decodeStructured(body []byte) (Event, error) {
	if w, ok := scan(body); ok {
		if e, err := read(w); err == nil {
			return e, nil
		}
	}
	return decodeAny(body)
}

// decodeAny reads a structured CloudEvent whatever its form.
func decodeAny(body []byte) (Event, error) {
	var w wire[json.RawMessage]
	if err := json.Unmarshal(body, &w); err != nil {
		return Event{}, fault.New(fault.Invalid, "cannot decode event: not a structured CloudEvent: %w", err)
	}
	return read(w)
}

// decodeBinary uses the SDK's setters, which know every rule of the attributes' forms. The version is checked first: the
// SDK gives an event without a context for a version that it does not know, and panics at the first setter.
func decodeBinary(body []byte, get func(string) string) (Event, error) {
	if err := checkVersion(get("ce-specversion")); err != nil {
		return Event{}, err
	}
	ce := cloudevents.New(cloudevents.CloudEventsVersionV1)
	ce.SetID(get("ce-id"))
	ce.SetSource(get("ce-source"))
	ce.SetType(get("ce-type"))
	if err := ce.Validate(); err != nil {
		return Event{}, fault.New(fault.Invalid, "cannot decode event: its ce- headers are no CloudEvent: %w", err)
	}
	w := wire[json.RawMessage]{
		SpecVersion: ce.SpecVersion(), ID: ce.ID(), Source: ce.Source(), Type: ce.Type(), Subject: get("ce-subject"),
		Run: get("ce-run"), Causation: get("ce-causationid"),
		AuthID: get("ce-authid"), AuthType: get("ce-authtype"), ClientAddr: get("ce-clientaddr"), Data: body,
	}
	if at := get("ce-time"); at != "" {
		t, err := time.Parse(time.RFC3339Nano, at)
		if err != nil {
			return Event{}, fault.New(fault.Invalid, "cannot decode event: ce-time is %q, expected RFC 3339", at)
		}
		w.Time = t
	}
	return read(w)
}

// checkVersion accepts the one version of CloudEvents that is read.
func checkVersion(version string) error {
	if version != cloudevents.CloudEventsVersionV1 {
		return fault.New(fault.Invalid, "cannot decode event: specversion is %q, expected %q", version, cloudevents.CloudEventsVersionV1)
	}
	return nil
}

func read(w wire[json.RawMessage]) (Event, error) {
	if err := checkVersion(w.SpecVersion); err != nil {
		return Event{}, err
	}
	t := Type(strings.TrimSuffix(strings.TrimPrefix(w.Type, typePrefix), typeSuffix))
	entry, known := find(t)
	switch {
	case w.ID == "" || w.Source == "":
		return Event{}, fault.New(fault.Invalid, "cannot decode event: id %q and source %q must both be set", w.ID, w.Source)
	case !known || w.Type != t.WireType():
		return Event{}, fault.New(fault.Invalid, "cannot decode event: type %q is not in the catalogue", w.Type)
	}
	if len(w.Data) == 0 {
		w.Data = []byte("{}")
	}
	data, err := entry.Decode(w.Data)
	if err != nil {
		return Event{}, fault.New(fault.Invalid, "cannot decode %s event %s: its data is no %s: %w", t, w.ID, entry.Message(), err)
	}
	e := Event{
		ID: w.ID, Type: t, Source: w.Source, Run: release.RunID(w.Run), Key: data.Key(), Time: w.Time, Cause: w.Causation,
		Actor: Actor{Subject: w.AuthID, Method: w.AuthType, Remote: w.ClientAddr},
		Data:  data,
	}
	if err := e.Validate(); err != nil {
		return Event{}, fault.New(fault.Invalid, "cannot decode event: %w", err)
	}
	if w.Subject != e.Key {
		return Event{}, fault.New(fault.Invalid, "cannot decode %s event %s: its subject is %q but its data says %q",
			t, w.ID, w.Subject, e.Key)
	}
	return e, nil
}

// Describe is the event in one line, for logs.
func (e Event) Describe() string {
	return strings.TrimSuffix(fmt.Sprintf("%s %s/%s", e.Type, e.Run, e.Key), "/")
}
