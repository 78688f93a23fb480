package edge

import (
	"io"
	"net/http"
	"time"
)

// timed gives each request its deadlines: one for its body, and one for each write of its answer. A request without a body
// has no deadline for reading, else a stream of events would end with it.
func timed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		if r.ContentLength == 0 || r.Body == nil || r.Body == http.NoBody {
			_ = control.SetReadDeadline(time.Time{}) // a writer without deadlines (a test's recorder) is served all the same
		} else {
			_ = control.SetReadDeadline(time.Now().Add(bodyTimeout))
			r.Body = &arriving{ReadCloser: r.Body, control: control}
		}
		next.ServeHTTP(&writer{ResponseWriter: w, control: control}, r)
	})
}

// arriving is a body that has a deadline until it is read to its end.
type arriving struct {
	io.ReadCloser
	control *http.ResponseController
}

func (a *arriving) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if err == io.EOF { //nolint:errorlint // readers return it as it is
		_ = a.control.SetReadDeadline(time.Time{}) // the answer may take longer than the request
	}
	return n, err
}

// writer gives each write a deadline of its own.
type writer struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (w *writer) Write(p []byte) (int, error) {
	_ = w.control.SetWriteDeadline(time.Now().Add(writeTimeout))
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
