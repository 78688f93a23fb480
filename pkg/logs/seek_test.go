package logs_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/logs"
	"pgregory.net/rapid"

	"github.com/sluiceci/sluice/test/property"
)

// archived writes a text and returns its archive.
func archived(t fataler, text string) []byte {
	var archive bytes.Buffer
	w := logs.New(logs.Options{Archive: &archive})
	_, _ = io.WriteString(w, text)
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return archive.Bytes()
}

// counting counts the bytes that are read.
type counting struct {
	from *bytes.Reader
	n    int64
}

func (c *counting) ReadAt(p []byte, at int64) (int, error) {
	n, err := c.from.ReadAt(p, at)
	c.n += int64(n)
	return n, err
}

func TestTailReadsLittle(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 400_000 {
		fmt.Fprintf(&text, "%d: \x1b[32mcompiling\x1b[0m module %x with all its dependencies\n", i+1, i*7919)
	}
	b := archived(t, text.String())
	from := &counting{from: bytes.NewReader(b)}
	a, err := logs.OpenAt(from, int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	if lines, err := a.Lines(); err != nil || lines != 400_000 {
		t.Fatalf("%d lines, %v", lines, err)
	}
	tail, first, err := a.Tail(3)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(tail)
	if err != nil || first != 399_998 || strings.Count(string(got), "\n") != 3 || !strings.HasPrefix(string(got), "399998: \x1b[32mcompiling") {
		t.Errorf("the tail begins with line %d: %q, %v", first, got, err)
	}
	if from.n > int64(len(b))/8 {
		t.Errorf("read %d bytes of %d", from.n, len(b))
	}
	if whole := unpack(t, bytes.NewReader(b)); whole != text.String() {
		t.Error("the whole log is another")
	}
}

// TestFromAnyLine compares with the text itself, lines without an end and lines of megabytes included.
func TestFromAnyLine(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("l", 1<<20)
	property.Check(t, func(r *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{"a\n", "\n", "bb", strings.Repeat("short line\n", 50_000), long, long + "\n"}), 0, 8).Draw(r, "parts")
		text := strings.Join(parts, "")
		lines := strings.SplitAfter(text, "\n")
		if lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
		b := archived(r, text)
		a, err := logs.OpenAt(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			r.Fatal(err)
		}
		if n, err := a.Lines(); err != nil || n != int64(len(lines)) {
			r.Fatalf("%d lines, expected %d: %v", n, len(lines), err)
		}
		line := rapid.IntRange(1, len(lines)+2).Draw(r, "line")
		from, err := a.From(int64(line))
		if err != nil {
			r.Fatal(err)
		}
		defer func() { _ = from.Close() }()
		got, err := io.ReadAll(from)
		if want := strings.Join(lines[min(line-1, len(lines)):], ""); err != nil || string(got) != want {
			r.Fatalf("from line %d there are %d bytes, expected %d: %v", line, len(got), len(want), err)
		}
	})
}

func FuzzOpenAt(f *testing.F) {
	f.Add(archived(f, strings.Repeat("some line\n", 300_000)))
	f.Add(archived(f, "short\n"))
	f.Add([]byte("sluicelg"))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := logs.OpenAt(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		text, _, err := a.Tail(5)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, io.LimitReader(text, 1<<20)) // no panic, no endless reading
		_ = text.Close()
	})
}

// TestManyShortLines: ten thousand lines in a second are a small part of what one log takes.
func TestManyShortLines(t *testing.T) {
	t.Parallel()
	var lines, chunks int64
	w := logs.New(logs.Options{Archive: io.Discard, Sink: func(c logs.Chunk) {
		lines += int64(strings.Count(c.Text, "\n"))
		chunks++
	}, Every: time.Hour})
	line := []byte("2026-11-21T11:34:57Z \x1b[1mINFO\x1b[0m request 17 took 4 ms\n")
	const count = 100_000
	for range count {
		if _, err := w.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	result, err := w.Close()
	if err != nil || lines != count || result.Lines != count || result.Chunks != chunks {
		t.Errorf("%d lines in %d chunks: %+v, %v", lines, chunks, result, err)
	}
}
