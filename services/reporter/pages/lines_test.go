package pages

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/services/reporter/live"
)

func piece(line, column int64, text string) live.Piece {
	return live.Piece{Line: line, Column: column, Text: []byte(text)}
}

func TestLinesKeepTheNewest(t *testing.T) {
	t.Parallel()
	l := newLines(1, 3, true)
	for i := int64(1); i <= 10; i++ {
		_ = l.take(piece(i, 0, fmt.Sprintf("line %d\n", i)))
	}
	_ = l.take(piece(11, 0, "no end yet"))
	kept, next := l.finish()
	if len(kept) != 3 || kept[0].Number != 8 || kept[2].Text != "line 10" || next != 11 {
		t.Fatalf("kept %v, next %d; want lines 8 to 10 and then 11", kept, next)
	}
}

func TestLinesKeepTheFirst(t *testing.T) {
	t.Parallel()
	l := newLines(5, 2, false)
	_ = l.take(piece(5, 0, "a\nb\nc\n"))
	if kept, next := l.finish(); len(kept) != 2 || kept[1].Number != 6 || next != 7 {
		t.Fatalf("kept %v, next %d; want lines 5 and 6, then 7", kept, next)
	}
	l = newLines(1, 5, false)
	_ = l.take(piece(1, 0, "10 %\r50 %\r100 %\r\nlast"))
	if kept, _ := l.finish(); len(kept) != 2 || kept[0].Text != "100 %" || kept[1].Text != "last" {
		t.Fatalf("kept %v, want what stays visible of a progress bar, and the last line", kept)
	}
}

func TestLinesGoOnBehindAGap(t *testing.T) {
	t.Parallel()
	l := newLines(1, 10, true)
	_ = l.take(piece(1, 0, "a\npart"))
	_ = l.take(piece(100, 0, "b\n"))
	if kept, next := l.finish(); len(kept) != 2 || kept[1].Number != 100 || next != 101 {
		t.Fatalf("kept %v, next %d; want lines 1 and 100, then 101", kept, next)
	}
}

// TestSlowClientIsDropped fills the buffer of a client that does not read, and shows what it is told when it does.
func TestSlowClientIsDropped(t *testing.T) {
	t.Parallel()
	f := newFeed(1, 20*time.Millisecond)
	line := strings.Repeat("x", 1000) + "\n"
	var err error
	n := int64(0)
	for err == nil && n < 10_000 {
		n++
		err = f.take(t.Context(), piece(n, 0, line))
	}
	if !errors.Is(err, errSlow) || n*int64(len(line)) > 2*bufferMost {
		t.Fatalf("after %d lines: %v, want the client given up with a bounded buffer", n, err)
	}
	done := make(chan error, 1)
	done <- err
	w := httptest.NewRecorder()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := f.send(ctx, live.NewStream(w), done); err != nil {
		t.Fatal(err)
	}
	body := w.Body.String()
	if !strings.Contains(body, "event: dropped") || !strings.Contains(body, fmt.Sprintf("id: %d\n", n-1)) {
		t.Fatalf("the client was told %d bytes, without that it was dropped behind line %d", len(body), n-1)
	}
}
