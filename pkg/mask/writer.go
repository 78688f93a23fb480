package mask

import "io"

// Writer masks what is written through it. It holds back no more than the beginning of a secret, and only where the
// text so far ends with one. It must be flushed at the end, and only there: a secret cut by Flush is not recognised.
type Writer struct {
	to      io.Writer
	masker  *Masker
	held    []byte // the end of what was written, undecided
	covered int    // how much of held belongs to a secret that was masked already
	out     []byte
	err     error
}

// NewWriter returns a Writer that masks secrets in what it passes to w.
func NewWriter(w io.Writer, secrets []string) (*Writer, error) {
	m, err := New(secrets)
	if err != nil {
		return nil, err
	}
	return m.NewWriter(w), nil
}

// NewWriter returns a Writer that passes to w what is written, masked.
func (m *Masker) NewWriter(w io.Writer) *Writer { return &Writer{to: w, masker: m} }

// pieceSize bounds what one step works on, and with it the buffers.
const pieceSize = 64 << 10

// Write implements io.Writer. After an error of the underlying writer nothing more is written.
func (w *Writer) Write(p []byte) (int, error) {
	if len(w.masker.patterns) == 0 {
		return w.to.Write(p)
	}
	written := 0
	for written < len(p) && w.err == nil {
		n := min(pieceSize, len(p)-written)
		w.step(p[written:written+n], false)
		written += n
	}
	return written, w.err
}

// Flush writes what was held back.
func (w *Writer) Flush() error {
	if w.err == nil && len(w.held) > 0 {
		w.step(nil, true)
	}
	return w.err
}

func (w *Writer) step(p []byte, last bool) {
	text := p
	if len(w.held) > 0 {
		w.held = append(w.held, p...)
		text = w.held
	}
	out, rest, covered := w.masker.scan(w.out[:0], text, w.covered, last)
	w.out, w.covered = out, covered
	w.held = append(w.held[:0], text[rest:]...)
	if len(out) > 0 {
		_, w.err = w.to.Write(out)
	}
}
