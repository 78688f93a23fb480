package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
)

// maxMessage bounds a line of a stream of server-sent events, in bytes.
const maxMessage = 16 << 20

// message is one server-sent event.
type message struct {
	id    string
	event string // "message" when the server names none
	data  []byte
}

// listen calls fn with every message of a stream until the stream or ctx ends, or fn returns an error.
func (c *Client) listen(ctx context.Context, query url.Values, fn func(message) error, path ...string) error {
	answer, err := c.send(ctx, call{method: http.MethodGet, path: path, query: query, accept: "text/event-stream"})
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") {
		return fault.New(fault.Invalid, "cannot follow: the server sent %q, expected text/event-stream", Line(answer.Header.Get("Content-Type")))
	}
	err = messages(answer.Body, fn)
	if ctx.Err() != nil {
		return fault.As(fault.Transient, context.Cause(ctx))
	}
	return err
}

// messages reads server-sent events as the standard has them: fields up to an empty line, comments ignored, a message
// that the end cuts off not delivered.
func messages(r io.Reader, fn func(message) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), maxMessage)
	m := message{event: "message"}
	for lines.Scan() {
		if line := lines.Bytes(); len(line) > 0 {
			if m.field(line); len(m.data) > maxMessage {
				return fault.New(fault.Invalid, "cannot follow: a message of the server is larger than %d bytes", maxMessage)
			}
			continue
		}
		if m.data != nil {
			if err := fn(m); err != nil {
				return err
			}
		}
		m = message{event: "message", id: m.id}
	}
	if err := lines.Err(); err != nil && !errors.Is(err, context.Canceled) {
		return fault.New(fault.Transient, "cannot follow: the stream broke: %w", err)
	}
	return nil
}

func (m *message) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "id":
		m.id = string(value)
	case "event":
		m.event = string(value)
	case "data":
		if m.data != nil {
			m.data = append(m.data, '\n')
		}
		m.data = append(m.data, value...)
		if m.data == nil {
			m.data = []byte{}
		}
	}
}
