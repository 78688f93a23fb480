package reporter

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/sluiceci/sluice/services/reporter/readmodel"
)

// TestRestartGoesOnWhereItWas ends the service again and again while facts come, and shows that each was counted once.
func TestRestartGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	config := Config{Database: "sqlite://" + filepath.Join(t.TempDir(), "reporter.db")}
	w := begin(t, config)
	events := w.story.Events
	for len(events) > 0 {
		n := min(150, len(events))
		must(t, w.bus.Publish(t.Context(), events[:n]...))
		events = events[n:]
		w.stop()
		<-w.ended
		w.serve(config)
	}
	w.folded("running", "shut", "released")
	for name := range w.story.Runs {
		got := ask[struct {
			Timeline []readmodel.Moment `json:"timeline"`
		}](t, w, w.path(name)+"/timeline?limit=1000")
		if want := len(w.story.Of(name)); len(got.Timeline) != want {
			t.Errorf("%s has %d facts in its timeline, want %d", name, len(got.Timeline), want)
		}
	}
}

// FuzzArtifactCursor shows that a place in the list of artifacts survives its way through an address.
func FuzzArtifactCursor(f *testing.F) {
	f.Add("wheel", "a/b c%.whl", "wheel")
	f.Add("", "\x00/\n", "ü")
	f.Fuzz(func(t *testing.T, task, name, kind string) {
		key, err := afterArtifact(artifactCursor(readmodel.Artifact{Task: "t", Name: name, Type: kind}))
		if err != nil || key.Task != "t" || key.Name != name || key.Type != kind {
			t.Fatalf("%q, %q came back as %+v, %v", name, kind, key, err)
		}
		_, _ = afterArtifact(task) // anything is read, or refused
	})
}

// FuzzDisposition shows that no name of an artifact leaves its place in the header.
func FuzzDisposition(f *testing.F) {
	f.Add("a.whl")
	f.Add("\"; filename=evil.html\r\nX: y")
	f.Fuzz(func(t *testing.T, name string) {
		got := disposition(readmodel.Artifact{Name: name})
		if strings.Count(got, `"`) != 2 || strings.ContainsFunc(got, func(r rune) bool { return unicode.IsControl(r) || r > '~' }) {
			t.Fatalf("%q gives %q", name, got)
		}
	})
}
