package reporter

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/services/reporter/live"
	"github.com/sluiceci/sluice/services/reporter/readmodel"
	"github.com/sluiceci/sluice/services/reporter/view"
)

func (a *api) artifacts(w http.ResponseWriter, r *http.Request) error {
	id, err := runOf(r)
	if err != nil {
		return err
	}
	n, err := limit(r)
	if err != nil {
		return err
	}
	after, err := afterArtifact(r.FormValue("after"))
	if err != nil {
		return err
	}
	list, more, err := a.source.Model.Artifacts(r.Context(), readmodel.ArtifactsQuery{
		Run: id, Task: release.TaskID(r.FormValue("task")), After: after, Limit: n,
	})
	if err != nil {
		return err
	}
	next := ""
	if more {
		last := list[len(list)-1]
		next = artifactCursor(last)
	}
	return ok(w, struct {
		Artifacts []readmodel.Artifact `json:"artifacts"`
		Next      string               `json:"next,omitempty"` // "after" of the next page
	}{list, next})
}

// artifactCursor is the place of an artifact in the list, as a text that afterArtifact reads.
func artifactCursor(a readmodel.Artifact) string {
	return strings.Join([]string{url.QueryEscape(string(a.Task)), url.QueryEscape(a.Name), url.QueryEscape(a.Type)}, "/")
}

func afterArtifact(text string) (readmodel.ArtifactKey, error) {
	if text == "" {
		return readmodel.ArtifactKey{}, nil
	}
	parts := strings.Split(text, "/")
	if len(parts) == 3 {
		task, err1 := url.QueryUnescape(parts[0])
		name, err2 := url.QueryUnescape(parts[1])
		kind, err3 := url.QueryUnescape(parts[2])
		if err1 == nil && err2 == nil && err3 == nil {
			return readmodel.ArtifactKey{Task: task, Name: name, Type: kind}, nil
		}
	}
	return readmodel.ArtifactKey{}, view.Missing("this page of artifacts", "give what \"next\" of the page before says as \"after\"")
}

// download gives an artifact's bytes, always as a file to keep: what a build made is never shown as a page of ours.
func (a *api) download(w http.ResponseWriter, r *http.Request) error {
	id, err := runOf(r)
	if err != nil {
		return err
	}
	artifact, found, err := a.source.Model.Artifact(r.Context(), id, release.TaskID(r.PathValue("task")), r.PathValue("name"))
	if err != nil {
		return err
	}
	if !found {
		return view.Missing("this artifact", "sluice artifacts "+string(id)+" lists those that there are")
	}
	content, size, err := a.blobs.Open(r.Context(), artifact.Digest)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }() // it was only read
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Length", strconv.FormatInt(size, 10))
	h.Set("Content-Disposition", disposition(artifact))
	h.Set("Digest", "sha-256="+artifact.Digest.Hex())
	h.Set("Etag", `"`+string(artifact.Digest)+`"`)
	fileHeaders(h)
	if _, err := io.Copy(w, content); err != nil {
		panic(http.ErrAbortHandler) // the bytes are not those of the digest, or nobody reads: the client must see a broken answer
	}
	return nil
}

// fileHeaders keep a browser from making a page of what is not ours.
func fileHeaders(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
}

// disposition names the file: plainly for every client, and exactly (RFC 6266) for those that know how.
func disposition(a readmodel.Artifact) string {
	name := path.Base(strings.ReplaceAll(a.Name, `\`, "/"))
	if a.Directory && !strings.HasSuffix(name, ".tar") {
		name += ".tar"
	}
	plain := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || strings.ContainsRune(`"\/%;`, r) {
			return '_'
		}
		return r
	}, name)
	return fmt.Sprintf(`attachment; filename="%s"; filename*=UTF-8''%s`, plain, strings.ReplaceAll(url.QueryEscape(name), "+", "%20"))
}

// taskLog gives an attempt's log as it was printed.
func (a *api) taskLog(w http.ResponseWriter, r *http.Request) error {
	id, err := runOf(r)
	if err != nil {
		return err
	}
	q := live.LogQuery{Run: id, Follow: r.FormValue("follow") == "1" || r.FormValue("follow") == "true"}
	if q.Task, err = taskOf(r); err != nil {
		return err
	}
	attempt, err := number(r, "attempt", 0, math.MaxInt32)
	if err != nil {
		return err
	}
	from, err := number(r, "from_line", 1, math.MaxInt64)
	if err != nil {
		return err
	}
	if q.Attempt, err = a.source.LastAttempt(r.Context(), q.Run, q.Task, int32(attempt)); err != nil {
		return err
	}
	q.From = int64(from)
	tail, err := number(r, "tail", 0, math.MaxInt32)
	if err != nil {
		return err
	}
	if tail > 0 {
		if q.From, err = a.logs.Tail(r.Context(), q, int64(tail)); err != nil {
			return err
		}
	}
	h := w.Header()
	h.Set("Sluice-Line", strconv.FormatInt(q.From, 10))
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Sluice-Attempt", strconv.Itoa(int(q.Attempt)))
	fileHeaders(h)
	if r.Method == http.MethodHead {
		return nil // who wants to know where the tail begins
	}
	return a.logs.Text(r.Context(), w, q)
}
