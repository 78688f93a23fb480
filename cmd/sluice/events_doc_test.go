package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/service"
	_ "github.com/sluiceci/sluice/proto/sluice/v1" // registers the messages
)

const eventsPage = "../../docs/events.md"

// TestEventsAreDocumented holds docs/events.md to the catalogue, the schema and the services' tables;
// SLUICE_UPDATE=1 writes it.
func TestEventsAreDocumented(t *testing.T) {
	services, err := (&inventory{}).services()
	if err != nil {
		t.Fatal(err)
	}
	want := eventsReference(t, service.Topology(services...))
	if os.Getenv("SLUICE_UPDATE") != "" {
		if err := os.WriteFile(eventsPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(eventsPage)
	if err != nil || string(got) != want {
		t.Fatalf("%s is stale (%v): run make generate", eventsPage, err)
	}
}

// TestEveryEventHasASpeaker finds types that nobody says, or that nobody hears.
func TestEveryEventHasASpeaker(t *testing.T) {
	services, err := (&inventory{}).services()
	if err != nil {
		t.Fatal(err)
	}
	links := service.Topology(services...)
	for _, e := range event.Catalogue() {
		if len(speakers(links, e.Type)) == 0 {
			t.Errorf("nobody says %s", e.Type)
		}
		if len(hearers(links, e.Type)) == 0 {
			t.Errorf("nobody hears %s", e.Type)
		}
	}
}

func eventsReference(t *testing.T, links []service.Link) string {
	var b strings.Builder
	b.WriteString(`# Events

Written from the catalogue, the schema and the services' tables by ` + "`make generate`" + `; do not edit.

Every event is a CloudEvent 1.0.2, JSON, on stream ` + "`FACTS`" + ` at subject ` + "`sluice.fact.<run>.<type>.<key>`" + `; the stream
keeps one message per subject. Its type is ` + "`dev.sluice.<type>.v1`" + `, its ` + "`subject`" + ` is the key, its ` + "`data`" + ` the JSON form of the
protobuf message; extensions: ` + "`run`, `causationid`, `traceparent`" + `. Follow one run with
` + "`nats sub 'sluice.fact.RUN.>'`" + `, or one type with ` + "`nats sub 'sluice.fact.*.gate.>'`" + `.

| type | key | says | heard by | means |
|---|---|---|---|---|
`)
	for _, e := range event.Catalogue() {
		key := "–"
		if e.Keys != "" {
			key = "`" + e.Keys + "`"
		}
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s | %s | %s | %s |\n", e.Type, strings.ToLower(string(message(t, e).Name())), key,
			strings.Join(speakers(links, e.Type), ", "), strings.Join(hearers(links, e.Type), ", "), e.Doc)
	}
	b.WriteString("\n## Who hears and says what\n\n```\n")
	if err := printTopology(&b, links); err != nil {
		t.Fatal(err)
	}
	b.WriteString("```\n\n## Messages\n")
	for _, e := range event.Catalogue() {
		fmt.Fprintf(&b, "\n### %s\n\n`%s`: %s.\n\n| field | type |\n|---|---|\n", message(t, e).Name(), e.Type, e.Doc)
		fields := message(t, e).Fields()
		for i := range fields.Len() {
			fmt.Fprintf(&b, "| `%s` | %s |\n", fields.Get(i).JSONName(), fieldType(fields.Get(i)))
		}
	}
	// Lines of a table may end in blanks, which editors would remove.
	lines := strings.Split(b.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

func message(t *testing.T, e event.Entry) protoreflect.MessageDescriptor {
	found, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(e.Message()))
	if err != nil {
		t.Fatal(err)
	}
	return found.Descriptor()
}

func fieldType(f protoreflect.FieldDescriptor) string {
	name := f.Kind().String()
	if f.Message() != nil {
		name = string(f.Message().Name())
	}
	switch {
	case f.IsMap():
		return fmt.Sprintf("map of %s", f.MapValue().Kind())
	case f.IsList():
		return "list of " + name
	}
	return name
}

func speakers(links []service.Link, t event.Type) []string {
	return services(links, func(l service.Link) bool { return slices.Contains(l.Says, t) })
}

func hearers(links []service.Link, t event.Type) []string {
	return services(links, func(l service.Link) bool { return slices.Contains(l.Hears, t) })
}

func services(links []service.Link, has func(service.Link) bool) []string {
	var out []string
	for _, l := range links {
		if has(l) {
			out = append(out, l.Service)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
