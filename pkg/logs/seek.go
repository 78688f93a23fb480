package logs

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/sluiceci/sluice/pkg/fault"
)

// Archive is an archived log that can be read from any line. Of a log of many megabytes only what is asked for, and at
// most one of them before it, is read and decompressed.
type Archive struct {
	from  io.ReaderAt
	size  int64 // without the index
	index index // without entries when the archive has none: a short log, or an old one
}

// OpenAt reads the index of an archived log of size bytes.
func OpenAt(from io.ReaderAt, size int64) (*Archive, error) {
	a := &Archive{from: from, size: size}
	end := make([]byte, min(size, int64(trailer)))
	if err := readAt(from, end, size-int64(len(end))); err != nil {
		return nil, err
	}
	length := indexSize(end)
	whole := length + int64(trailer) + frameStart
	if length == 0 || length > maxIndex || whole > size {
		return a, nil
	}
	body := make([]byte, length)
	if err := readAt(from, body, size-int64(trailer)-length); err != nil {
		return nil, err
	}
	x, err := decodeIndex(body, size-whole)
	if err != nil {
		return nil, err
	}
	a.index, a.size = x, size-whole
	return a, nil
}

func readAt(from io.ReaderAt, p []byte, at int64) error {
	if _, err := from.ReadAt(p, at); err != nil && !errors.Is(err, io.EOF) {
		return fault.New(fault.Transient, "cannot read the archive of a log: %w", err)
	}
	return nil
}

// Lines is how many lines the log has. A short log is read for that.
func (a *Archive) Lines() (int64, error) {
	if len(a.index.entries) > 0 || a.size == 0 {
		return a.index.lines, nil
	}
	text, err := a.open(entry{line: 1})
	if err != nil {
		return 0, err
	}
	defer func() { _ = text.Close() }()
	var p position
	buffer := make([]byte, MaxChunk)
	for {
		n, err := text.Read(buffer)
		p.pass(buffer[:n])
		if errors.Is(err, io.EOF) {
			return p.lines(), nil
		}
		if err != nil {
			return 0, unreadable(err)
		}
	}
}

// From reads the log from the first byte of a line, from 1. Behind the last line there is nothing.
func (a *Archive) From(line int64) (io.ReadCloser, error) {
	at := entry{line: 1}
	if len(a.index.entries) > 0 {
		at = a.index.before(line)
	}
	text, err := a.open(at)
	if err != nil {
		return nil, err
	}
	buffered := bufio.NewReaderSize(text, MaxChunk)
	for at.line < line {
		if _, err := skipLine(buffered); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			_ = text.Close()
			return nil, unreadable(err)
		}
		at.line++
	}
	return struct {
		io.Reader
		io.Closer
	}{buffered, text}, nil
}

// Tail reads the last n lines, and says which the first of them is.
func (a *Archive) Tail(n int64) (text io.ReadCloser, first int64, err error) {
	lines, err := a.Lines()
	if err != nil {
		return nil, 0, err
	}
	first = max(1, lines-n+1)
	text, err = a.From(first)
	return text, first, err
}

// open decompresses from a frame on.
func (a *Archive) open(at entry) (io.ReadCloser, error) {
	if a.size == 0 {
		return io.NopCloser(bytes.NewReader(nil)), nil
	}
	return Open(io.NewSectionReader(a.from, at.offset, a.size-at.offset))
}

// skipLine reads to the end of a line, however long it is.
func skipLine(r *bufio.Reader) (int64, error) {
	var n int64
	for {
		piece, err := r.ReadSlice('\n')
		n += int64(len(piece))
		if !errors.Is(err, bufio.ErrBufferFull) {
			return n, err
		}
	}
}

func unreadable(err error) error {
	return fault.New(fault.Transient, "cannot read the archive of a log: %w", err)
}
