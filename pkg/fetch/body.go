package fetch

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
)

// bounded is a server's bytes within bounds: their number, and the time in which none comes.
type bounded struct {
	body    io.ReadCloser
	left    int64
	most    int64
	silence time.Duration
	ctx     context.Context
	cancel  context.CancelCauseFunc
}

var errSilent = errors.New("the server fell silent")

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	// One byte more than may come, to see whether it does.
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	alarm := time.AfterFunc(b.silence, func() { b.cancel(errSilent) })
	n, err := b.body.Read(p)
	alarm.Stop()
	if b.left -= int64(n); b.left < 0 {
		return 0, tooLarge(b.most)
	}
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return n, err
	case errors.Is(context.Cause(b.ctx), errSilent):
		return n, fault.New(fault.Transient, "it broke off: nothing came for %s", b.silence)
	case b.ctx.Err() != nil:
		return n, context.Cause(b.ctx)
	default:
		return n, fault.New(fault.Transient, "it broke off: %w", err)
	}
}

// Close implements io.Closer.
func (b *bounded) Close() error {
	b.cancel(nil)
	return b.body.Close()
}
