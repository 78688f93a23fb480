package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/client/view"
)

// paper is a terminal of a size on which a test types.
type paper struct {
	mu    sync.Mutex
	drawn bytes.Buffer
	typed io.Reader
	rows  int
}

func (p *paper) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.drawn.Write(b)
}

func (p *paper) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.drawn.String()
}

func (p *paper) size() (int, int) { return 60, p.rows }

func (p *paper) keys(fn func(byte)) func() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		eachKey(p.typed, fn)
	}()
	return func() {
		if c, ok := p.typed.(io.Closer); ok {
			_ = c.Close()
		}
		<-done
	}
}

func hello(s view.Style) string {
	return fmt.Sprintf("%d columns\n", s.Width) + strings.Repeat("line\n", 20)
}

func TestScreenCutsToTheTerminal(t *testing.T) {
	t.Parallel()
	out := &paper{rows: 5, typed: strings.NewReader("")}
	s, _ := openScreen(t.Context(), out, out, view.Style{}, false)
	s.draw(hello)
	until(t, func() bool { return strings.Contains(out.text(), "line") })
	s.close()
	want := "60 columns\x1b[K\r\nline\x1b[K\r\nline\x1b[K\r\n…\x1b[K\r\n\x1b[J\r\x1b[4A\x1b[J" + wrapLines + showCursor
	if got := out.text(); !strings.HasSuffix(got, want) {
		t.Errorf("it drew %q, want at the end %q", got, want)
	}
	s.draw(hello) // too late, and no harm
}

func TestScreenEndsWithAKey(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"q", "xyq", "\x03"} {
		in, typing := io.Pipe()
		out := &paper{rows: 24, typed: in}
		s, ctx := openScreen(t.Context(), out, out, view.Style{}, true)
		s.draw(hello)
		go func() { _, _ = io.WriteString(typing, key) }()
		until(t, func() bool { return ctx.Err() != nil })
		s.close()
		if !errors.Is(context.Cause(ctx), errQuit) || !strings.Contains(out.text(), firstScreen) {
			t.Errorf("%q: it ended with %v and drew %q", key, context.Cause(ctx), out.text())
		}
	}
}

// until waits until something is so, a minute at most.
func until(t *testing.T, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it is not so after a minute")
		}
	}
}
