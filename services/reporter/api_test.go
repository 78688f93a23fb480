package reporter

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/services/reporter/readmodel"
	"github.com/sluiceci/sluice/services/reporter/reportertest"
	"github.com/sluiceci/sluice/services/reporter/view"
)

// TestAPI asks one reporter that has heard the whole story everything that can be asked.
func TestAPI(t *testing.T) {
	t.Parallel()
	w := begin(t, Config{})
	w.scheduler()
	w.tell()
	for name, ask := range map[string]func(*testing.T, *world){
		"runs page by page":                     runsPageByPage,
		"runs by state and branch":              runsByState,
		"a run":                                 aRun,
		"a rejected run has its problems":       aRejectedRun,
		"tasks page by page":                    tasksPageByPage,
		"tasks that are only planned":           plannedTasks,
		"why":                                   why,
		"events come out of the stream":         eventsOutOfTheStream,
		"artifacts page by page and downloaded": artifactsDownloaded,
		"a hostile artifact's name":             hostileDownload,
		"logs of attempts that ended":           endedLogs,
		"pools, streams, dead letters":          operations,
		"errors say what to do":                 apiErrors,
	} {
		t.Run(name, func(t *testing.T) { ask(t, w) })
	}
}

// ask decodes an answer.
func ask[A any](t *testing.T, w *world, path string) A {
	t.Helper()
	status, header, body := w.fetch("/api/v1" + path)
	var a A
	if err := json.Unmarshal([]byte(body), &a); err != nil || status != http.StatusOK {
		t.Fatalf("%s gave %d %v: %s", path, status, err, body)
	}
	if got := header.Get("X-Content-Type-Options"); got != "nosniff" {
		t.Errorf("%s has X-Content-Type-Options %q", path, got)
	}
	return a
}

type runsAnswer struct {
	Runs []readmodel.Run `json:"runs"`
	Next json.Number     `json:"next"`
}

func runsPageByPage(t *testing.T, w *world) {
	var got []string
	for path, pages := "/runs?limit=3", 0; path != "" && pages < 10; pages++ {
		page := ask[runsAnswer](t, w, path)
		for _, r := range page.Runs {
			got = append(got, string(r.ID))
		}
		path = ""
		if page.Next != "" {
			path = "/runs?limit=3&before=" + page.Next.String()
		}
	}
	var want []string
	for _, name := range []string{"running", "hostile", "shut", "rejected", "pull request", "broken release", "released", "ignored"} {
		want = append(want, string(w.story.Runs[name]))
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Fatalf("runs %v, want the newest first: %v", got, want)
	}
}

func runsByState(t *testing.T, w *world) {
	for query, want := range map[string]int{
		"state=failed": 4, "state=running": 1, "state=success": 2, "state=rejected": 1, "state=ignored": 1, "branch=master": 5,
		"branch=master&state=failure": 2, "project=rillkit": 8, "project=none": 0, "branch=" + url.QueryEscape("' OR 1=1 --"): 0,
	} {
		if got := ask[runsAnswer](t, w, "/runs?"+query); len(got.Runs) != want {
			t.Errorf("%s gives %d runs, want %d", query, len(got.Runs), want)
		}
	}
}

func aRun(t *testing.T, w *world) {
	d := ask[view.Detail](t, w, w.path("shut"))
	if d.Run.State != "failure" || d.Run.Gate != "closed" || d.Run.Tasks["success"] != 22 || d.Run.Tasks["failure"] != 1 {
		t.Errorf("run %+v, want a failure with the gate closed, 22 tasks succeeded and one failed", d.Run)
	}
	if len(d.Conditions) != 4 || d.Conditions[2].Name != "tests" || d.Conditions[2].Met {
		t.Errorf("conditions %+v, want tests not met", d.Conditions)
	}
	if len(d.Tasks) != 23 || len(d.LeftOut) != 2 || len(d.Artifacts) != 6 {
		t.Errorf("%d tasks, %d left out, %d types of artifacts; want 23, 2, 6", len(d.Tasks), len(d.LeftOut), len(d.Artifacts))
	}
	for _, task := range d.Tasks {
		if task.ID == "test-jar" && (len(task.Attempts) != 2 || task.Attempts[0].Class != "infra" || task.State != "success") {
			t.Errorf("test-jar is %+v, want a success after an attempt of class infra", task)
		}
	}
	released := ask[view.Detail](t, w, w.path("released"))
	if len(released.Steps) != 20 || released.Release == nil || released.Release.State != "published" || len(released.Exports) != 1 {
		t.Errorf("released: %d steps, release %+v, %d exports", len(released.Steps), released.Release, len(released.Exports))
	}
}

func aRejectedRun(t *testing.T, w *world) {
	d := ask[view.Detail](t, w, w.path("rejected"))
	want := event.Problem{File: "sluice.yaml", Line: 12, Column: 5, Message: `unknown key "neds" in build "wheel"`, Hint: `did you mean "needs"?`}
	if len(d.Run.Problems) != 2 || d.Run.Problems[0] != want || d.Run.State != "rejected" {
		t.Fatalf("run %+v, want its two problems", d.Run)
	}
}

func tasksPageByPage(t *testing.T, w *world) {
	seen := map[string]bool{}
	for path := w.path("shut") + "/tasks?limit=10"; path != ""; {
		page := ask[struct {
			Tasks []readmodel.Task `json:"tasks"`
			Next  json.Number      `json:"next"`
		}](t, w, path)
		for _, task := range page.Tasks {
			seen[string(task.ID)] = true
		}
		path = ""
		if page.Next != "" {
			path = w.path("shut") + "/tasks?limit=10&after=" + page.Next.String()
		}
	}
	if len(seen) != 23 {
		t.Fatalf("%d tasks, want 23", len(seen))
	}
}

func plannedTasks(t *testing.T, w *world) {
	task := ask[view.Task](t, w, w.path("running")+"/tasks/test-wheels-3_13")
	if task.Task.State != readmodel.TaskWaiting || task.Spec == nil || task.Why == nil || task.Why.Reason == "" {
		t.Fatalf("task %+v, want it waiting, with what the plan and the scheduler say", task)
	}
}

func why(t *testing.T, w *world) {
	a := ask[view.Answer](t, w, w.path("running")+"/why")
	if a.By != "test-scheduler" || len(a.Conditions) != 3 {
		t.Errorf("answer %+v, want the scheduler's", a)
	}
	a = ask[view.Answer](t, w, w.path("running")+"/why?task=test-image")
	if a.Task != "test-image" || a.Reason != "executor linux-7f3a has it" {
		t.Errorf("answer %+v, want the scheduler's about the task", a)
	}
}

type eventsAnswer struct {
	Events []view.Event `json:"events"`
	Next   json.Number  `json:"next"`
}

func eventsOutOfTheStream(t *testing.T, w *world) {
	var got []view.Event
	for path := w.path("shut") + "/events?limit=40"; path != ""; {
		page := ask[eventsAnswer](t, w, path)
		got = append(got, page.Events...)
		path = ""
		if page.Next != "" {
			path = w.path("shut") + "/events?limit=40&after=" + page.Next.String()
		}
	}
	want := w.story.Of("shut")
	if len(got) != len(want) {
		t.Fatalf("%d events, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i].ID != want[i].ID || got[i].Type != want[i].Type || got[i].Cause != want[i].Cause || got[i].Source != want[i].Source {
			t.Fatalf("event %d is %+v, want %s", i, got[i], want[i].Describe())
		}
	}
	gates := ask[eventsAnswer](t, w, w.path("shut")+"/events?type=gate")
	if len(gates.Events) != 1 || gates.Events[0].Type != event.TypeGateClosed || !strings.Contains(string(gates.Events[0].Data), "conditions") {
		t.Fatalf("events of the gate are %+v, want gate.closed with its data", gates.Events)
	}
	if none := ask[eventsAnswer](t, w, "/runs/nothing-here/events"); len(none.Events) != 0 {
		t.Fatalf("a run that is not there has events: %+v", none.Events)
	}
}

func artifactsDownloaded(t *testing.T, w *world) {
	var all []readmodel.Artifact
	for path := w.path("shut") + "/artifacts?limit=5"; path != ""; {
		page := ask[struct {
			Artifacts []readmodel.Artifact `json:"artifacts"`
			Next      string               `json:"next"`
		}](t, w, path)
		all = append(all, page.Artifacts...)
		path = ""
		if page.Next != "" {
			path = w.path("shut") + "/artifacts?limit=5&after=" + url.QueryEscape(page.Next)
		}
	}
	if len(all) != 17 {
		t.Fatalf("%d artifacts, want 17", len(all))
	}
	for _, a := range all {
		status, header, body := w.fetch("/api/v1" + w.path("shut") + "/artifacts/" + string(a.Task) + "/" + url.PathEscape(a.Name))
		if status != http.StatusOK || int64(len(body)) != a.Size || header.Get("Content-Disposition") == "" {
			t.Fatalf("%s gave %d with %d bytes, want %d", a.Name, status, len(body), a.Size)
		}
	}
}

func hostileDownload(t *testing.T, w *world) {
	name := strings.ReplaceAll(reportertest.Hostile, "\x00", "\uFFFD")
	status, header, body := w.fetch("/api/v1" + w.path("hostile") + "/artifacts/evil/" + url.PathEscape(name))
	if status != http.StatusOK || body == "" {
		t.Fatalf("gave %d %q", status, body)
	}
	disposition := header.Get("Content-Disposition")
	if strings.ContainsAny(disposition, "<>\n\r") && !strings.HasPrefix(disposition, "attachment; filename=") || strings.Count(disposition, `"`) != 2 {
		t.Errorf("Content-Disposition is %q", disposition)
	}
	if got := header.Get("Content-Security-Policy"); !strings.HasPrefix(got, "sandbox") {
		t.Errorf("Content-Security-Policy is %q", got)
	}
}

func endedLogs(t *testing.T, w *world) {
	log := w.path("shut") + "/tasks/test-wheels-3_12/log"
	_, header, whole := w.fetch("/api/v1" + log)
	lines := strings.SplitAfter(whole, "\n")
	if len(lines) != 34 || !strings.Contains(whole, "AssertionError") || header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Fatalf("the log has %d lines as %s:\n%s", len(lines), header.Get("Content-Type"), whole)
	}
	for path, want := range map[string]string{
		log + "?from_line=30": strings.Join(lines[29:], ""), log + "?from_line=1000": "", log + "?tail=4": strings.Join(lines[29:], ""), log + "?tail=1000": whole, log + "?follow=1&from_line=33": lines[32],
	} {
		if _, got := w.get("/api/v1" + path); got != want {
			t.Errorf("%s gives %q, want %q", path, got, want)
		}
	}
	if _, first := w.get("/api/v1" + w.path("shut") + "/tasks/test-jar/log?attempt=1"); !strings.Contains(first, "No space left") {
		t.Errorf("the log of the first attempt is %q", first)
	}
}

func operations(t *testing.T, w *world) {
	if pools := ask[struct{ Pools []map[string]any }](t, w, "/pools"); len(pools.Pools) != 2 {
		t.Errorf("pools are %+v, want two", pools)
	}
	streams := ask[struct{ Streams []bus.StreamStatus }](t, w, "/streams")
	if len(streams.Streams) != 4 || streams.Streams[0].Messages != uint64(len(w.story.Events)) {
		t.Errorf("streams are %+v", streams.Streams)
	}
	letters := ask[struct {
		Letters []bus.DeadLetter `json:"deadletters"`
	}](t, w, "/deadletters")
	if letters.Letters == nil || len(letters.Letters) != 0 {
		t.Errorf("dead letters are %+v, want an empty list", letters.Letters)
	}
}

func apiErrors(t *testing.T, w *world) {
	for path, want := range map[string]int{
		"/runs/none":                       http.StatusNotFound,
		"/runs/a%20b":                      http.StatusNotFound,
		"/runs?limit=x":                    http.StatusBadRequest,
		"/runs?before=-1":                  http.StatusBadRequest,
		w.path("shut") + "/tasks/none":     http.StatusNotFound,
		w.path("shut") + "/tasks/none/log": http.StatusNotFound,
		w.path("shut") + "/tasks/test-jar/log?attempt=9": http.StatusNotFound,
		w.path("shut") + "/events?type=nothing":          http.StatusBadRequest,
		w.path("shut") + "/artifacts/none/none":          http.StatusNotFound,
		w.path("shut") + "/artifacts?after=%25":          http.StatusNotFound,
		w.path("shut") + "/why?task=a%20b":               http.StatusBadRequest,
	} {
		status, body := w.get("/api/v1" + path)
		var answer struct {
			Error struct{ Message string } `json:"error"`
		}
		if err := json.Unmarshal([]byte(body), &answer); err != nil || status != want || !strings.HasPrefix(answer.Error.Message, "cannot ") {
			t.Errorf("%s gives %d %s, want %d and what cannot be done", path, status, body, want)
		}
	}
}

// TestWhyWithoutScheduler shows that a question is answered from what was stored when nobody else answers.
func TestWhyWithoutScheduler(t *testing.T) {
	t.Parallel()
	w := begin(t, Config{})
	w.tell()
	a := ask[view.Answer](t, w, w.path("shut")+"/why")
	if a.By != "reporter" || a.Note == "" || len(a.Conditions) != 4 || a.State != "failure" {
		t.Fatalf("answer %+v, want the stored one, and who did not answer", a)
	}
	a = ask[view.Answer](t, w, w.path("running")+"/why?task=test-jar")
	if a.State != readmodel.TaskDelayed || a.Until.IsZero() {
		t.Fatalf("answer %+v, want the delayed task", a)
	}
	if status, body := w.get("/api/v1/pools"); status != http.StatusServiceUnavailable || !strings.Contains(body, "no service answered") {
		t.Fatalf("pools give %d %s, want that nobody answered", status, body)
	}
}
