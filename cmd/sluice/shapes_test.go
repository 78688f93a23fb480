package main

import (
	"reflect"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/client"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/schedule"
	"github.com/sluiceci/sluice/services/reporter/readmodel"
	reported "github.com/sluiceci/sluice/services/reporter/view"
)

// TestClientReadsWhatTheServerWrites holds the client's types to those that the server encodes: the same names in JSON,
// the same kinds of values.
func TestClientReadsWhatTheServerWrites(t *testing.T) {
	t.Parallel()
	for _, pair := range []struct{ server, client any }{
		{readmodel.Run{}, client.Run{}},
		{readmodel.Task{}, client.Task{}},
		{readmodel.Attempt{}, client.Attempt{}},
		{readmodel.Gate{}, client.Gate{}},
		{readmodel.Candidate{}, client.Candidate{}},
		{readmodel.Step{}, client.Step{}},
		{readmodel.Release{}, client.Release{}},
		{readmodel.Export{}, client.Export{}},
		{readmodel.Moment{}, client.Moment{}},
		{readmodel.Artifact{}, client.Artifact{}},
		{readmodel.ArtifactTotals{}, client.ArtifactTotals{}},
		{plan.Skipped{}, client.LeftOut{}},
		{reported.Detail{}, client.Status{}},
		{reported.Event{}, client.Event{}},
		{reported.Answer{}, client.Why{}},
		{schedule.Holder{}, client.Holder{}},
		{schedule.Pool{}, client.Pool{}},
		{schedule.Executor{}, client.Executor{}},
		{schedule.Quota{}, client.Limit{}},
		{bus.StreamStatus{}, client.Stream{}},
		{bus.ConsumerStatus{}, client.Consumer{}},
		{bus.DeadLetter{}, client.DeadLetter{}},
	} {
		want, got := fields(reflect.TypeOf(pair.server)), fields(reflect.TypeOf(pair.client))
		for name, kind := range want {
			if got[name] != kind {
				t.Errorf("%T.%s is a %s; %T has %q", pair.server, name, kind, pair.client, got[name])
			}
		}
		for name := range got {
			if want[name] == "" {
				t.Errorf("%T has %s, which %T does not", pair.client, name, pair.server)
			}
		}
	}
}

// fields are the JSON names of a struct with the kinds of their values.
func fields(t reflect.Type) map[string]string {
	out := map[string]string{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			for k, v := range fields(f.Type) {
				out[k] = v
			}
		case name != "" && name != "-":
			out[name] = kind(f.Type)
		}
	}
	return out
}

func kind(t reflect.Type) string {
	if t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		return t.Kind().String() + " of " + t.Elem().Kind().String()
	}
	return t.Kind().String()
}
