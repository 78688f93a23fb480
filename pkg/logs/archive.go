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

// archive is the compressed copy of a log.
type archive struct {
	to      io.Writer
	codec   *Codec
	limit   int64
	stored  int64
	first   bytes.Buffer
	encoder *zstd.Encoder
	err     error
}

// write stores text; the error is returned once, and again by close.
func (a *archive) write(text []byte) error {
	if a.to == nil || a.err != nil {
		return nil
	}
	text = text[:min(int64(len(text)), a.limit-a.stored)]
	a.stored += int64(len(text))
	if a.encoder == nil {
		a.first.Write(text)
		if a.first.Len() < firstWrite {
			return nil
		}
		return a.start()
	}
	_, err := a.encoder.Write(text)
	return a.fail(err)
}

// start takes a compressor and gives it what came so far.
func (a *archive) start() error {
	encoder, err := a.codec.get(a.to)
	if err != nil {
		return a.fail(err)
	}
	a.encoder = encoder
	_, err = a.first.WriteTo(encoder)
	a.first = bytes.Buffer{}
	return a.fail(err)
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
	}
	return a.err
}

// Open reads an archived log.
func Open(r io.Reader) (io.ReadCloser, error) {
	decoder, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20))
	if err != nil {
		return nil, fault.New(fault.Invalid, "cannot read the archive of a log: %w", err)
	}
	return decoder.IOReadCloser(), nil
}
