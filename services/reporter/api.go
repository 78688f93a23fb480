package reporter

import (
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/sluiceci/sluice/pkg/access"
	"github.com/sluiceci/sluice/pkg/blob"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/edge"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/service"
	"github.com/sluiceci/sluice/services/reporter/live"
	"github.com/sluiceci/sluice/services/reporter/view"
)

// api answers questions as JSON. It changes nothing.
type api struct {
	source *view.Source
	logs   *live.Logs
	hub    *live.Hub
	bus    *bus.Bus
	blobs  blob.Store
	log    *slog.Logger
}

// endpoints is the table of what can be asked.
func (a *api) endpoints() []service.Endpoint {
	var out []service.Endpoint
	for _, e := range []struct {
		path   string
		rule   access.Rule
		answer func(http.ResponseWriter, *http.Request) error
	}{
		{"runs", access.Any(access.Viewer), a.runs},
		{"runs/{run}", access.To(access.Viewer), a.run},
		{"runs/{run}/tasks", access.To(access.Viewer), a.tasks},
		{"runs/{run}/artifacts", access.To(access.Viewer), a.artifacts},
		{"runs/{run}/artifacts/{task}/{name...}", access.To(access.Viewer), a.download},
		{"runs/{run}/why", access.To(access.Viewer), a.why},
		{"runs/{run}/publication", access.To(access.Developer), a.rehearse},
		{"runs/{run}/timeline", access.To(access.Viewer), a.timeline},
		{"runs/{run}/events", access.To(access.Viewer), a.events},
		{"runs/{run}/tasks/{task}", access.To(access.Viewer), a.task},
		{"runs/{run}/tasks/{task}/log", access.To(access.Viewer), a.taskLog},
		{"events", access.Whole(access.Maintainer), a.allEvents},
		{"runs/{run}/watch", access.To(access.Viewer), a.watch},
		{"pools", access.Whole(access.Viewer), a.pools},
		{"limits", access.Whole(access.Viewer), a.limits},
		{"streams", access.Whole(access.Viewer), a.streams},
		{"deadletters", access.Whole(access.Viewer), a.deadLetters},
		{"audit", access.Any(access.Maintainer), a.audit},
	} {
		out = append(out, service.Endpoint{Pattern: "GET /api/v1/" + e.path, Rule: e.rule, Handler: a.handle(e.answer)})
	}
	return out
}

// handle turns an error into an answer. An error after the answer has begun can only end it.
func (a *api) handle(answer func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun := &begun{ResponseWriter: w}
		err := answer(begun, r)
		if err == nil || r.Context().Err() != nil {
			return
		}
		if fault.Of(err) == fault.Internal || begun.yes {
			a.log.Error("cannot answer", "path", r.URL.Path, "err", err)
		}
		if !begun.yes {
			refuse(w, err)
		}
	})
}

// begun knows whether an answer has begun.
type begun struct {
	http.ResponseWriter
	yes bool
}

func (b *begun) WriteHeader(status int)      { b.yes = true; b.ResponseWriter.WriteHeader(status) }
func (b *begun) Write(p []byte) (int, error) { b.yes = true; return b.ResponseWriter.Write(p) }
func (b *begun) Unwrap() http.ResponseWriter { return b.ResponseWriter }

func refuse(w http.ResponseWriter, err error) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if fault.Is(err, fault.Invalid) && (view.IsMissing(err) || errors.Is(err, fs.ErrNotExist)) {
		err = &edge.Refusal{Status: http.StatusNotFound, Err: err}
	}
	edge.Refuse(w, err)
}

func ok(w http.ResponseWriter, body any) error {
	writeJSON(w, http.StatusOK, body)
	return nil
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client is gone when this fails
}

// runOf reads the run's name out of the path.
func runOf(r *http.Request) (release.RunID, error) {
	if id := r.PathValue("run"); release.Token(id) {
		return release.RunID(id), nil
	}
	return "", view.Missing("this run", "a run's name has letters, digits, - and _")
}

func taskOf(r *http.Request) (release.TaskID, error) {
	if id := r.PathValue("task"); release.Token(id) {
		return release.TaskID(id), nil
	}
	return "", view.Missing("this task", "a task's name has letters, digits, - and _")
}

// number reads a parameter that is a whole number from 0 to most, fallback when it is not given.
func number(r *http.Request, name string, fallback, most uint64) (uint64, error) {
	text := r.FormValue(name)
	if text == "" {
		return fallback, nil
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return 0, fault.New(fault.Invalid, "cannot use %s=%q: expected a whole number", name, text)
	}
	return min(n, most), nil
}
