package main

import (
	"reflect"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/client"
	"github.com/sluiceci/sluice/services/gateway"
)

func TestClientReadsTheHealthOfTests(t *testing.T) {
	t.Parallel()
	for _, pair := range []struct{ server, client any }{
		{gateway.TestStatus{}, client.TestStatus{}}, {gateway.BisectStatus{}, client.BisectStatus{}},
	} {
		want, got := fields(reflect.TypeOf(pair.server)), fields(reflect.TypeOf(pair.client))
		delete(want, "number") // of the server alone
		if !reflect.DeepEqual(want, got) {
			t.Errorf("%T has %v, %T has %v", pair.server, want, pair.client, got)
		}
	}
}

func TestCommandsOfHealthAreChecked(t *testing.T) {
	t.Parallel()
	for line, says := range map[string]string{
		"tests jail soak": "give --owner",
		"tests jail soak --owner x --until yesterday": "expected a day",
		"tests jail soak --owner x --until -1h":       "expected a day",
		"bisect soak":                                 "give --good and --bad",
		"bisect soak --good a --bad b --param x":      "expected name=value",
		"bisect soak --good a --bad b --deadline x":   "--deadline",
	} {
		if got := sluice(t, strings.Fields(line)...); got.code != 64 || !strings.Contains(got.talk, says) {
			t.Errorf("%s: exit %d: %s", line, got.code, got.talk)
		}
	}
}
