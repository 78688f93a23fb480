package reporter

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/access"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/services/reporter/readmodel"
)

// guarded is a reporter of two projects, behind a gate: eve maintains "vault" only, ada everything, and nobody else looks.
func guarded(t *testing.T) *world {
	t.Helper()
	w := beginBehind(t, Config{}, access.Options{
		Config: access.Config{Anonymous: &[]string{}},
		Static: []access.Static{{Owner: "ada", Secret: "ada"}, {Owner: "eve", Secret: "eve", Role: access.Maintainer, Projects: []string{"vault"}}},
	})
	w.mayAll = "token-ada"
	w.tell()
	own := release.Change{Kind: release.Push, Project: "vault", Repo: "acme/vault", Title: "vault's own", Commit: "1111111111111111111111111111111111111111", Ref: "refs/heads/master", Branch: "master"}
	project := w.project()
	for run, payloads := range map[release.RunID][]event.Payload{
		"run-vault": {event.ChangeReceived{Change: own}, event.GateHeld{Request: "r1", By: "eve"}},
		event.Fleet: {
			event.TestMoved{Project: "vault", Test: "vault-soak", Number: 1, From: "passing", To: "jailed", By: "eve", Reason: "hardware"},
			event.TestMoved{Project: project, Test: "hidden-soak", Number: 1, From: "passing", To: "jailed", By: "ada", Reason: "hardware"},
			event.TokenCreated{Token: "t1", Kind: event.TokenOfAPI, Name: "hidden-token", Subject: "token:ada", Owner: "ada", By: "ada"},
		},
		w.story.Runs["running"]: {event.GateHeld{Request: "r2", By: "ada", Reason: "hidden reason"}, event.RunPermitted{Request: "r3", By: "ines"}},
	} {
		for _, p := range payloads {
			must(t, w.bus.Publish(t.Context(), event.Root(run, "/gateway/test", time.Now(), p)))
		}
	}
	eventually(t, func() bool { return len(w.acts("token-ada", "?limit=1000")) >= 6 })
	eventually(t, func() bool {
		_, _, text := w.fetchAs("token-ada", "/tests")
		return strings.Contains(text, "vault-soak")
	})
	return w
}

// project is the story's.
func (w *world) project() string {
	for _, e := range w.story.Of("running") {
		if c, ok := e.Data.(event.ChangeReceived); ok {
			return c.Change.Project
		}
	}
	w.t.Fatal("the story's run has no project")
	return ""
}

func (w *world) acts(token, query string) []readmodel.Act {
	w.t.Helper()
	code, _, text := w.fetchAs(token, "/api/v1/audit"+query)
	var page struct{ Acts []readmodel.Act }
	if err := json.Unmarshal([]byte(text), &page); err != nil || code != http.StatusOK {
		w.t.Fatalf("the audit: %d %s", code, text)
	}
	return page.Acts
}

// TestAnotherProjectIsSeenNowhere asks every route of the table, with and without filters, about a project in which eve has no role.
// Each refuses, or tells nothing of it.
func TestAnotherProjectIsSeenNowhere(t *testing.T) {
	t.Parallel()
	w := guarded(t)
	hidden := []string{w.project(), "hidden-soak", "hidden reason", "hidden-token", "test-image"}
	for _, run := range w.story.Runs {
		hidden = append(hidden, string(run))
	}
	asked := 0
	for _, e := range w.table {
		method, pattern, _ := strings.Cut(e.Pattern, " ")
		if method != http.MethodGet || e.Rule.Where == access.Public || strings.HasSuffix(pattern, "/live") && !strings.Contains(pattern, "{run}") {
			continue
		}
		for _, run := range []release.RunID{w.story.Runs["running"], w.story.Runs["released"], event.Fleet} {
			path := strings.NewReplacer("{run}", string(run), "{$}", "", "{task}", "test-image", "{name...}", "wheel", "{test}", event.TestKey(w.project(), "hidden-soak")).Replace(pattern)
			if left := regexp.MustCompile(`\{[^}]*\}`).FindString(path); left != "" {
				t.Fatalf("%s: the test does not know %s", pattern, left)
			}
			for _, query := range []string{"", "?project=" + w.project(), "?run=" + string(run), "?who=ada", "?state=failed", "?limit=1000&before=999999"} {
				code, _, text := w.fetchAs("token-eve", path+query)
				asked++
				if strings.Contains(path, string(run)) && code < 300 {
					t.Errorf("%s%s is answered %d", path, query, code)
				}
				for _, word := range hidden {
					if echoed := strings.Contains(path+query, word); !echoed && strings.Contains(text, word) {
						t.Errorf("%s%s tells of %q: %d", path, query, word, code)
					}
				}
			}
		}
		if code, _, text := w.fetchAs("", strings.NewReplacer("{run}", "run-vault", "{$}", "").Replace(pattern)); code != http.StatusUnauthorized {
			t.Errorf("%s is answered to nobody: %d %.100s", pattern, code, text)
		}
	}
	if asked < 200 {
		t.Errorf("only %d requests were made", asked)
	}
	if _, _, text := w.fetchAs("token-eve", "/api/v1/runs"); !strings.Contains(text, "run-vault") {
		t.Errorf("eve does not see what is hers: %s", text)
	}
	if _, _, text := w.fetchAs("token-eve", "/tests"); !strings.Contains(text, "vault-soak") {
		t.Errorf("eve does not see her tests: %s", text)
	}
}

// TestStreamsOfEventsAreRefused to whoever may not look, before anything is sent.
func TestStreamsOfEventsAreRefused(t *testing.T) {
	t.Parallel()
	w := guarded(t)
	for _, path := range []string{"/live", w.path("running") + "/live", w.path("running") + "/tasks/test-image/live", w.path("running") + "/tasks/test-image/log", "/api/v1" + w.path("running") + "/watch", "/api/v1" + w.path("running") + "/tasks/test-image/log?follow=1"} {
		if code, header, _ := w.fetchAs("", path); code != http.StatusUnauthorized || strings.HasPrefix(header.Get("Content-Type"), "text/event-stream") {
			t.Errorf("%s to nobody: %d %s", path, code, header.Get("Content-Type"))
		}
		if path == "/live" {
			continue
		}
		if code, _, _ := w.fetchAs("token-eve", path); code != http.StatusNotFound {
			t.Errorf("%s to eve: %d", path, code)
		}
	}
}

// TestBrowsersAreLedToTheLogin: pages lead there, and back; the API says what is wrong.
func TestBrowsersAreLedToTheLogin(t *testing.T) {
	t.Parallel()
	w := guarded(t)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for path, want := range map[string]string{
		"/": "/login?next=%2F", "/tests?state=failed": "/login?next=%2Ftests%3Fstate%3Dfailed", "/runs/run-vault": "/login?next=%2Fruns%2Frun-vault", "/api/v1/runs": "",
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+path, nil)
		must(t, err)
		r.Header.Set("Accept", "text/html,*/*")
		answer, err := client.Do(r)
		must(t, err)
		must(t, answer.Body.Close())
		if got := answer.Header.Get("Location"); got != want || want == "" && answer.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s leads to %q with %d, want %q", path, got, answer.StatusCode, want)
		}
	}
}

// TestAuditTellsWhoDidWhat: by person, run and project, a page at a time, over HTTP and on the page.
func TestAuditTellsWhoDidWhat(t *testing.T) {
	t.Parallel()
	w := guarded(t)
	running := string(w.story.Runs["running"])
	for query, want := range map[string][]string{
		"?who=eve":                 {"eve jailed", "eve"},
		"?who=ines&run=" + running: {"ines"},
		"?project=vault":           {"eve", "eve"},
		"?run=" + running:          {"ines", "ada"},
	} {
		acts := w.acts("token-ada", query)
		if len(acts) < len(want) {
			t.Errorf("%s lists %+v", query, acts)
		}
		for _, a := range acts {
			if strings.Contains(query, "who=") && a.Who != strings.TrimPrefix(strings.Split(query, "&")[0], "?who=") || strings.Contains(query, "project=") && a.Project != "vault" || strings.Contains(query, "run=") && string(a.Run) != running {
				t.Errorf("%s lists %+v", query, a)
			}
		}
	}
	for _, a := range w.acts("token-eve", "?limit=1000") {
		if a.Project != "vault" {
			t.Errorf("eve reads of %+v", a)
		}
	}
	if acts := w.acts("token-eve", ""); len(acts) != 2 {
		t.Errorf("eve reads %+v, want what she did to her run and her test", acts)
	}
	all := w.acts("token-ada", "?limit=1000")
	var paged []readmodel.Act
	for next := "?limit=1"; ; {
		_, _, text := w.fetchAs("token-ada", "/api/v1/audit"+next)
		var page struct {
			Acts []readmodel.Act
			Next json.Number
		}
		must(t, json.Unmarshal([]byte(text), &page))
		if paged = append(paged, page.Acts...); page.Next == "" {
			break
		}
		next = "?limit=1&before=" + page.Next.String()
	}
	if len(paged) != len(all) || paged[0].ID != all[0].ID {
		t.Errorf("%d acts page by page, %d at once", len(paged), len(all))
	}
	if code, _, text := w.fetchAs("token-ada", "/audit?who=eve"); code != http.StatusOK || !strings.Contains(text, "vault-soak") || strings.Contains(text, "hidden-soak") {
		t.Errorf("the page of eve's acts: %d %s", code, text)
	}
}
