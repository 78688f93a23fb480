package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

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

// TestTheInstallationSaysWhoseHealthIsFollowed reads the example of the documentation.
func TestTheInstallationSaysWhoseHealthIsFollowed(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/operate/health.md")
	must(t, err)
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	text, _, _ := strings.Cut(rest, "```")
	file := filepath.Join(t.TempDir(), "sluice.yaml")
	must(t, os.WriteFile(file, []byte(text), 0o600))
	in, err := readInstallation(file)
	must(t, err)
	in.share()
	if len(in.Reporter.Projects) != 1 || in.Reporter.Projects[0].Forge != "" {
		t.Fatalf("the reporter serves %+v", in.Reporter.Projects)
	}
	h := in.Reporter.Projects[0].Health
	if h == nil || !h.Issues || h.JailFor != 14*24*time.Hour || h.Bisect.Deadline != 24*time.Hour || h.Bisect.Budget != 30 || len(h.NeverJail) != 1 {
		t.Errorf("its health is %+v", h)
	}
}
