package event_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"pgregory.net/rapid"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
	_ "github.com/sluiceci/sluice/proto/sluice/v1" // registers the messages
	"github.com/sluiceci/sluice/test/property"
)

// message makes an empty message of the schema of an entry.
func message(t testing.TB, e event.Entry) proto.Message {
	t.Helper()
	typ, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(e.Message()))
	if err != nil {
		t.Fatalf("%s has no schema: add message %s to proto/: %v", e.Type, e.Message(), err)
	}
	return typ.New().Interface()
}

// TestPayloadsAreTheirMessages holds the structs and the schema together: what a payload's JSON says, its message reads
// strictly, and writes again with the same meaning.
func TestPayloadsAreTheirMessages(t *testing.T) {
	t.Parallel()
	for _, entry := range event.Catalogue() {
		t.Run(string(entry.Type), func(t *testing.T) {
			t.Parallel()
			property.Check(t, func(r *rapid.T) {
				zero, _ := entry.Decode([]byte("{}"))
				value := reflect.New(reflect.TypeOf(zero)).Elem()
				fill(r, value, "")
				text, err := json.Marshal(value.Interface())
				if err != nil {
					r.Fatal(err)
				}
				m := message(t, entry)
				if err := protojson.Unmarshal(text, m); err != nil {
					r.Fatalf("%s does not read %s: %v", entry.Message(), text, err)
				}
				again, err := protojson.Marshal(m)
				if err != nil {
					r.Fatal(err)
				}
				back, err := entry.Decode(again)
				if err != nil {
					r.Fatal(err)
				}
				if want, got := canonical(r, value.Interface()), canonical(r, back); want != got {
					r.Fatalf("through %s:\n%s\nbecame\n%s", entry.Message(), want, got)
				}
			})
		})
	}
}

// TestMessagesHaveNoMoreThanPayloads finds fields that the schema has and the structs do not.
func TestMessagesHaveNoMoreThanPayloads(t *testing.T) {
	t.Parallel()
	for _, entry := range event.Catalogue() {
		zero, _ := entry.Decode([]byte("{}"))
		fields := message(t, entry).ProtoReflect().Descriptor().Fields()
		if got, want := fields.Len(), reflect.TypeOf(zero).NumField(); got != want {
			t.Errorf("%s has %d fields, its payload has %d", entry.Message(), got, want)
		}
	}
}

func canonical(t *rapid.T, v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// fill draws every field of a payload.
func fill(t *rapid.T, v reflect.Value, label string) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(rapid.Int64Range(1, 4e9).Draw(t, label), rapid.Int64Range(0, 999_999_999).Draw(t, label)).UTC()))
		return
	case release.Duration:
		v.SetInt(rapid.Int64Range(-1e15, 1e15).Draw(t, label))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i), v.Type().Field(i).Name)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), rapid.IntRange(0, 2).Draw(t, label), 2))
		for i := range v.Len() {
			fill(t, v.Index(i), label)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range rapid.IntRange(0, 2).Draw(t, label) {
			value := reflect.New(v.Type().Elem()).Elem()
			fill(t, value, label)
			v.SetMapIndex(reflect.ValueOf(rapid.StringMatching(`[a-z]{1,6}`).Draw(t, label)), value)
		}
	case reflect.String:
		v.SetString(rapid.String().Draw(t, label))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, label))
	case reflect.Int32:
		v.SetInt(int64(rapid.Int32().Draw(t, label)))
	case reflect.Int64:
		v.SetInt(rapid.Int64().Draw(t, label))
	case reflect.Float64:
		v.SetFloat(rapid.Float64Range(-1e12, 1e12).Draw(t, label))
	default:
		t.Fatalf("cannot fill %s (%s): teach this test", label, v.Type())
	}
}
