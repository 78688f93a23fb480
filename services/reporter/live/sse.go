package live

import (
	"bytes"
	"net/http"
	"strings"
	"time"
)

const (
	// writeWithin is what a client has to take one message. Who needs longer is dropped and may come again.
	writeWithin = 10 * time.Second
	// KeepAlive is how often a silent stream says that it lives.
	KeepAlive = 15 * time.Second
)

// Stream is a response of server-sent events.
type Stream struct {
	w    http.ResponseWriter
	ctl  *http.ResponseController
	buf  bytes.Buffer
	head bool
}

// NewStream begins a response of server-sent events.
func NewStream(w http.ResponseWriter) *Stream {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusOK)
	s := &Stream{w: w, ctl: http.NewResponseController(w)}
	s.buf.WriteString("retry: 1000\n\n")
	return s
}

// Send sends one message. Id is what a client that comes again gives as Last-Event-ID; an empty one changes nothing.
func (s *Stream) Send(event, id, data string) error {
	s.Add(event, id, data)
	return s.Flush()
}

// Add prepares a message for the next Flush.
func (s *Stream) Add(event, id, data string) {
	if id != "" {
		s.buf.WriteString("id: " + oneLine(id) + "\n")
	}
	s.buf.WriteString("event: " + oneLine(event) + "\n")
	for line := range strings.SplitSeq(data, "\n") {
		s.buf.WriteString("data: ")
		s.buf.WriteString(strings.ReplaceAll(line, "\r", ""))
		s.buf.WriteByte('\n')
	}
	s.buf.WriteByte('\n')
}

// Ping says that the stream lives.
func (s *Stream) Ping() error {
	s.buf.WriteString(": alive\n\n")
	return s.Flush()
}

// Flush writes what was added.
func (s *Stream) Flush() error {
	if s.buf.Len() == 0 {
		return nil
	}
	// Not every writer has deadlines (a test's recorder); then the client is trusted.
	_ = s.ctl.SetWriteDeadline(time.Now().Add(writeWithin))
	_, err := s.w.Write(s.buf.Bytes())
	s.buf.Reset()
	if err == nil {
		err = s.ctl.Flush()
	}
	return err
}

func oneLine(s string) string {
	return strings.NewReplacer("\n", " ", "\r", " ", "\x00", "").Replace(s)
}
