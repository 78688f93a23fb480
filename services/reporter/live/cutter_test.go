package live

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/bus"
	"pgregory.net/rapid"

	"github.com/sluiceci/sluice/test/property"
)

// TestCutterHandsOnOnce cuts a log into pieces at any place, lets a second source begin again at any time, and expects
// the log from the line asked for, once.
func TestCutterHandsOnOnce(t *testing.T) {
	t.Parallel()
	property.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "bc", "\n", "\n\n", "ünü", "x\ny"}), 1, 30).Draw(t, "text"), "")
		from := rapid.Int64Range(0, 12).Draw(t, "from")
		var got strings.Builder
		c := newCutter(from, func(p Piece) error { got.Write(p.Text); return nil })
		stop := rapid.IntRange(0, len(text)).Draw(t, "stop")
		line, rest := int64(1), text[:stop]
		for rest != "" {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			if err := c.chunk(bus.LogChunk{FirstLine: line, Data: []byte(rest[:n])}); err != nil {
				t.Fatal(err)
			}
			line += int64(strings.Count(rest[:n], "\n"))
			rest = rest[n:]
		}
		c.restart(1)
		for rest = text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "m")
			if err := c.take([]byte(rest[:n])); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if want := fromLine(text, from); got.String() != want {
			t.Fatalf("from line %d of %q: got %q, want %q", from, text, got.String(), want)
		}
	})
}

func fromLine(text string, from int64) string {
	for n := int64(1); n < from; n++ {
		_, rest, found := strings.Cut(text, "\n")
		if !found {
			return ""
		}
		text = rest
	}
	return text
}

func TestCutterLeavesOutWhatTheStreamForgot(t *testing.T) {
	t.Parallel()
	var got []Piece
	c := newCutter(1, func(p Piece) error {
		got = append(got, Piece{p.Line, p.Column, append([]byte(nil), p.Text...)})
		return nil
	})
	_ = c.chunk(bus.LogChunk{FirstLine: 100, Data: []byte("x\n")})
	_ = c.chunk(bus.LogChunk{FirstLine: 101, Data: []byte("y\n")})
	want := []Piece{{99, 0, []byte("sluice: 99 lines are missing here: the stream of logs has them no longer\n")}, {100, 0, []byte("x\n")}, {101, 0, []byte("y\n")}}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got %s, want %s", fmt.Sprint(got), fmt.Sprint(want))
	}
}
