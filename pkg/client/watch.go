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
	watchSilent = time.Minute            // that a server may be gone before watching is given up
)

// Watching is how a run is watched.
type Watching struct {
	Run     release.RunID
	New     bool                                     // it was started just now: the server may not have heard of it yet
	Moments bool                                     // tell every fact too, from the first on
	Seen    func(status Status, news []Moment) error // called after each look; an error ends the watching
	Trouble func(err error)                          // the server is away, and is asked again
}

// Watch looks at a run whenever something happens in it, until it has ended. A server that goes away for less than a
// minute is waited for.
func (c *Client) Watch(ctx context.Context, w Watching) (Run, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	wake := make(chan struct{}, 1)
	go c.hear(ctx, w.Run, wake)
	var after uint64
	alive := time.Now()
	for {
		status, err := c.look(ctx, w, &after)
		switch {
		case err == nil && status.Run.Ended() && (!w.Moments || after >= status.Run.Seq):
			return status.Run, nil
		case err == nil:
			alive, w.New = time.Now(), false
		case w.New && NotFound(err) && time.Since(alive) < watchNew: // the next look may find it
		case !fault.Is(err, fault.Transient) || ctx.Err() != nil || time.Since(alive) > watchSilent:
			return status.Run, err
		case w.Trouble != nil:
			w.Trouble(err)
		}
		if err := pause(ctx, wake, w.New); err != nil {
			return status.Run, err
		}
	}
}

// look asks how the run is and what happened since the last look.
func (c *Client) look(ctx context.Context, w Watching, after *uint64) (Status, error) {
	status, err := c.Status(ctx, w.Run)
	if err != nil {
		return status, err
	}
	var news []Moment
	if w.Moments {
		if news, err = c.news(ctx, w.Run, after); err != nil {
			return status, err
		}
	}
	if err := w.Seen(status, news); err != nil {
		return status, fault.As(fault.Internal, err)
	}
	return status, nil
}

func (c *Client) news(ctx context.Context, run release.RunID, after *uint64) ([]Moment, error) {
	var out []Moment
	for range maxPages {
		page, err := c.Timeline(ctx, FactsQuery{Run: run, After: *after, Limit: pageMost})
		if err != nil {
			return nil, err
		}
		out = append(out, page.Timeline...)
		if n := len(page.Timeline); n > 0 {
			*after = page.Timeline[n-1].Seq
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
