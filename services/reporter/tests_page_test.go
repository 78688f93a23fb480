package reporter

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

const hostileTest = `<img src=x onerror=alert(1)> "soak" /../`

// charted tells of tests in every state, of runs that the story has.
func (w *world) charted() {
	w.t.Helper()
	at := time.Now().UTC().AddDate(0, 0, -40)
	var facts []event.Event
	say := func(run release.RunID, at time.Time, p event.Payload) {
		facts = append(facts, event.Root(run, "/test/1", at, p))
	}
	runs := []string{"shut", "released", "broken release", "running"}
	ends := map[string]string{ // oldest first: passes, fails, alerts, the platform
		"actors.aws": strings.Repeat("P", 34) + "PFFA", "serve.aws": strings.Repeat("P", 20) + "IPPPPPPF", "tune.gce": "PFPFPPFPPFPPPPFP", "io.aws": strings.Repeat("P", 30), hostileTest: "PIF",
	}
	commit := func(i int) release.Commit { return release.Commit(fmt.Sprintf("%08x%032x", 0xabc0000+i, i)) }
	for test, letters := range ends {
		for i, letter := range letters {
			class := map[rune]release.Class{'P': release.ClassOK, 'F': release.ClassCommand, 'A': release.ClassAlert, 'I': release.ClassInfra}[letter]
			why := map[rune]string{'F': "expected 100 actors, found 97", 'A': "Last update to results json was too long ago (301.00 > 300)", 'I': "no capacity for 4 nodes"}[letter]
			run := release.RunID(fmt.Sprintf("%s-%d", "r", i))
			if i >= len(letters)-len(runs) {
				run = w.story.Runs[runs[i-len(letters)+len(runs)]]
			}
			say(run, at.AddDate(0, 0, i), event.TestsJudged{
				Project: "rillkit", Round: int32(len(test)), Commit: commit(i), At: at.AddDate(0, 0, i), // a round of its own: the run has one such fact for each
				Tests: []event.JudgedTest{{Test: test, Task: "test-image", Outcome: class.Outcome(), Class: class, Reason: why, Owner: "core", Frequency: "nightly", Stable: true}},
			})
		}
	}
	move := func(test string, n int32, from, to, by, reason string, until time.Time) {
		say(event.Fleet, at.AddDate(0, 0, 36+int(n)), event.TestMoved{
			Project: "rillkit", Test: test, Number: n, From: from, To: to, By: by, Reason: reason, Until: until, Owner: "core", Run: map[bool]release.RunID{true: w.story.Runs["shut"]}[by == ""],
		})
	}
	move("actors.aws", 1, "passing", "failing", "", "it ended in run r-35 as command: expected 100 actors, found 97", time.Time{})
	move("actors.aws", 2, "failing", "consistently_failing", "", "it ended in run r-37 as alert: Last update to results json was too long ago (301.00 > 300)", time.Time{})
	move("serve.aws", 1, "passing", "failing", "", "it ended in run r-28 as command: expected 100 actors, found 97", time.Time{})
	move("tune.gce", 1, "passing", "flaky", "", "of the newest 30 results 5 turn from pass to fail", time.Time{})
	move(hostileTest, 1, "passing", "jailed", "grace", "waits for a driver", time.Now().UTC().Add(72*time.Hour))
	say(event.Fleet, time.Now(), event.IssueSynced{Project: "rillkit", Test: "actors.aws", Intent: "2", Action: "opened", Issue: 41, URL: "https://forge.example/rill/rillkit/issues/41", Open: true})
	say(event.Fleet, time.Now(), event.IssueSynced{Project: "rillkit", Test: "serve.aws", Intent: "1", Action: "opened", Issue: 42, URL: "javascript:alert(1)", Open: true})
	say(event.Fleet, time.Now(), event.BisectRequested{Bisect: "b1", Project: "rillkit", Test: "actors.aws", Good: commit(34), Bad: commit(44), Deadline: time.Now().Add(time.Hour), Reason: "it is failing"})
	say(event.Fleet, time.Now(), event.BisectAdvanced{Bisect: "b1", Commits: []release.Commit{commit(34), commit(36), commit(44)}, Started: []event.BisectRun{
		{Commit: commit(34), Run: w.story.Runs["released"]}, {Commit: commit(44), Run: w.story.Runs["shut"]},
	}, Reason: "the two ends are tried first"})
	say(event.Fleet, time.Now(), event.BisectAdvanced{Bisect: "b1", Number: 1, Started: []event.BisectRun{{Commit: commit(36), Run: w.story.Runs["broken release"]}}, Passing: commit(34), Failing: commit(44), Reason: "1 commit is left"})
	say(event.Fleet, time.Now(), event.BisectEnded{Bisect: "b1", Project: "rillkit", Test: "actors.aws", Blamed: commit(36), Reason: "the commit before it passes"})
	say(event.Fleet, time.Now(), event.BisectRequested{Bisect: "b2", Project: "rillkit", Test: "serve.aws", Good: commit(20), Bad: commit(28), By: "ada", Deadline: time.Now().Add(time.Hour)})
	must(w.t, w.bus.Publish(w.t.Context(), facts...))
	eventually(w.t, func() bool {
		_, body := w.get("/tests")
		return strings.Contains(body, "running, 0 runs") && strings.Contains(body, "blames")
	})
}

func pageOf(test string) string { return "/tests/" + event.TestKey("rillkit", test) }

// TestPagesOfTests reads the list of tests, the page of each, and follows every link from there.
func TestPagesOfTests(t *testing.T) {
	t.Parallel()
	w := begin(t, Config{})
	w.tell()
	if _, body := w.get("/tests"); !strings.Contains(words(body), "No test has been judged yet.") {
		t.Errorf("without tests the page says %q", words(body))
	}
	w.charted()
	for path, want := range map[string][]string{
		"/tests": {
			"all 5 keeps failing 1 failing 1 jailed 1 flaky 1 passing 1", "keeps failing actors.aws rillkit it ended in run r-37 as alert", "#41 open", "blames 0abc0024",
			"failing serve.aws", "#42 open", "running, 0 runs", "core , by grace", "until 20",
		},
		"/tests?state=jailed":     {"jailed"},
		"/tests?name=ACTORS":      {"actors.aws"},
		"/tests?state=none":       {"No such test."},
		"/tests?from=-3":          {"actors.aws"},
		"/tests?from=9000":        {"No such test."},
		pageOf("actors.aws"):      {"keeps failing since", "It ended in run r-37 as alert", "issue #41 open", "Who broke it", "commit 0abc0024 is blamed", "the two ends are tried first", "Alerts 1", "301.00 > 300", "History 2", "Results 38", "Older results", "passed", "sluice tests jail"},
		pageOf("serve.aws"):       {"by ada", "ends at", "infra", "no capacity for 4 nodes"},
		pageOf(hostileTest):       {"jailed since", "Grace did this: waits for a driver.", "left out until", "sluice tests free"},
		pageOf("io.aws"):          {"passing", "It has never moved", "It has never changed its state."},
		pageOf("io.aws") + "?x=y": {"passing"},
	} {
		status, body := w.get(path)
		for _, say := range want {
			if status != http.StatusOK || !strings.Contains(words(body), say) {
				t.Errorf("%s gives %d and does not say %q: %s", path, status, say, words(body))
			}
		}
		if strings.Contains(body, "<img") || strings.Contains(body, "javascript:") {
			t.Errorf("%s runs what strangers wrote", path)
		}
		harmless(t, path, body)
	}
	for _, path := range []string{"/tests/none", "/tests/..%2F..%2Fx", "/tests/%3Cscript%3E"} {
		if status, body := w.get(path); status != http.StatusNotFound || strings.Contains(body, "<script>") && strings.Contains(body, "/<script>") {
			t.Errorf("%s gives %d", path, status)
		}
	}
	older, newer := pageOf("actors.aws")+"?from=30", pageOf("actors.aws")
	_, first := w.get(newer)
	_, rest := w.get(older)
	if n := strings.Count(first, "/tasks/test-image") + strings.Count(rest, "/tasks/test-image"); n != 38 {
		t.Errorf("both pages of results have %d, want 38", n)
	}
}

// TestBrowserShowsHowTestsFare reads the list as a person does, with JavaScript and without, in light and in the dark.
func TestBrowserShowsHowTestsFare(t *testing.T) {
	t.Parallel()
	w := begin(t, Config{})
	w.tell()
	w.charted()
	ctx := browser(t)
	look := os.Getenv("SLUICE_SCREENSHOTS") // a directory for whoever wants to see the pages
	for _, noScript := range []bool{false, true} {
		_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: noScript})
		must(t, err)
		scheme := map[bool]string{false: "light", true: "dark"}[noScript]
		_, err = chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
		must(t, err)
		for name, path := range map[string]string{"tests": "/tests", "test": pageOf("actors.aws")} {
			must(t, chromedp.Do(ctx, chromedp.Navigate(w.url+path)))
			if nav := textOf(t, ctx, `nav a[aria-current="page"]`); nav != "Tests" {
				t.Errorf("%s without scripts %v: the navigation is at %q", path, noScript, nav)
			}
			said := textOf(t, ctx, map[string]string{"tests": "table.tests tbody tr", "test": ".hero"}[name])
			if !strings.Contains(said, "keeps failing") || !strings.Contains(said, "actors.aws") || !strings.Contains(said, "#41") {
				t.Errorf("%s without scripts %v says %q", path, noScript, said)
			}
			if look != "" {
				shot(t, ctx, filepath.Join(look, name+"-"+scheme+".png"))
			}
		}
	}
}

// shot writes what the browser shows to a file.
func shot(t testing.TB, ctx context.Context, file string) {
	t.Helper()
	image, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	must(t, err)
	must(t, os.WriteFile(file, image, 0o600))
}
