package pages

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sluiceci/sluice/services/reporter/live"
)

const (
	// flushEvery is how long lines wait for others before they are sent: with the executor's own gathering, a line is
	// on the screen in less than 100 ms.
	flushEvery = 15 * time.Millisecond
	// bufferMost bounds what waits for a slow client, in bytes of markup. The log itself waits in its stream.
	bufferMost = 2 << 20
	// stallMost is how long a full buffer waits for its client.
	stallMost = 10 * time.Second
)

var errSlow = errors.New("the client reads too slowly")

// logLive sends the lines of a running attempt, gathered, as markup. The id of a message is its last line; who comes
// again with it goes on behind that line.
func (p *pages) logLive(w http.ResponseWriter, r *http.Request) error {
	run, task, err := taskOf(r)
	if err != nil {
		return err
	}
	attempt, err := strconv.ParseInt(r.FormValue("attempt"), 10, 32)
	if err != nil {
		attempt = 0
	}
	number, err := p.Source.LastAttempt(r.Context(), run, task, int32(attempt))
	if err != nil {
		return err
	}
	from := firstLine(r)
	feed := newFeed(from, stallMost)
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	done := make(chan error, 1)
	go func() {
		done <- p.Logs.Read(ctx, live.LogQuery{Run: run, Task: task, Attempt: number, From: from, Follow: true}, func(piece live.Piece) error {
			return feed.take(ctx, piece)
		})
	}()
	return feed.send(ctx, live.NewStream(w), done)
}

// firstLine is where to begin: behind the last line that the client has, or at the line that it asks for.
func firstLine(r *http.Request) int64 {
	if last, err := strconv.ParseInt(r.Header.Get("Last-Event-ID"), 10, 64); err == nil && last > 0 {
		return last + 1
	}
	from, _ := strconv.ParseInt(r.FormValue("from_line"), 10, 64)
	return max(1, from)
}

// feed is what was read of a log and not yet sent.
type feed struct {
	mu    sync.Mutex
	lines *lines
	bytes int
	space chan struct{} // told when there is room again
	ready chan struct{} // told when there is something to send
	stall time.Duration // how long a full buffer waits for its client
}

func newFeed(from int64, stall time.Duration) *feed {
	return &feed{
		lines: newLines(from, math.MaxInt32, true), space: make(chan struct{}, 1), ready: make(chan struct{}, 1), stall: stall,
	}
}

// take waits while the client has too much before it, and gives it up when that does not change.
func (f *feed) take(ctx context.Context, p live.Piece) error {
	stalled := time.NewTimer(f.stall)
	defer stalled.Stop()
	for !f.add(p) {
		select {
		case <-f.space:
		case <-stalled.C:
			return errSlow
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	tell(f.ready)
	return nil
}

func (f *feed) add(p live.Piece) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.bytes > bufferMost {
		return false
	}
	f.bytes += 2 * len(p.Text)
	_ = f.lines.take(p) // it only keeps them
	return true
}

func tell(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// drain takes what is to be sent: whole lines, and the line that has no end yet.
func (f *feed) drain() (kept []logLine, partial string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	kept, f.lines.kept, f.bytes = f.lines.kept, nil, 0
	if len(f.lines.partial) > 0 {
		c := f.lines.colours // the line will be read again when it has its end
		partial = c.line(returned(f.lines.partial))
	}
	return kept, partial
}

func (f *feed) send(ctx context.Context, s *live.Stream, done <-chan error) error {
	if err := s.Ping(); err != nil {
		return err
	}
	alive := time.NewTicker(live.KeepAlive)
	defer alive.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-alive.C:
			if err := s.Ping(); err != nil {
				return err
			}
		case <-f.ready:
			if err := f.flush(s); err != nil {
				return err
			}
			time.Sleep(flushEvery) // lines gather meanwhile
		case err := <-done:
			return f.end(s, err)
		}
	}
}

func (f *feed) flush(s *live.Stream) error {
	kept, partial := f.drain()
	tell(f.space)
	if n := len(kept); n > 0 {
		s.Add("lines", strconv.FormatInt(kept[n-1].Number, 10), markup(kept))
	}
	s.Add("tail", "", strings.TrimSuffix(partial, "\n"))
	return s.Flush()
}

// end says why nothing more comes: the attempt ended, or the client was too slow and may come again.
func (f *feed) end(s *live.Stream, err error) error {
	if flushErr := f.flush(s); flushErr != nil {
		return flushErr
	}
	if errors.Is(err, errSlow) {
		return s.Send("dropped", "", "this page could not keep up")
	}
	if err != nil {
		return s.Send("problem", "", err.Error())
	}
	return s.Send("done", "", "the attempt ended")
}
