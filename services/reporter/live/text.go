package live

import (
	"context"
	"net/http"
	"time"

	"github.com/sluiceci/sluice/pkg/release"
)

// Text writes a log as plain text, and what comes as it comes when it is followed.
func (l *Logs) Text(ctx context.Context, w http.ResponseWriter, q LogQuery) error {
	ctl := http.NewResponseController(w)
	if q.Follow {
		if err := ctl.Flush(); err != nil {
			return err
		}
	}
	return l.Read(ctx, q, func(p Piece) error {
		_ = ctl.SetWriteDeadline(time.Now().Add(writeWithin)) // not every writer has deadlines
		if _, err := w.Write(p.Text); err != nil {
			return err
		}
		if q.Follow {
			return ctl.Flush()
		}
		return nil
	})
}

// Await is AwaitRuns for those who watch one run.
func Await(ctx context.Context, s *Stream, w *Watcher, pause time.Duration) error {
	_, err := AwaitRuns(ctx, s, w, pause)
	return err
}

// AwaitRuns waits until runs have changed, and after that for a pause in which more may change, and returns which. A
// silent stream is kept alive meanwhile.
func AwaitRuns(ctx context.Context, s *Stream, w *Watcher, pause time.Duration) ([]release.RunID, error) {
	alive := time.NewTicker(KeepAlive)
	defer alive.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-alive.C:
			if err := s.Ping(); err != nil {
				return nil, err
			}
			continue
		case <-w.Wake():
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(pause):
		}
		return w.Take(), nil
	}
}
