package logs

import (
	"bytes"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/sluiceci/sluice/pkg/fault"
)

// MediaType is that of an archived log.
const MediaType = "application/zstd"

// Codec lends compressors, which are costly to make, to the logs of one executor.
type Codec struct{ pool sync.Pool }

// NewCodec makes a Codec.
func NewCodec() *Codec { return &Codec{} }

func (c *Codec) get(w io.Writer) (*zstd.Encoder, error) {
	if encoder, ok := c.pool.Get().(*zstd.Encoder); ok {
		encoder.Reset(w)
		return encoder, nil
	}
	// A small window: an executor may write a hundred logs at once, and logs repeat themselves soon.
	return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(256<<10), zstd.WithLowerEncoderMem(true))
}

func (c *Codec) put(encoder *zstd.Encoder) {
	encoder.Reset(nil)
	c.pool.Put(encoder)
}

// firstWrite is what is kept before a compressor is taken: most logs are shorter, and an empty one needs none.
const firstWrite = 16 << 10

// frameSize is how much text one frame of an archive holds: who wants a line decompresses no more than that before it.
const frameSize = 1 << 20

// archive is the compressed copy of a log: frames one after the other, and behind more than one of them an index.
type archive struct {
	to      counter
	codec   *Codec
	limit   int64
	stored  int64
	first   bytes.Buffer
	encoder *zstd.Encoder
	frame   int64 // bytes of text in the frame that is being written
	index   index
	at      position // of the next byte
	err     error
}

func newArchive(o Options) *archive {
	return &archive{to: counter{Writer: o.Archive}, codec: o.Codec, limit: o.Limit}
}

// counter counts what is written.
type counter struct {
	io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.n += int64(n)
	return n, err
}

// write stores text; the error is returned once, and again by close.
func (a *archive) write(text []byte) error {
	if a.to.Writer == nil || a.err != nil {
		return nil
	}
	text = text[:min(int64(len(text)), a.limit-a.stored)]
	a.stored += int64(len(text))
	for len(text) > 0 {
		n := min(int64(len(text)), frameSize-a.frame)
		if err := a.put(text[:n]); err != nil {
			return err
		}
		text = text[n:]
	}
	return nil
}

// put stores text that fits into the frame.
func (a *archive) put(text []byte) error {
	a.frame += int64(len(text))
	a.at.pass(text)
	if a.encoder == nil {
		a.first.Write(text)
		if a.first.Len() < firstWrite {
			return nil
		}
		return a.start()
	}
	if _, err := a.encoder.Write(text); err != nil {
		return a.fail(err)
	}
	if a.frame < frameSize {
		return nil
	}
	return a.cut()
}

// start takes a compressor and gives it what came so far.
func (a *archive) start() error {
	encoder, err := a.codec.get(&a.to)
	if err != nil {
		return a.fail(err)
	}
	a.encoder = encoder
	a.index.add(entry{line: 1})
	_, err = a.first.WriteTo(encoder)
	a.first = bytes.Buffer{}
	return a.fail(err)
}

// cut ends a frame and begins the next.
func (a *archive) cut() error {
	if err := a.encoder.Close(); err != nil {
		return a.fail(err)
	}
	a.encoder.Reset(&a.to)
	a.index.add(entry{offset: a.to.n, line: a.at.line(), within: a.at.within})
	a.frame = 0
	return nil
}

func (a *archive) fail(err error) error {
	if err != nil {
		a.err = fault.New(fault.Transient, "cannot write the archive of the log: %w", err)
	}
	return a.err
}

// close ends the copy. An empty log has none: nothing is written at all.
func (a *archive) close() error {
	if a.encoder == nil && a.first.Len() > 0 && a.err == nil {
		_ = a.start()
	}
	if a.encoder != nil {
		if err := a.encoder.Close(); a.err == nil {
			_ = a.fail(err)
		}
		a.codec.put(a.encoder)
		a.encoder = nil
		a.writeIndex()
	}
	return a.err
}

// writeIndex ends an archive of more than one frame.
func (a *archive) writeIndex() {
	if len(a.index.entries) < 2 || a.err != nil {
		return
	}
	a.index.lines = a.at.lines()
	_, err := a.to.Write(a.index.encode())
	_ = a.fail(err)
}

// Open reads an archived log from its beginning.
func Open(r io.Reader) (io.ReadCloser, error) {
	decoder, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20))
	if err != nil {
		return nil, fault.New(fault.Invalid, "cannot read the archive of a log: %w", err)
	}
	return decoder.IOReadCloser(), nil
}
