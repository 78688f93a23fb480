package reporter

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/sluiceci/sluice/services/reporter/reportertest"
)

// TestPages reads the pages of one reporter that has heard the whole story.
func TestPages(t *testing.T) {
	t.Parallel()
	w := begin(t, Config{})
	w.scheduler()
	w.tell()
	t.Run("every link leads to a page that runs nothing of strangers", func(t *testing.T) { everyLink(t, w) })
	t.Run("what each page says", func(t *testing.T) { whatPagesSay(t, w) })
	t.Run("hostile names are text", func(t *testing.T) { hostileNames(t, w) })
	t.Run("files are kept by browsers", func(t *testing.T) { staticFiles(t, w) })
}

// everyLink follows every link from the list of runs on.
func everyLink(t *testing.T, w *world) {
	seen, queue := map[string]bool{"/": true}, []string{"/"}
	for len(queue) > 0 {
		path := queue[0]
		queue = queue[1:]
		status, header, body := w.fetch(path)
		if status != http.StatusOK {
			t.Errorf("%s gives %d: %s", path, status, body)
			continue
		}
		if !strings.HasPrefix(header.Get("Content-Type"), "text/html") {
			continue
		}
		policy := header.Get("Content-Security-Policy")
		scripts := strings.Contains(policy, "script-src 'self';") ||
			strings.Contains(policy, "default-src 'none';") && !strings.Contains(policy, "script-src") // the login has none
		if !scripts || !strings.Contains(policy, "style-src 'self';") {
			t.Errorf("%s has the policy %q", path, policy)
		}
		for _, link := range harmless(t, path, body) {
			link, _, _ = strings.Cut(link, "#")
			if strings.Contains(link, "/events?after=") && len(seen)%10 > 0 {
				continue // they differ in where they begin only: one in ten
			}
			if strings.HasPrefix(link, "/login?next=") && path != "/" {
				continue // they differ in where they lead back to only
			}
			if strings.HasPrefix(link, "/") && !seen[link] {
				seen[link] = true
				queue = append(queue, link)
			}
		}
	}
	if len(seen) < 100 {
		t.Fatalf("only %d pages were found", len(seen))
	}
}

// harmless checks that a page has nothing inline that could run, and returns its links.
func harmless(t *testing.T, path, body string) []string {
	t.Helper()
	var links []string
	for z := html.NewTokenizer(strings.NewReader(body)); ; {
		switch z.Next() {
		case html.ErrorToken:
			return links
		case html.StartTagToken, html.SelfClosingTagToken:
			token := z.Token()
			if token.Data == "script" && !slices.ContainsFunc(token.Attr, func(a html.Attribute) bool { return a.Key == "src" }) {
				t.Errorf("%s has an inline script", path)
			}
			for _, a := range token.Attr {
				if strings.HasPrefix(a.Key, "on") || a.Key == "style" || strings.HasPrefix(strings.TrimSpace(strings.ToLower(a.Val)), "javascript:") {
					t.Errorf("%s has <%s %s=%q>", path, token.Data, a.Key, a.Val)
				}
				if a.Key == "href" && token.Data == "a" {
					links = append(links, a.Val)
				}
			}
		}
	}
}

// words is the text of a page, with single spaces.
func words(body string) string {
	var out []string
	skip := false
	for z := html.NewTokenizer(strings.NewReader(body)); ; {
		switch z.Next() {
		case html.ErrorToken:
			return strings.Join(strings.Fields(strings.Join(out, " ")), " ")
		case html.StartTagToken:
			name, _ := z.TagName()
			skip = string(name) == "title"
		case html.TextToken:
			if !skip {
				out = append(out, string(z.Text()))
			}
			skip = false
		}
	}
}

func whatPagesSay(t *testing.T, w *world) {
	for path, want := range map[string][]string{
		"/": {
			"Needs eyes 4", "gate shut Stream rows straight from the kernel", "Going on 1", "2 running · 1 waiting · 1 wait to retry",
			"Done 3", "released Release 1.4.0",
		},
		"/?state=failed&branch=master": {"Needs eyes 2", "release failed Rename the package"},
		w.path("shut"): {
			"Gate shut test-wheels (3.12) failed: 1 of 24 tests failed (test_rows_are_in_order). Nothing was published.",
			"not met tests test-wheels (3.12) failed", "What failed 1", "At index 1 diff: 2 != 1", "22 tasks succeeded",
			"gate closed: tests: test-wheels (3.12) failed", "sluice retry",
		},
		w.path("released"):                            {"Released What was tested is on index, pypi, maven and registry, downloaded again and compared.", "Release 4 of 4 verified", "Targets published"},
		w.path("broken release"):                      {"Release failed The release failed on target maven", "1 broken", "raise the version"},
		w.path("pull request"):                        {"Passed Built and tested; a pull request never publishes. A pull request never publishes.", "Change pull request #7", "faster → master"},
		w.path("rejected"):                            {"No plan sluice.yaml:12:5: unknown key", "did you mean", "needs", "sluice.yaml:31:11"},
		w.path("ignored"):                             {"Ignored Branch notes is in no trigger"},
		w.path("running"):                             {"Running 3 of the 6 tests that the gate demands have not ended.", "The gate is undecided.", "not yet tests waits for", "waits to retry test-jar"},
		w.path("running") + "/tasks/test-image":       {"test-image running Executor linux-7f3a has it.", "attempt 1 error", "attempt 2 running"},
		w.path("running") + "/tasks/test-wheels-3_13": {"waiting", "not tried yet"},
		w.path("shut") + "/tasks/test-jar?attempt=1":  {"cp: write error: No space left on device", "Attempt 1", "cannot write to the workspace"},
		w.path("shut") + "/tasks/test-wheels-3_12":    {"test-wheels (3.12) failed 1 of 24 tests failed", "24, 1 failed , 0 skipped", "exit code 1"},
		w.path("shut") + "/events?type=gate":          {"gate.closed", "said by /test-scheduler/demo-1", `"conditions"`},
		w.path("shut") + "/artifacts":                 {"rillkit-1.4.0-cp312-cp312-linux-x86_64.whl", "checked"},
		"/pools":                                      {"arm no executor is alive", "linux full", "linux-90be", "drains", "the disk is full", "lab/rack-1 held", "lab/rack-2 quarantined", "three failures", "sluice places release lab/rack-2", "group demo/only 1 1", "definition"},
		"/streams":                                    {"Every consumer is up to date.", "Dead letters 0", "FACTS", "reporter-status-final"},
	} {
		_, body := w.get(path)
		text := html.UnescapeString(words(body))
		for _, one := range want {
			if !strings.Contains(text, one) {
				t.Errorf("%s does not say %q; it says:\n%s", path, one, text)
			}
		}
	}
}

func hostileNames(t *testing.T, w *world) {
	shown := strings.ReplaceAll(reportertest.Hostile, "\x00", "\uFFFD")
	for _, path := range []string{"/", w.path("hostile"), w.path("hostile") + "/tasks/evil", w.path("hostile") + "/events", w.path("hostile") + "/artifacts"} {
		_, body := w.get(path)
		harmless(t, path, body)
		if strings.Contains(body, "<script>alert") {
			t.Errorf("%s has a stranger's script", path)
		}
		if !strings.Contains(html.UnescapeString(body), shown[:30]) {
			t.Errorf("%s does not show the name as it is", path)
		}
	}
	status, body := w.get("/runs/%3Cscript%3Ealert(1)%3C%2Fscript%3E")
	if status != http.StatusNotFound || strings.Contains(body, "<script>alert") {
		t.Errorf("a hostile address gives %d: %s", status, body)
	}
}

func staticFiles(t *testing.T, w *world) {
	_, body := w.get("/")
	for _, name := range []string{"sluice.css", "sluice.js", "htmx-2.0.11.min.js", "htmx-sse-2.2.4.min.js", "icon.svg"} {
		i := strings.Index(body, "/static/"+name+"?")
		if i < 0 {
			t.Errorf("the page does not load %s", name)
			continue
		}
		address, _, _ := strings.Cut(body[i:], `"`)
		status, header, content := w.fetch(address)
		if status != http.StatusOK || content == "" || !strings.Contains(header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s gives %d %v", address, status, header)
		}
	}
	for _, path := range []string{"/static/none.js", "/static/..%2Fpages.go", "/static/"} {
		if status, _ := w.get(path); status != http.StatusNotFound {
			t.Errorf("%s gives %d, want 404", path, status)
		}
	}
}
