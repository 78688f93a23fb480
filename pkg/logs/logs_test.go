package logs_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/sluiceci/sluice/pkg/logs"
	"pgregory.net/rapid"

	"github.com/sluiceci/sluice/test/property"
)

func collect(into *[]logs.Chunk) func(logs.Chunk) {
	return func(c logs.Chunk) { *into = append(*into, c) }
}

func ExampleWriter() {
	w := logs.New(logs.Options{Sink: func(c logs.Chunk) { fmt.Printf("chunk %d, line %d: %q\n", c.Number, c.FirstLine, c.Text) }})
	_, _ = io.WriteString(w, "one\ntwo\n")
	result, err := w.Close()
	fmt.Println(result.Tail, result.Lines, err)
	// Output:
	// chunk 0, line 1: "one\ntwo\n"
	// [one two] 2 <nil>
}

func TestChunksComeInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var chunks []logs.Chunk
		w := logs.New(logs.Options{Sink: func(c logs.Chunk) {
			mu.Lock()
			defer mu.Unlock()
			chunks = append(chunks, c)
		}})
		began := time.Now()
		_, _ = io.WriteString(w, "a\nb")
		time.Sleep(60 * time.Millisecond)
		_, _ = io.WriteString(w, "c")
		time.Sleep(39 * time.Millisecond)
		synctest.Wait()
		mu.Lock()
		if len(chunks) != 0 {
			t.Errorf("%v came before its time", chunks)
		}
		mu.Unlock()
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		_, _ = io.WriteString(w, "d\ne\n")
		if _, err := w.Close(); err != nil {
			t.Fatal(err)
		}
		want := []logs.Chunk{
			{Number: 0, FirstLine: 1, Text: "a\nbc", At: began},
			{Number: 1, FirstLine: 2, Continues: true, Last: true, Text: "d\ne\n", At: began.Add(101 * time.Millisecond)},
		}
		if !reflect.DeepEqual(chunks, want) {
			t.Errorf("got %+v", chunks)
		}
	})
}

func TestFullChunksEndWithALine(t *testing.T) {
	var chunks []logs.Chunk
	w := logs.New(logs.Options{Sink: collect(&chunks), Every: time.Hour})
	line := strings.Repeat("x", 999) + "\n"
	_, _ = io.WriteString(w, strings.Repeat(line, 100))
	_, _ = w.Close()
	if len(chunks) != 2 || len(chunks[0].Text) != 65_000 || chunks[1].FirstLine != 66 || chunks[1].Continues {
		t.Errorf("%d chunks, the first of %d bytes", len(chunks), len(chunks[0].Text))
	}
}

func TestAnythingBecomesTheSameText(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		words := []string{"ü", "日本", "\n", "\r\n", "\xff", "\xe6\x97", "a", strings.Repeat("z", 40_000), strings.Repeat("é", 20_000)}
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 12).Draw(t, "words"), "")
		var want strings.Builder
		for _, r := range text {
			want.WriteRune(r)
		}
		var chunks []logs.Chunk
		var archive bytes.Buffer
		w := logs.New(logs.Options{Sink: collect(&chunks), Archive: &archive, Every: time.Hour, Tail: 3})
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			_, _ = io.WriteString(w, rest[:n])
			rest = rest[n:]
		}
		result, err := w.Close()
		if err != nil {
			t.Fatal(err)
		}
		check(t, chunks, want.String())
		if got := unpack(t, &archive); got != want.String() {
			t.Fatalf("the archive has %d bytes, expected %d", len(got), want.Len())
		}
		if result.Bytes != int64(want.Len()) || result.Stored != result.Bytes || result.Chunks != int64(len(chunks)) {
			t.Fatalf("%+v", result)
		}
		checkTail(t, result, want.String())
	})
}

func check(t *rapid.T, chunks []logs.Chunk, want string) {
	var got strings.Builder
	for i, c := range chunks {
		line := int64(strings.Count(got.String(), "\n")) + 1
		within := got.Len() > 0 && !strings.HasSuffix(got.String(), "\n")
		if c.Number != int64(i) || c.FirstLine != line || c.Continues != within || !utf8.ValidString(c.Text) ||
			len(c.Text) == 0 && !c.Last || len(c.Text) > logs.MaxChunk || c.Last != (i == len(chunks)-1) {
			t.Fatalf("chunk %d is number %d, line %d (expected %d), %d bytes", i, c.Number, c.FirstLine, line, len(c.Text))
		}
		got.WriteString(c.Text)
	}
	if got.String() != want {
		t.Fatalf("the chunks have %d bytes, expected %d", got.Len(), len(want))
	}
}

func checkTail(t *rapid.T, result logs.Result, text string) {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	if result.Lines != int64(len(lines)) {
		t.Fatalf("%d lines, expected %d", result.Lines, len(lines))
	}
	lines = lines[max(0, len(lines)-3):]
	if len(result.Tail) != len(lines) {
		t.Fatalf("%d lines in the tail, expected %d", len(result.Tail), len(lines))
	}
	for i, line := range lines {
		if !strings.HasPrefix(line, result.Tail[i]) || (len(line) < 2000 && strings.TrimRight(line, "\r\n") != strings.TrimRight(result.Tail[i], "\r")) {
			t.Fatalf("line %d of the tail is %.100q, expected %.100q", i, result.Tail[i], line)
		}
	}
}

type fataler interface{ Fatal(...any) }

func unpack(t fataler, r io.Reader) string {
	if b, ok := r.(*bytes.Buffer); ok && b.Len() == 0 {
		return ""
	}
	reader, err := logs.Open(r)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestEmptyLogCostsNothing(t *testing.T) {
	var archive bytes.Buffer
	w := logs.New(logs.Options{Sink: func(c logs.Chunk) { t.Errorf("got %+v", c) }, Archive: &archive})
	result, err := w.Close()
	if err != nil || archive.Len() != 0 || result.Lines != 0 || len(result.Tail) != 0 {
		t.Errorf("%+v, %v, %d bytes", result, err, archive.Len())
	}
}

func TestLimits(t *testing.T) {
	var chunks []logs.Chunk
	var archive bytes.Buffer
	w := logs.New(logs.Options{Sink: collect(&chunks), Archive: &archive, Live: 100_000, Limit: 150_000})
	for range 1000 {
		_, _ = io.WriteString(w, strings.Repeat("y", 999)+"\n")
	}
	result, err := w.Close()
	if err != nil || result.Bytes != 1_000_000 || result.Stored != 150_000 || len(unpack(t, &archive)) != 150_000 {
		t.Errorf("%+v, %v", result, err)
	}
	last := chunks[len(chunks)-2]
	if !strings.Contains(last.Text, "the live log ends here") || int64(len(chunks)) != result.Chunks || !chunks[len(chunks)-1].Last {
		t.Errorf("%d chunks (%d told), the last is %.200q", len(chunks), result.Chunks, last.Text)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

func TestBrokenArchiveDoesNotStopTheLog(t *testing.T) {
	var chunks []logs.Chunk
	told := 0
	w := logs.New(logs.Options{Sink: collect(&chunks), Archive: full{}, Failed: func(error) { told++ }, Every: time.Hour})
	text := strings.Repeat(fmt.Sprintln(t.Name()), 100_000)
	for rest := text; rest != ""; {
		n := min(len(rest), 30_000)
		if _, err := io.WriteString(w, rest[:n]); err != nil {
			t.Fatal(err)
		}
		rest = rest[n:]
	}
	_, err := w.Close()
	var got strings.Builder
	for _, c := range chunks {
		got.WriteString(c.Text)
	}
	if err == nil || told != 1 || got.String() != text {
		t.Errorf("told %d times, %v, %d of %d bytes", told, err, got.Len(), len(text))
	}
}

// TestMemoryIsBounded writes a line that never ends.
func TestMemoryIsBounded(t *testing.T) {
	w := logs.New(logs.Options{Sink: func(logs.Chunk) {}, Archive: io.Discard})
	piece := bytes.Repeat([]byte("0123456789abcdef"), 4<<10)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range 2000 { // 128 MB
		_, _ = w.Write(piece)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 8<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	result, err := w.Close()
	if err != nil || result.Lines != 1 || len(result.Tail) != 1 || len(result.Tail[0]) > 2<<10 {
		t.Errorf("%d lines, %v", result.Lines, err)
	}
}

func FuzzWriter(f *testing.F) {
	f.Add([]byte("a\nb\xff\xe6\x97"), 2)
	f.Fuzz(func(t *testing.T, text []byte, size int) {
		if size <= 0 {
			return
		}
		var got strings.Builder
		w := logs.New(logs.Options{Sink: func(c logs.Chunk) { got.WriteString(c.Text) }, Every: time.Hour})
		for rest := text; len(rest) > 0; {
			n := min(size, len(rest))
			_, _ = w.Write(rest[:n])
			rest = rest[n:]
		}
		_, _ = w.Close()
		if want := string([]rune(string(text))); got.String() != want {
			t.Errorf("%q became %q", text, got.String())
		}
	})
}

func BenchmarkWriter(b *testing.B) {
	text := bytes.Repeat([]byte("2026-11-21T11:34:57Z INFO compiling src/module_42.c with -O2 -fPIC -Wall (17 of 340)\n"), 400)
	w := logs.New(logs.Options{Sink: func(logs.Chunk) {}, Archive: io.Discard, Live: 1 << 60, Limit: 1 << 60})
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		_, _ = w.Write(text)
	}
}

func BenchmarkShortLog(b *testing.B) {
	codec := logs.NewCodec()
	for b.Loop() {
		w := logs.New(logs.Options{Sink: func(logs.Chunk) {}, Archive: io.Discard, Codec: codec})
		_, _ = io.WriteString(w, "hello\n")
		_, _ = w.Close()
	}
}
