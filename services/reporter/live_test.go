package reporter

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

const liveTask release.TaskID = "test-image"

// message is one server-sent event.
type message struct{ event, id, data string }

// listen reads a stream of server-sent events until the test ends, or done is called.
func (w *world) listen(path, last string) (messages <-chan message, done func()) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+path, nil)
	must(w.t, err)
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	answer, err := http.DefaultClient.Do(req)
	must(w.t, err)
	if got := answer.Header.Get("Content-Type"); !strings.HasPrefix(got, "text/event-stream") {
		w.t.Fatalf("%s is %q, want a stream of events", path, got)
	}
	out := make(chan message, 1000)
	go func() {
		defer close(out)
		defer func() { _ = answer.Body.Close() }()
		read(answer.Body, func(m message) {
			select {
			case out <- m:
			case <-ctx.Done():
			}
		})
	}()
	w.t.Cleanup(cancel)
	return out, cancel
}

func read(body io.Reader, fn func(message)) {
	lines := bufio.NewReader(body)
	var m message
	var data []string
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "event":
			m.event = value
		case "id":
			m.id = value
		case "data":
			data = append(data, value)
		case "":
			if m.event != "" {
				m.data = strings.Join(data, "\n")
				fn(m)
			}
			m, data = message{}, nil
		}
	}
}

// until returns the first message that fits.
func until(t *testing.T, messages <-chan message, fits func(message) bool) message {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		select {
		case m, open := <-messages:
			if !open {
				t.Fatal("the stream ended")
			}
			if fits(m) {
				return m
			}
		case <-deadline:
			t.Fatal("no such message within a minute")
		}
	}
}

// print prints lines of the running attempt, one chunk each.
func (w *world) print(from, to int) {
	w.t.Helper()
	for i := from; i <= to; i++ {
		wait, err := w.bus.PublishLog(bus.LogChunk{
			Pool: "linux", Run: w.story.Runs["running"], Task: liveTask, Attempt: 2, Number: int64(i - 1), FirstLine: int64(i), Data: fmt.Appendf(nil, "line %d <b>\n", i),
		})
		must(w.t, err)
		must(w.t, wait(w.t.Context()))
	}
}

// end ends the running attempt.
func (w *world) end(e event.TaskFinished) {
	w.t.Helper()
	e.Task, e.Attempt, e.Pool, e.Executor = liveTask, 2, "linux", "linux-7f3a"
	must(w.t, w.bus.Publish(w.t.Context(), event.Root(w.story.Runs["running"], "/executor/linux-7f3a", time.Now(), e)))
}

func TestLiveLog(t *testing.T) {
	t.Parallel()
	w := begin(t, Config{})
	w.tell()
	w.print(1, 3)
	page := w.path("running") + "/tasks/" + string(liveTask)

	_, drawn := w.get(page)
	if !strings.Contains(drawn, `<p id="L3"><a href="#L3">3</a>line 3 &lt;b&gt;</p>`) || !strings.Contains(drawn, "from_line=4") {
		t.Fatalf("the page does not have the lines so far, or does not go on with line 4:\n%s", drawn)
	}
	if _, text := w.get("/api/v1" + page + "/log"); text != "line 1 <b>\nline 2 <b>\nline 3 <b>\n" {
		t.Fatalf("the text so far is %q", text)
	}

	messages, done := w.listen(page+"/log?from_line=4", "")
	w.print(4, 5)
	m := until(t, messages, func(m message) bool { return m.event == "lines" && strings.Contains(m.data, `id="L5"`) })
	if strings.Contains(m.data, `id="L3"`) || m.id != "5" {
		t.Fatalf("message %+v, want the new lines, and the last as its id", m)
	}
	done()

	w.print(6, 8)
	messages, _ = w.listen(page+"/log?from_line=4", "5") // as a browser comes again
	m = until(t, messages, func(m message) bool { return m.event == "lines" })
	if !strings.HasPrefix(m.data, `<p id="L6" data-n="6">line 6`) {
		t.Fatalf("after line 5 came %q", m.data)
	}
	w.end(event.TaskFinished{Outcome: release.Success, Class: release.ClassOK})
	until(t, messages, func(m message) bool { return m.event == "done" })
}

// TestTheLogBeforeACrash: an executor is lost while its attempt prints, and the stream has forgotten the first lines. What is left
// is shown by the API and the page, with what is missing.
func TestTheLogBeforeACrash(t *testing.T) {
	t.Parallel()
	w := begin(t, Config{})
	w.tell()
	w.print(41, 43)
	_, err := w.bus.PublishLog(bus.LogChunk{Pool: "linux", Run: w.story.Runs["running"], Task: liveTask, Attempt: 2, Number: 44, FirstLine: 44, Data: []byte("and th")})
	must(t, err)
	w.end(event.TaskFinished{Outcome: release.Error, Class: release.ClassLost, Reason: "executor linux-7f3a fell silent"})
	path := "/tasks/" + string(liveTask)
	want := "sluice: 40 lines are missing here: the stream of logs has them no longer\nline 41 <b>\nline 42 <b>\nline 43 <b>\nand th\n" +
		"sluice: this log is not whole: its executor was lost, and the lines that came last may be missing\n"
	got := ""
	for end := time.Now().Add(time.Minute); got != want; time.Sleep(20 * time.Millisecond) {
		if _, got = w.get("/api/v1" + w.path("running") + path + "/log?attempt=2"); time.Now().After(end) {
			t.Fatalf("the log is\n%s\nwant\n%s", got, want)
		}
	}
	if _, page := w.get(w.path("running") + path + "?attempt=2"); !strings.Contains(page, "line 43") || !strings.Contains(page, "this log is not whole: its executor was lost") {
		t.Errorf("the page of the task does not show it")
	}
}

func TestLiveLogShowsALineWithoutItsEnd(t *testing.T) {
	t.Parallel()
	w := begin(t, Config{})
	w.tell()
	messages, _ := w.listen(w.path("running")+"/tasks/"+string(liveTask)+"/log", "")
	for i, text := range []string{"password: ", "\x1b[31mwrong", " again\nnext"} {
		_, err := w.bus.PublishLog(bus.LogChunk{Pool: "linux", Run: w.story.Runs["running"], Task: liveTask, Attempt: 2, Number: int64(i), FirstLine: 1, Data: []byte(text)})
		must(t, err)
		want := []string{"password: ", `password: <span class="f1">wrong</span>`, `<span class="f1">next</span>`}[i]
		until(t, messages, func(m message) bool { return m.event == "tail" && m.data == want })
	}
}

// TestFollowedText follows a running attempt's log as the command line does, over the end of the live part into the
// archive.
func TestFollowedText(t *testing.T) {
	t.Parallel()
	w := begin(t, Config{})
	w.tell()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+"/api/v1"+w.path("running")+"/tasks/"+string(liveTask)+"/log?follow=1&from_line=2", nil)
	must(t, err)
	answer, err := http.DefaultClient.Do(req)
	must(t, err)
	defer func() { _ = answer.Body.Close() }()
	w.print(1, 3)
	lines := bufio.NewReader(answer.Body)
	for _, want := range []string{"line 2 <b>\n", "line 3 <b>\n"} {
		if got, err := lines.ReadString('\n'); got != want || err != nil {
			t.Fatalf("read %q and %v, want %q", got, err, want)
		}
	}
	var whole strings.Builder
	for i := 1; i <= 500; i++ {
		whole.WriteString("line " + strconv.Itoa(i) + " <b>\n")
	}
	digest, _, err := w.blobs.Put(t.Context(), strings.NewReader(compress(t, whole.String())))
	must(t, err)
	w.end(event.TaskFinished{Outcome: release.Success, Class: release.ClassOK, Log: digest, LogLines: 500})
	rest, err := io.ReadAll(lines)
	must(t, err)
	_, want, _ := strings.Cut(whole.String(), "line 3 <b>\n")
	if string(rest) != want {
		t.Fatalf("after line 3 came %d bytes, want %d: the rest of the archive", len(rest), len(want))
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	w := begin(t, Config{})
	w.tell()
	run := w.path("running")
	asJSON, _ := w.listen("/api/v1"+run+"/watch", "")
	asPage, _ := w.listen(run+"/live", "")
	list, _ := w.listen("/live?since=1000000", "")
	until(t, asJSON, func(m message) bool { return m.event == "run" && strings.Contains(m.data, `"state":"running"`) })
	until(t, asPage, func(m message) bool { return m.event == "verdict" && strings.Contains(m.data, "Running") })

	w.cancelled()
	until(t, asJSON, func(m message) bool { return m.event == "end" && strings.Contains(m.data, `"state":"cancel"`) })
	until(t, asPage, func(m message) bool { return m.event == "verdict" && strings.Contains(m.data, "Cancelled") })
	until(t, asPage, func(m message) bool { return m.event == "done" })
	until(t, list, func(m message) bool {
		return m.event == "run-"+string(w.story.Runs["running"]) && strings.Contains(m.data, "cancelled")
	})
	ended, _ := w.listen("/api/v1"+w.path("shut")+"/watch", "")
	until(t, ended, func(m message) bool { return m.event == "end" })
}
