package client

import (
	"context"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

const (
	watchPause  = 300 * time.Millisecond // between two looks, however much happens
	watchPoll   = 5 * time.Second        // until a look although nobody said that something happened
	hearAgain   = 500 * time.Millisecond // until the server is listened to again
	watchNew    = 10 * time.Second       // that a new run may be unknown
	watchAgain  = 15 * time.Second       // that a retry may take to open the run again
	watchSilent = time.Minute            // that a server may be gone before watching is given up
)

// Watching is how a run is watched.
type Watching struct {
	Run     release.RunID
	New     bool                                     // it was started just now: the server may not have heard of it yet
	Rounds  int32                                    // that ended before: the end of a later one is waited for
	Moments bool                                     // tell every fact too, from the first on
	Seen    func(status Status, news []Moment) error // called after each look; an error ends the watching
	Trouble func(err error)                          // the server is away, and is asked again
}

// watcher is a watching that goes on.
type watcher struct {
	Watching
	c     *Client
	after uint64 // the last fact that was told
	began time.Time
	alive time.Time // when the server answered last
}

// Watch looks at a run whenever something happens in it, until it has ended. A server that goes away for less than a
// minute is waited for.
func (c *Client) Watch(ctx context.Context, what Watching) (Run, error) {
	ctx, cancel := context.WithCancel(ctx)
	wake, deaf := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(deaf)
		c.hear(ctx, what.Run, wake)
	}()
	defer func() {
		cancel()
		<-deaf
	}()
	w := &watcher{Watching: what, c: c, began: time.Now(), alive: time.Now()}
	for {
		status, err := w.look(ctx)
		if err == nil && w.over(status.Run) || err != nil && !w.bear(ctx, err) {
			return status.Run, err
		}
		if err := pause(ctx, wake, w.New); err != nil {
			return status.Run, err
		}
	}
}

// over reports whether the run has ended, and all that was asked for is told. A retry that opens nothing again is
// believed after a while.
func (w *watcher) over(r Run) bool {
	w.alive, w.New = time.Now(), false
	again := r.Round >= w.Rounds || time.Since(w.began) > watchAgain
	return r.Ended() && again && (!w.Moments || w.after >= r.Seq)
}

// bear reports whether to go on although the server did not answer.
func (w *watcher) bear(ctx context.Context, err error) bool {
	switch {
	case w.New && NotFound(err) && time.Since(w.began) < watchNew:
		return true
	case !fault.Is(err, fault.Transient) || ctx.Err() != nil || time.Since(w.alive) > watchSilent:
		return false
	case w.Trouble != nil:
		w.Trouble(err)
	}
	return true
}

// look asks how the run is and what happened since the last look.
func (w *watcher) look(ctx context.Context) (Status, error) {
	status, err := w.c.Status(ctx, w.Run)
	if err != nil {
		return status, err
	}
	var news []Moment
	if w.Moments {
		if news, err = w.news(ctx); err != nil {
			return status, err
		}
	}
	if err := w.Seen(status, news); err != nil {
		return status, fault.As(fault.Internal, err)
	}
	return status, nil
}

func (w *watcher) news(ctx context.Context) ([]Moment, error) {
	var out []Moment
	for range maxPages {
		page, err := w.c.Timeline(ctx, FactsQuery{Run: w.Run, After: w.after, Limit: pageMost})
		if err != nil {
			return nil, err
		}
		out = append(out, page.Timeline...)
		if n := len(page.Timeline); n > 0 {
			w.after = page.Timeline[n-1].Seq
		}
		if page.Next == 0 {
			break
		}
	}
	return out, nil
}

// pause waits until something happened, but neither too short nor too long.
func pause(ctx context.Context, wake <-chan struct{}, soon bool) error {
	least, most := time.NewTimer(watchPause), time.NewTimer(watchPoll)
	if soon {
		most.Reset(watchPause)
	}
	defer least.Stop()
	defer most.Stop()
	select {
	case <-wake:
	case <-most.C:
		return nil
	case <-ctx.Done():
		return fault.As(fault.Transient, context.Cause(ctx))
	}
	select {
	case <-least.C:
		return nil
	case <-ctx.Done():
		return fault.As(fault.Transient, context.Cause(ctx))
	}
}

// hear wakes the watcher whenever the server says that something happened, until ctx ends. It is a hint only: without it
// the watcher looks every few seconds.
func (c *Client) hear(ctx context.Context, run release.RunID, wake chan<- struct{}) {
	for ctx.Err() == nil {
		// Whatever ended the listening, a new run that the server has not heard of yet too, is tried again.
		_ = c.listen(ctx, nil, func(message) error {
			select {
			case wake <- struct{}{}:
			default: // it is awake already
			}
			return nil
		}, "runs", string(run), "watch")
		select {
		case <-ctx.Done():
		case <-time.After(hearAgain):
		}
	}
}
