package builder

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fetch"
	"github.com/sluiceci/sluice/pkg/release"
)

// fetching is a definition whose one build is fetched.
func fetching(address, more string) string {
	return fmt.Sprintf("project: tiny\nbuilds:\n  wheel: {fetch: {url: %q, every: 20ms%s}, outputs: {wheel: \"*.whl\"}, stamp: commit}\ntests:\n  smoke: {needs: [wheel], run: make test}\n", address, more)
}

// loopbackFetch lets tests fetch from this machine.
func loopbackFetch() Config {
	return Config{Fetch: Fetch{Rules: fetch.Rules{Private: true, MaxSize: 1 << 20, Silence: time.Minute}, Tell: time.Hour, Beat: 20 * time.Millisecond}}
}

// fetched plans a run of a definition, gives its build to the pool that fetches, as the scheduler does, and returns the run.
func (s *shop) fetches(text string, attempt int32) (release.RunID, release.Commit) {
	s.t.Helper()
	change := s.commit(map[string]string{"sluice.yaml": text})
	s.say(change.RunID(), event.ChangeReceived{Change: change})
	asked := await[event.TaskRequested](s, change.RunID())
	if asked.Pool != release.FetchPool {
		s.t.Fatalf("requested %+v, want it in pool %s", asked, release.FetchPool)
	}
	s.dispatch(change.RunID(), asked, attempt)
	return change.RunID(), change.Commit
}

func (s *shop) dispatch(run release.RunID, asked event.TaskRequested, attempt int32) {
	s.say(run, event.TaskDispatched{Task: asked.Task, Attempt: attempt, Pool: asked.Pool, Plan: asked.Plan, Timeouts: asked.Timeouts})
}

// TestFetchWaitsForWhatIsNotThereYet: 404, 403 and 503 are asked again, the two ways of not being there quietly, and the
// fault told; then the file is taken, checked and is an artifact.
func TestFetchWaitsForWhatIsNotThereYet(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.open(loopbackFetch())
	var asked atomic.Int32
	var body atomic.Pointer[[]byte]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		switch n := asked.Add(1); {
		case n <= 2:
			w.WriteHeader(http.StatusNotFound)
		case n == 3:
			w.WriteHeader(http.StatusServiceUnavailable)
		case body.Load() == nil:
			w.WriteHeader(http.StatusForbidden)
		default:
			_, _ = w.Write(*body.Load())
		}
	}))
	t.Cleanup(server.Close)
	run, commit := s.fetches(fetching(server.URL+"/{{ commit }}/tiny-1.0.whl", ""), 1)
	told := all[event.TaskAwaited](s, run, 3)
	for i, want := range []string{"404 Not Found", "503 Service Unavailable", "403 Forbidden"} {
		if told[i].Answer != want || told[i].Asked < int32(i+1) || !told[i].Next.Before(told[i].Until) {
			t.Errorf("told %+v, want %s", told[i], want)
		}
	}
	text := wheel(t, string(commit))
	body.Store(&text)
	if started := await[event.TaskStarted](s, run); started.Pool != release.FetchPool || started.Executor != "test" {
		t.Errorf("started %+v", started)
	}
	end := await[event.TaskFinished](s, run)
	if end.Class != release.ClassOK || len(end.Artifacts) != 1 {
		t.Fatalf("ended %+v", end)
	}
	a := end.Artifacts[0]
	if a.Name != "tiny-1.0.whl" || a.Type != "wheel" || a.Job != "wheel" || !a.Stamped || a.Digest != release.DigestOf(text) || a.Size != int64(len(text)) {
		t.Errorf("artifact %+v", a)
	}
	if got := await[event.CandidateAssembled](s, run); got.Artifacts != 1 || got.Commit != commit {
		t.Errorf("assembled %+v", got)
	}
}

// all waits for n facts of a run.
func all[P event.Payload](s *shop, run release.RunID, n int) (out []P) {
	s.t.Helper()
	var zero P
	f, err := s.bus.Follow(s.t.Context(), bus.Following{Name: "test", Run: string(run), Types: []event.Type{zero.EventType()}})
	must(s.t, err)
	defer f.Close()
	for deadline := time.Now().Add(time.Minute); len(out) < n; {
		batch, err := f.Next(s.t.Context(), time.Second)
		if err != nil || time.Now().After(deadline) {
			s.t.Fatalf("%d of %d %s of run %s: %v", len(out), n, zero.EventType(), run, err)
		}
		for _, e := range batch.Events {
			out = append(out, e.Data.(P))
		}
	}
	return out
}

// TestFetchIsOverWhenTheSchedulerSaysSo: a builder that finds the attempt ended, or its run cancelled, asks no more.
func TestFetchIsOverWhenTheSchedulerSaysSo(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]event.Payload{
		"its time is over": event.TaskFinished{Task: "wheel", Attempt: 1, Pool: release.FetchPool, Class: release.ClassInfraTimeout, Outcome: release.Error, ExitCode: release.ExitAbsent},
		"it is cancelled":  event.TaskConcluded{Task: "wheel", Attempts: 1, Outcome: release.Cancelled, Class: release.ClassCancelled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			s.open(loopbackFetch())
			var asked atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked.Add(1)
				w.WriteHeader(http.StatusNotFound)
			}))
			t.Cleanup(server.Close)
			run, _ := s.fetches(fetching(server.URL+"/tiny.whl", ""), 1)
			s.until("asked twice", func() bool { return asked.Load() >= 2 })
			s.say(run, end)
			s.until("nothing waits", func() bool { return s.waiting() == 0 })
			n := asked.Load()
			s.say(run, event.TaskDispatched{Task: "x", Attempt: 1, Pool: release.FetchPool}) // comes after it
			s.until("the next is handled", func() bool { return s.waiting() == 0 })
			if now := asked.Load(); now != n {
				t.Errorf("asked %d times after the end", now-n)
			}
		})
	}
}

func (s *shop) until(what string, holds func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("not within a minute: %s", what)
		}
	}
}

// waiting is how many attempts the pool's consumer has not done with.
func (s *shop) waiting() int {
	s.t.Helper()
	streams, err := s.bus.Status(s.t.Context())
	must(s.t, err)
	for _, stream := range streams {
		for _, c := range stream.Consumers {
			if c.Name == "builder-fetch-fetch" {
				return int(c.Lag())
			}
		}
	}
	return -1
}

// TestFetchSurvivesTheBuilder: the wait is in the stream, so a builder that ends takes nothing along, and the next goes on
// asking, and counting.
func TestFetchSurvivesTheBuilder(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	var asked atomic.Int32
	var there atomic.Pointer[[]byte]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		if b := there.Load(); b != nil {
			_, _ = w.Write(*b)
			return
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(server.Close)
	closeIt := s.open(loopbackFetch())
	run, commit := s.fetches(fetching(server.URL+"/tiny.whl", ""), 1)
	for range 3 {
		n := asked.Load()
		s.until("asked again", func() bool { return asked.Load() > n })
		closeIt()
		closeIt = s.open(loopbackFetch())
	}
	told := all[event.TaskAwaited](s, run, 2) // each builder tells its first
	if first, last := told[0], told[len(told)-1]; last.Asked <= first.Asked || !last.Until.Equal(first.Until) {
		t.Errorf("told %+v and then %+v, want more questions and the same end", first, last)
	}
	text := wheel(t, string(commit))
	there.Store(&text)
	if end := await[event.TaskFinished](s, run); end.Class != release.ClassOK || end.Attempt != 1 {
		t.Errorf("ended %+v", end)
	}
}

// TestFetchEndsAtOnceWhereAskingDoesNotHelp.
func TestFetchEndsAtOnceWhereAskingDoesNotHelp(t *testing.T) {
	t.Parallel()
	other := strings.Repeat("ab", 20)
	answer := func(f func(w http.ResponseWriter, r *http.Request)) func(*testing.T) string {
		return func(t *testing.T) string {
			server := httptest.NewServer(http.HandlerFunc(f))
			t.Cleanup(server.Close)
			return server.URL
		}
	}
	for name, c := range map[string]struct {
		serve func(*testing.T) string
		more  string
		class release.Class
		want  string
	}{
		"another commit": {answer(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(wheel(t, other)) }), "", release.ClassCommand, other},
		"another digest": {
			answer(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("x")) }),
			", digest: \"" + string(release.DigestOf([]byte("y"))) + "\"", release.ClassCommand, string(release.DigestOf([]byte("x"))),
		},
		"no credential": {answer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }), "", release.ClassConfig, "401 Unauthorized"},
		"redirected for ever": {
			answer(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) }), "", release.ClassConfig, "redirected more than 10 times",
		},
		"a certificate that nobody trusts": {func(t *testing.T) string {
			server := httptest.NewTLSServer(http.NotFoundHandler())
			server.Config.ErrorLog = nil
			t.Cleanup(server.Close)
			return server.URL
		}, "", release.ClassConfig, "certificate"},
		"a file that is not allowed": {func(*testing.T) string { return "file:///etc" }, "", release.ClassConfig, "names no directory"},
		"no end": {answer(func(w http.ResponseWriter, r *http.Request) {
			for _, err := w.Write(make([]byte, 32<<10)); err == nil && r.Context().Err() == nil; {
				_, err = w.Write(make([]byte, 32<<10))
			}
		}), "", release.ClassCommand, "more than 1048576 bytes"},
		"too much by its own word": {answer(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "9000000000") }), ", max_size: 100kB", release.ClassConfig, "more than 100000 bytes"},
		"less than it said": {answer(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte("short"))
		}), "", release.ClassInfra, "it broke off"},
		"silence": {answer(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte("short"))
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}), "", release.ClassInfra, "nothing came for 2s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			config := loopbackFetch()
			if name == "silence" {
				config.Fetch.Silence = 2 * time.Second
			}
			s.open(config)
			run, commit := s.fetches(fetching(c.serve(t)+"/tiny.whl", c.more), 1)
			end := await[event.TaskFinished](s, run)
			if end.Class != c.class || !strings.Contains(end.Reason, c.want) || len(end.Artifacts) != 0 {
				t.Errorf("ended %s %q with %d artifacts, want %s and %q", end.Class, end.Reason, len(end.Artifacts), c.class, c.want)
			}
			if name == "another commit" && !strings.Contains(end.Reason, string(commit)) {
				t.Errorf("%q does not name the commit that was expected, %s", end.Reason, commit)
			}
		})
	}
}

// TestFetchOfAFile: file:// where the installation allows it, once the file is there.
func TestFetchOfAFile(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	dir := t.TempDir()
	config := loopbackFetch()
	config.Fetch.Files = []string{dir}
	s.open(config)
	run, commit := s.fetches(fetching("file://"+dir+"/tiny.whl", ""), 1)
	if told := await[event.TaskAwaited](s, run); told.Answer != "no such file" {
		t.Errorf("told %+v", told)
	}
	must(t, os.WriteFile(filepath.Join(dir, "new"), wheel(t, string(commit)), 0o644))
	must(t, os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "tiny.whl")))
	if end := await[event.TaskFinished](s, run); end.Class != release.ClassOK {
		t.Errorf("ended %+v", end)
	}
}

// TestFetchStopsWhenToldTo ends a download that has begun: by an order, and with the builder.
func TestFetchStopsWhenToldTo(t *testing.T) {
	t.Parallel()
	for name, class := range map[string]release.Class{"cancelled": release.ClassCancelled, "the builder ends": release.ClassLost} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			config := loopbackFetch()
			config.Fetch.Silence = time.Hour
			closeIt := s.open(config)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = w.Write([]byte("a"))
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			}))
			t.Cleanup(server.Close)
			run, _ := s.fetches(fetching(server.URL+"/tiny.whl", ""), 1)
			await[event.TaskStarted](s, run)
			if class == release.ClassCancelled {
				s.say(run, event.TaskCancelRequested{Task: "wheel", Attempt: 1, Pool: release.FetchPool, Reason: "enough"})
			} else {
				closeIt()
			}
			if end := await[event.TaskFinished](s, run); end.Class != class || len(end.Artifacts) != 0 {
				t.Errorf("ended %s %q, want %s", end.Class, end.Reason, class)
			}
		})
	}
}
