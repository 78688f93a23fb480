package gateway

import (
	"os"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/bus"
)

// Every endpoint stands in the documentation, and every event that it may say.
func TestDocumentationNamesEveryEndpoint(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/gateway.md")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, Config{}, remote{}, bus.Options{})
	for _, e := range w.gateway.endpoints() {
		pattern := strings.NewReplacer("{forge}", "FORGE", "{project}", "PROJECT", "POST /hooks", "/hooks").Replace(e.Pattern)
		if !strings.Contains(string(text), pattern) {
			t.Errorf("docs/gateway.md does not tell of %s", pattern)
		}
	}
	for _, said := range w.gateway.edge().Says {
		if !strings.Contains(string(text), "`"+string(said)+"`") {
			t.Errorf("docs/gateway.md does not tell of %s", said)
		}
	}
}
