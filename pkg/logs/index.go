package logs

import (
	"bytes"
	"encoding/binary"

	"github.com/sluiceci/sluice/pkg/fault"
)

// index says where in an archive which lines begin. It stands behind the frames of text, in a frame of its own that
// every reader of zstd skips, and ends with its length and a mark: so it is found from the end.
type index struct {
	entries []entry
	lines   int64 // of the whole log
}

// entry is where a frame begins.
type entry struct {
	offset int64 // of the frame, in the archive
	line   int64 // that its first byte belongs to, from 1
	within bool  // its first byte is not the first of that line
}

const (
	skippable  = 0x184D2A5E // of the numbers that the format gives to frames which say nothing about the text
	indexMark  = "sluicelg"
	trailer    = 4 + len(indexMark)
	frameStart = 8
	maxIndex   = 16 << 20
)

func (x *index) add(e entry) { x.entries = append(x.entries, e) }

func (x *index) encode() []byte {
	var body []byte
	body = binary.AppendUvarint(body, uint64(x.lines))
	body = binary.AppendUvarint(body, uint64(len(x.entries)))
	var last entry
	for _, e := range x.entries {
		body = binary.AppendUvarint(body, uint64(e.offset-last.offset))
		within := uint64(0)
		if e.within {
			within = 1
		}
		body = binary.AppendUvarint(body, uint64(e.line-last.line)<<1|within)
		last = e
	}
	out := binary.LittleEndian.AppendUint32(nil, skippable)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(body)+trailer))
	out = append(out, body...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(body)))
	return append(out, indexMark...)
}

// indexSize reads the end of an archive: how long its index is, or 0 when it has none.
func indexSize(end []byte) int64 {
	if len(end) < trailer || !bytes.HasSuffix(end, []byte(indexMark)) {
		return 0
	}
	return int64(binary.LittleEndian.Uint32(end[len(end)-trailer:]))
}

// decodeIndex reads an index; size is that of the frames before it.
func decodeIndex(body []byte, size int64) (index, error) {
	r := &numbers{rest: body}
	x := index{lines: r.next()}
	count := r.next()
	if count < 0 || count > int64(len(body)) {
		return index{}, badIndex()
	}
	var last entry
	for range count {
		last.offset += r.next()
		line := r.next()
		last.line += line >> 1
		last.within = line&1 == 1
		if r.bad || last.offset < 0 || last.offset > size || last.line < 1 || last.line > x.lines+1 {
			return index{}, badIndex()
		}
		x.add(last)
	}
	if r.bad || len(x.entries) == 0 || x.entries[0] != (entry{line: 1}) {
		return index{}, badIndex()
	}
	return x, nil
}

func badIndex() error {
	return fault.New(fault.Invalid, "cannot read the index of a log's archive: expected what this program wrote; read the archive from its beginning")
}

// numbers reads one number after the other.
type numbers struct {
	rest []byte
	bad  bool
}

func (n *numbers) next() int64 {
	v, size := binary.Uvarint(n.rest)
	if size <= 0 || v > 1<<62 {
		n.bad = true
		return 0
	}
	n.rest = n.rest[size:]
	return int64(v)
}

// before finds the last frame that begins no later than a line does.
func (x *index) before(line int64) entry {
	found := x.entries[0]
	for _, e := range x.entries {
		if e.line < line || e.line == line && !e.within {
			found = e
		}
	}
	return found
}

// position counts lines.
type position struct {
	ended  int64 // lines
	within bool  // the last line has no end yet
}

func (p *position) pass(text []byte) {
	if len(text) > 0 {
		p.ended += int64(bytes.Count(text, newline))
		p.within = text[len(text)-1] != '\n'
	}
}

// line is the line that the next byte belongs to.
func (p *position) line() int64 { return p.ended + 1 }

// lines is how many lines there are, with one that has no end.
func (p *position) lines() int64 {
	if p.within {
		return p.ended + 1
	}
	return p.ended
}
