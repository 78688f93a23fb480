package reporter

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/sluiceci/sluice/pkg/bus"
)

// browser starts a browser without a screen. Where none is installed the test is skipped, but for CI.
func browser(t testing.TB) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		if ci, _ := strconv.ParseBool(os.Getenv("CI")); ci {
			t.Fatal("no chromium is installed (apt-get install chromium), and CI runs every test")
		}
		t.Skip("no chromium is installed (apt-get install chromium)")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.UserDataDir(t.TempDir()), chromedp.Flag("disable-dev-shm-usage", true), chromedp.WSURLReadTimeout(30*time.Second))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 3*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// TestBrowserShowsWhyTheGateIsShut reads the page of a failed run as a person does: with JavaScript, and without.
func TestBrowserShowsWhyTheGateIsShut(t *testing.T) {
	t.Parallel()
	ctx := browser(t)
	w := begin(t, Config{})
	w.tell()
	for _, noScript := range []bool{false, true} {
		_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: noScript})
		must(t, err)
		must(t, chromedp.Do(ctx, chromedp.Navigate(w.url+w.path("shut"))))
		headline := textOf(t, ctx, ".hero h1")
		condition := textOf(t, ctx, ".conditions tr.bad")
		if headline != "Gate shut" || !strings.Contains(condition, "not met") || !strings.Contains(condition, "test_rows_are_in_order") {
			t.Errorf("without scripts %v: headline %q, condition %q", noScript, headline, condition)
		}
	}
}

// textOf is what a person sees of an element, once it can be seen.
func textOf(t testing.TB, ctx context.Context, selector string) string {
	t.Helper()
	must(t, chromedp.Do(ctx, chromedp.WaitVisible(chromedp.CSS(selector))))
	text, err := chromedp.Run(ctx, chromedp.Text(chromedp.CSS(selector)))
	must(t, err)
	return text
}

// becomes waits until an expression holds on the page.
func becomes(t testing.TB, ctx context.Context, expression string) {
	t.Helper()
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool](expression)); err != nil {
		t.Fatalf("%s does not become true: %v", expression, err)
	}
}

// TestBrowserIsLive shows that a page changes by itself when its run does, and that its log grows.
func TestBrowserIsLive(t *testing.T) {
	t.Parallel()
	ctx := browser(t)
	w := begin(t, Config{})
	w.tell()
	w.print(1, 2)
	must(t, chromedp.Do(ctx, chromedp.Navigate(w.url+w.path("running")+"/tasks/"+string(liveTask))))
	becomes(t, ctx, `document.getElementById("notice").textContent === "Following."`)
	w.print(3, 3)
	if line := textOf(t, ctx, "#L3"); !strings.Contains(line, "line 3 <b>") {
		t.Errorf("line 3 is shown as %q", line)
	}
	must(t, chromedp.Do(ctx, chromedp.Navigate(w.url+w.path("running"))))
	becomes(t, ctx, `document.getElementById("link").textContent === "live"`)
	w.cancelled()
	becomes(t, ctx, `document.querySelector(".hero h1").textContent === "Cancelled"`)
}

// flood prints many lines in few chunks, of which chunk is the number of the first.
func (w *world) flood(chunk int64, from, to int) {
	w.t.Helper()
	for first := from; first <= to; first += 1000 {
		var text []byte
		for i := first; i < min(first+1000, to+1); i++ {
			text = fmt.Appendf(text, "line %d\n", i)
		}
		wait, err := w.bus.PublishLog(bus.LogChunk{
			Pool: "linux", Run: w.story.Runs["running"], Task: liveTask, Attempt: 2, Number: chunk, FirstLine: int64(first), Data: text,
		})
		must(w.t, err)
		must(w.t, wait(w.t.Context()))
		chunk++
	}
}

// TestBrowserKeepsSoManyLines shows that a flood neither fills the page of who follows it, nor of who reads above; who
// comes back to the end goes on where the page stopped.
func TestBrowserKeepsSoManyLines(t *testing.T) {
	t.Parallel()
	ctx := browser(t)
	w := begin(t, Config{})
	w.tell()
	w.print(1, 2)
	must(t, chromedp.Do(ctx, chromedp.Navigate(w.url+w.path("running")+"/tasks/"+string(liveTask))))
	becomes(t, ctx, `document.getElementById("notice").textContent === "Following."`)
	w.flood(2, 3, 9000)
	becomes(t, ctx, `document.getElementById("L9000") !== null && document.querySelectorAll("#lines p").length <= 3000`)

	becomes(t, ctx, `(() => { const l = document.getElementById("lines"); l.addEventListener("scroll", () => { window.up = true }); l.scrollTop = 0; return true })()`)
	becomes(t, ctx, `window.up === true`)
	first, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.querySelector("#lines p").id`))
	must(t, err)
	w.flood(20, 9001, 200000)
	becomes(t, ctx, `document.getElementById("notice").textContent.startsWith("Paused at line ")`)
	becomes(t, ctx, `document.getElementById("`+first+`") !== null && document.getElementById("L200000") === null`)

	becomes(t, ctx, `(() => { document.getElementById("lines").scrollTop = 1e9; return document.getElementById("L200000") !== null })()`)
	becomes(t, ctx, `document.querySelectorAll("#lines p").length <= 3000`)
	becomes(t, ctx, `[...document.querySelectorAll("#lines p")].every((p, i, all) => Number(p.id.slice(1)) === 200001 - all.length + i)`)
}

// TestBrowserSignsInAndOut goes from a page to the login and back, is turned away from what its role does not show, and signs out.
func TestBrowserSignsInAndOut(t *testing.T) {
	t.Parallel()
	ctx := browser(t)
	w := guarded(t)
	must(t, chromedp.Do(ctx, chromedp.Navigate(w.url+"/tests?state=failed")))
	textOf(t, ctx, "main.login #token")
	must(t, chromedp.Do(ctx, chromedp.SetValue(chromedp.CSS("#token"), "token-wrong"), chromedp.Click(chromedp.CSS("main.login button[type=submit]"))))
	if said := textOf(t, ctx, ".notice.bad"); !strings.Contains(said, "not one of this installation") {
		t.Errorf("a wrong token is answered %q", said)
	}
	must(t, chromedp.Do(ctx, chromedp.SetValue(chromedp.CSS("#token"), "token-eve"), chromedp.Click(chromedp.CSS("main.login button[type=submit]"))))
	if who := textOf(t, ctx, "form.who span"); who != "eve" {
		t.Errorf("the page calls eve %q", who)
	}
	becomes(t, ctx, `location.pathname + location.search === "/tests?state=failed"`)
	must(t, chromedp.Do(ctx, chromedp.Navigate(w.url+"/audit")))
	if acts := textOf(t, ctx, "table.list"); !strings.Contains(acts, "vault-soak") {
		t.Errorf("eve's acts are %q", acts)
	}
	must(t, chromedp.Do(ctx, chromedp.Navigate(w.url+"/pools")))
	if said := textOf(t, ctx, "main.login"); !strings.Contains(said, "Not with your role") || !strings.Contains(said, "signed in as eve") {
		t.Errorf("what is the whole installation's tells eve %q", said)
	}
	must(t, chromedp.Do(ctx, chromedp.Navigate(w.url+w.path("running"))))
	if said := textOf(t, ctx, "main.login"); !strings.Contains(said, "There is no such thing") {
		t.Errorf("somebody else's run tells eve %q", said)
	}
	must(t, chromedp.Do(ctx, chromedp.Click(chromedp.CSS("main form button"))))
	textOf(t, ctx, "main.login #token")
	must(t, chromedp.Do(ctx, chromedp.Navigate(w.url+"/")))
	textOf(t, ctx, "main.login #token")
}
