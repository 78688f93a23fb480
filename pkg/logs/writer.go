package logs

import (
	"bytes"
	"io"
	"sync"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
)

// Chunk is a piece of a log.
type Chunk struct {
	Number    int64     // from 0, without gaps
	FirstLine int64     // the line that its first byte belongs to, from 1
	Continues bool      // its first byte is not the first of that line
	Text      string    // valid UTF-8, at most MaxChunk bytes; empty at most in the last one
	Last      bool      // the log ends with it; a log without text has no chunk at all
	At        time.Time // when its first byte was written
}

// Options of a Writer. The zero value is a Writer that only keeps the last lines.
type Options struct {
	Sink    func(Chunk)      // takes the chunks, in order and one at a time; it must not block for long
	Archive io.Writer        // takes the compressed copy; nil means none
	Every   time.Duration    // the longest that written text waits for its chunk; 100 ms when 0
	Live    int64            // bytes that go to the sink; then one last chunk says that the rest is in the archive only
	Limit   int64            // bytes that go to the archive; what comes later is counted and dropped
	Tail    int              // lines kept for the result; DefaultTail when 0
	Now     func() time.Time // time.Now when nil
	Failed  func(error)      // told once when the archive cannot be written; the log goes on without
	Codec   *Codec           // shared by the logs of an executor; its own when nil
}

// Bounds.
const (
	MaxChunk     = 64 << 10
	DefaultEvery = 100 * time.Millisecond
	DefaultTail  = 200
	DefaultLive  = 256 << 20
	DefaultLimit = 4 << 30
)

// Writer takes the output of one attempt.
type Writer struct {
	o Options

	mu      sync.Mutex
	clean   cleaner
	buffer  []byte // text of the chunk that is being filled
	next    Chunk  // its number and first line
	line    int64  // the line that the next byte belongs to
	within  bool   // the next byte is not the first of its line
	timer   *time.Timer
	running bool
	closed  bool
	live    int64
	tail    tail
	archive *archive
	bytes   int64
}

// New makes a Writer. It must be closed.
func New(o Options) *Writer {
	if o.Every == 0 {
		o.Every = DefaultEvery
	}
	if o.Live == 0 {
		o.Live = DefaultLive
	}
	if o.Limit == 0 {
		o.Limit = DefaultLimit
	}
	if o.Tail == 0 {
		o.Tail = DefaultTail
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Codec == nil {
		o.Codec = NewCodec()
	}
	return &Writer{o: o, line: 1, tail: tail{limit: o.Tail}, archive: newArchive(o)}
}

var errClosed = fault.New(fault.Internal, "cannot write to a log that is closed")

// Write implements io.Writer. It never fails because of the archive: a log that cannot be kept must not fail the
// attempt that wrote it.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return 0, errClosed
	}
	for rest := p; len(rest) > 0; {
		n := min(len(rest), MaxChunk)
		w.take(w.clean.valid(rest[:n]))
		rest = rest[n:]
	}
	return len(p), nil
}

// take adds valid text.
func (w *Writer) take(text []byte) {
	if len(text) == 0 {
		return
	}
	w.bytes += int64(len(text))
	w.tail.add(text)
	if err := w.archive.write(text); err != nil && w.o.Failed != nil {
		w.o.Failed(err)
	}
	if w.o.Sink == nil || w.live > w.o.Live {
		return
	}
	for len(text) > 0 {
		n := min(len(text), MaxChunk-len(w.buffer))
		n = whole(text, n)
		if n > 0 {
			w.fill(text[:n])
			text = text[n:]
		}
		if len(text) > 0 || len(w.buffer) == MaxChunk {
			w.flush(lastLine(w.buffer))
		}
	}
}

// fill puts text into the chunk, which it fits.
func (w *Writer) fill(text []byte) {
	if len(w.buffer) == 0 {
		w.next.At = w.o.Now()
		w.arm()
	}
	w.buffer = append(w.buffer, text...)
}

// arm makes sure that the chunk is sent in time.
func (w *Writer) arm() {
	if w.running {
		return
	}
	w.running = true
	if w.timer == nil {
		w.timer = time.AfterFunc(w.o.Every, w.tick)
		return
	}
	w.timer.Reset(w.o.Every)
}

func (w *Writer) tick() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running = false
	if !w.closed && len(w.buffer) > 0 {
		w.flush(len(w.buffer))
	}
}

// flush sends the first n bytes of the buffer as a chunk; the rest begins the next one.
func (w *Writer) flush(n int) {
	w.emit(w.buffer[:n])
	w.buffer = append(w.buffer[:0], w.buffer[n:]...)
	if w.live > w.o.Live {
		w.emit([]byte(cutNotice))
		w.buffer = nil
		return
	}
	if len(w.buffer) > 0 {
		w.next.At = w.o.Now()
		w.arm()
	}
}

// last sends what is left and says that it is the end.
func (w *Writer) last() {
	if w.o.Sink != nil && (len(w.buffer) > 0 || w.next.Number > 0) {
		w.next.Last = true
		w.emit(w.buffer)
	}
}

func (w *Writer) emit(text []byte) {
	w.next.FirstLine, w.next.Continues, w.next.Text = w.line, w.within, string(text)
	w.o.Sink(w.next)
	w.next.Number++
	w.line += int64(bytes.Count(text, newline))
	w.within = w.within && len(text) == 0 || len(text) > 0 && text[len(text)-1] != '\n'
	w.live += int64(len(text))
}

const cutNotice = "\n[the live log ends here: it is too long; the whole of it is kept with the attempt]\n"

var newline = []byte{'\n'}

// lastLine is the length of the whole lines in a full chunk, or all of it when no line ends there.
func lastLine(b []byte) int {
	if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
		return i + 1
	}
	return len(b)
}

// Result is what is known of a log at its end.
type Result struct {
	Tail   []string // the last lines, without their ends
	Bytes  int64    // written, after cleaning
	Lines  int64
	Chunks int64
	Stored int64 // bytes in the archive before compression; less than Bytes when the limit cut it
}

// Recent are the last lines so far, without their ends.
func (w *Writer) Recent() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tail.lines()
}

// Close sends the last chunk and ends the archive. The error is the archive's.
func (w *Writer) Close() (Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.take(w.clean.rest())
		w.last()
		w.closed = true
		if w.timer != nil {
			w.timer.Stop()
		}
	}
	err := w.archive.close()
	return Result{
		Tail: w.tail.lines(), Bytes: w.bytes, Lines: w.tail.count(), Chunks: w.next.Number, Stored: w.archive.stored,
	}, err
}
