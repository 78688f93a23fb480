package live

import (
	"bytes"
	"fmt"

	"github.com/sluiceci/sluice/pkg/bus"
)

// place is a place in a log: bytes into a line. Lines count from 1.
type place struct{ line, column int64 }

func (p place) before(o place) bool {
	return p.line < o.line || p.line == o.line && p.column < o.column
}

// after is the place behind a text that begins at p.
func (p place) after(text []byte) place {
	n := bytes.Count(text, []byte{'\n'})
	if n == 0 {
		return place{p.line, p.column + int64(len(text))}
	}
	return place{p.line + int64(n), int64(len(text) - 1 - bytes.LastIndexByte(text, '\n'))}
}

// cutter hands on a log from a line on, and nothing twice when another source of it begins again at the first line.
type cutter struct {
	source place // of the next byte that a source gives
	want   place // of the next byte that is handed on
	fn     func(Piece) error
}

func newCutter(from int64, fn func(Piece) error) *cutter {
	return &cutter{source: place{line: 1}, want: place{line: max(1, from)}, fn: fn}
}

// restart says that the next source begins with a line.
func (c *cutter) restart(line int64) { c.source = place{line: line} }

// chunk takes a chunk of the bus. The stream of logs forgets: what it no longer has is left out, and told.
func (c *cutter) chunk(chunk bus.LogChunk) error {
	if chunk.FirstLine != c.source.line && chunk.FirstLine > 0 {
		c.source = place{line: chunk.FirstLine}
	}
	if gap := c.source.line - c.want.line; gap > 0 {
		c.want = c.source
		if err := c.say(c.source.line-1, fmt.Sprintf("%d lines are missing here: the stream of logs has them no longer", gap)); err != nil {
			return err
		}
	}
	if c.want.before(c.source) {
		c.want = c.source
	}
	return c.take(chunk.Data)
}

// note ends a log with a line of our own.
func (c *cutter) note(text string) error {
	if c.want.column > 0 { // the last line has no end
		if err := c.fn(Piece{Line: c.want.line, Column: c.want.column, Text: []byte("\n")}); err != nil {
			return err
		}
		c.want = place{line: c.want.line + 1}
	}
	return c.say(c.want.line, text)
}

func (c *cutter) say(line int64, text string) error {
	return c.fn(Piece{Line: line, Text: []byte("sluice: " + text + "\n")})
}

// take takes the source's next bytes.
func (c *cutter) take(text []byte) error {
	for len(text) > 0 && c.source.before(c.want) {
		n := c.surplus(text)
		c.source = c.source.after(text[:n])
		text = text[n:]
	}
	if len(text) == 0 {
		return nil
	}
	piece := Piece{Line: c.source.line, Column: c.source.column, Text: text}
	c.source = c.source.after(text)
	c.want = c.source
	return c.fn(piece)
}

// surplus is how many bytes at the front of a text come before what is wanted, up to the end of a line.
func (c *cutter) surplus(text []byte) int {
	if c.source.line == c.want.line {
		return int(min(c.want.column-c.source.column, int64(len(text))))
	}
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		return i + 1
	}
	return len(text)
}
