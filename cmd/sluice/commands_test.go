package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/sluiceci/sluice/pkg/client"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// TestCommands runs the commands that look at a Sluice against one that was told a story.
func TestCommands(t *testing.T) {
	t.Parallel()
	w := told(t)
	for _, c := range []struct {
		line string // "<run>" stands for that run of the story
		code int
		says []string
	}{
		{"runs", 0, []string{"RUN", "✗ failure", "✓ success", "● running", "✗ rejected", "– ignored", "#7", "Release 1.4.0"}},
		{"runs --limit 2", 0, []string{"● running"}},
		{"runs --state rejected", 0, []string{"gpu-tests"}},
		{"runs --branch nobody", 0, []string{"There are no runs yet."}},
		{"status <released>", 0, []string{"✓ success", "the candidate is on all 4 targets", "Gate: open", "Targets: published", "VERIFIED"}},
		{"status <shut>", 1, []string{"✗ test-wheels (3.12)", "test_rows_are_in_order", "| 1 failed, 23 passed", "Gate: closed", "sluice logs"}},
		{"status <rejected>", 1, []string{"sluice.yaml:12:5: unknown key \"neds\"", "did you mean \"needs\"?", "sluice.yaml:31:11"}},
		{"status <broken release>", 1, []string{"✗ failed", "raise the version"}},
		{"status <ignored>", 0, []string{"– ignored"}},
		{"status <running>", 0, []string{"● running", "sluice watch"}},
		{"status", 0, []string{"● running"}},
		{"status nosuchrun", 2, []string{"cannot find run \"nosuchrun\"", "sluice runs"}},
		{"watch <shut>", 1, []string{"gate closed: tests", "✗ failure"}},
		{"watch <released> --json", 0, []string{`"type":"release.published"`}},
		{"why <shut>", 0, []string{"the gate is shut", "The gate demands"}},
		{"why <shut>/test-wheels-3_12", 0, []string{"command is not retried"}},
		{"why <shut>/nosuchtask", 2, []string{"cannot find task"}},
		{"logs <shut>/test-wheels-3_12", 0, []string{"collected 24 tests", "AssertionError"}},
		{"logs <shut>/test-wheels-3_12 --from-line 2 --json", 0, []string{`{"task":"test-wheels-3_12","line":2,"text":"collected 24 tests"}`}},
		{"logs <shut>/test-wheels-3_12 --tail 1 --json", 0, []string{`"line":33,`}},
		{"logs <shut>/test-wheels-3_12 --tail 900 --json", 0, []string{`"line":1,`}},
		{"logs <shut>/test-jar --attempt 1", 0, []string{"No space left on device"}},
		{"logs <shut>/test-jar --attempt 9", 2, []string{"cannot find this attempt"}},
		{"logs <shut>", 0, []string{"test-wheels-3_12 ", " | collected 24 tests", "test-jar #2 "}},
		{"logs -f <shut>", 0, []string{"test-jar #2 ", " | collected 24 tests"}},
		{"artifacts <released>", 0, []string{"TASK", "sha256:"}},
		{"artifacts <released>/nosuchtask", 2, []string{"cannot find task"}},
		{"pools", 0, []string{"linux", "● working"}},
		{"events show <shut> --type gate", 0, []string{"gate.closed", "gate closed: tests"}},
		{"events show <shut> --limit 3", 0, []string{"change.received", "There are more: sluice events show"}},
		{"events show <shut> --json --type run.planned", 0, []string{`"gateTests":`}},
		{"events replay <shut>", 0, []string{"run planned", "→ ", "said as", "Now: "}},
		{"events replay <released> --json", 0, []string{`"decided"`, `"fact"`}},
		{"events tail --run <shut> --type gate.closed", 0, []string{"gate closed"}},
		{"deadletters list", 0, []string{"There are no dead letters."}},
		{"deadletters show 1", 2, []string{"cannot show dead letter 1"}},
		{"top", 0, []string{"1 run going on", "Pools", "FACTS", "reporter-status-final"}},
	} {
		t.Run(c.line, func(t *testing.T) {
			t.Parallel()
			got := sluice(t, w.args(c.line)...)
			if got.code != c.code {
				t.Errorf("exit %d, want %d", got.code, c.code)
			}
			for _, says := range c.says {
				if !strings.Contains(got.out+got.talk, says) {
					t.Errorf("it does not say %q", says)
				}
			}
			if t.Failed() {
				t.Logf("printed:\n%s\nsaid:\n%s", got.out, got.talk)
			}
		})
	}
}

// args are the words of a line; "<name>" becomes the run of that name, which may hold spaces.
func (w *world) args(line string) []string {
	for name, run := range w.runs {
		line = strings.ReplaceAll(line, "<"+name+">", string(run))
	}
	return append(strings.Fields(line), "--dir", w.dir)
}

// TestEveryAnswerIsJSON runs what looks with --json: each line, or the whole, is JSON.
func TestEveryAnswerIsJSON(t *testing.T) {
	t.Parallel()
	w := told(t)
	for _, line := range []string{
		"runs", "status <shut>", "watch <shut>", "logs <shut>", "artifacts <shut>", "why <shut>", "pools", "events show <shut>",
		"events replay <shut>", "events tail --run <shut>", "deadletters list", "top",
	} {
		got := sluice(t, append(w.args(line), "--json")...)
		in := json.NewDecoder(strings.NewReader(got.out))
		values := 0
		for in.More() {
			var v any
			if err := in.Decode(&v); err != nil {
				t.Fatalf("%s: %v in %q", line, err, got.out)
			}
			values++
		}
		if values == 0 {
			t.Errorf("%s --json printed nothing; it said %q", line, got.talk)
		}
	}
}

// TestHostileTextIsHarmless shows a run whose every name is hostile.
func TestHostileTextIsHarmless(t *testing.T) {
	t.Parallel()
	w := told(t)
	for _, line := range []string{
		"runs", "status <hostile>", "watch <hostile>", "logs <hostile>", "artifacts <hostile>", "why <hostile>", "events show <hostile>",
		"events replay <hostile>",
	} {
		got := sluice(t, w.args(line)...)
		if i := strings.IndexFunc(got.out+got.talk, func(r rune) bool {
			return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r)
		}); i >= 0 || got.out == "" {
			t.Errorf("%s printed a control character at %d: %q %q", line, i, got.out, got.talk)
		}
	}
}

func TestDownloadedArtifactsAreCompared(t *testing.T) {
	t.Parallel()
	w := told(t)
	into := filepath.Join(t.TempDir(), "out")
	line := append(w.args("artifacts <released> --json"), "--download", into)
	first, again := sluice(t, line...), sluice(t, line...)
	var listed struct{ Artifacts []client.Artifact }
	must(t, json.Unmarshal([]byte(first.out), &listed))
	if first.code != 0 || again.code != 0 || len(listed.Artifacts) < 10 {
		t.Fatalf("exit %d and %d, %d artifacts: %s", first.code, again.code, len(listed.Artifacts), first.talk)
	}
	for _, a := range listed.Artifacts {
		content, err := os.ReadFile(filepath.Join(into, string(a.Task), a.Name))
		if err != nil || release.DigestOf(content) != a.Digest {
			t.Errorf("%s/%s: %v, digest %s, want %s", a.Task, a.Name, err, release.DigestOf(content), a.Digest)
		}
	}
	if n := strings.Count(again.talk, "was there already"); n != len(listed.Artifacts) {
		t.Errorf("%d of %d artifacts were there already: %s", n, len(listed.Artifacts), again.talk)
	}
}

// TestTailFollows the newest facts, then what comes, until it is interrupted: on the machine of the bus and by the API alone.
func TestTailFollows(t *testing.T) {
	t.Parallel()
	w := told(t)
	remote := t.TempDir()
	at, err := client.Find(client.Place{Dir: w.dir})
	must(t, err)
	at.NATS, at.NATSSeed, at.Token = "", "", worldToken
	text, err := json.Marshal(at)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(remote, client.ConnectionFile), text, 0o600))
	for i, dir := range []string{w.dir, remote} {
		w.tails(t, dir, fmt.Sprint("r", i))
	}
}

func (w *world) tails(t *testing.T, dir, request string) {
	t.Helper()
	ctx, interrupt := context.WithCancel(t.Context())
	lines := make(lineWriter, 64)
	ended := make(chan int, 1)
	go func() {
		ended <- sluiceTo(ctx, lines, io.Discard, "events", "tail", "--last", "5", "--json", "--dir", dir)
	}()
	next := func() string {
		select {
		case line := <-lines:
			return line
		case code := <-ended:
			t.Fatalf("it ended with exit code %d", code)
		case <-time.After(time.Minute):
			t.Fatal("no line came within a minute")
		}
		return ""
	}
	for range 5 {
		if line := next(); !strings.Contains(line, string(w.runs["running"])) {
			t.Errorf("%s is not of the newest run", line)
		}
	}
	news := event.Root(w.runs["running"], "/test/x", time.Now(), event.GateHeld{Request: request, By: "ada", Reason: "new \x1b[2Jdisks"})
	must(t, w.bus.Publish(t.Context(), news))
	if line := next(); !strings.Contains(line, `"type":"gate.held"`) || !strings.Contains(line, `"request":"`+request) {
		t.Errorf("the next is %s, want what was just said", line)
	}
	interrupt()
	if code := <-ended; code != release.Cancelled.ExitCode() {
		t.Errorf("interrupted, it exits with %d, want 3", code)
	}
}

// lineWriter gives each line that is written to whoever reads.
type lineWriter chan string

func (w lineWriter) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		w <- line
	}
	return len(p), nil
}
