package builder

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// stopped is why a download was ended from outside.
type stopped struct {
	class  release.Class
	reason string
}

func (s *stopped) Error() string { return s.reason }

// live beats the heart of the pool while somebody waits or downloads, so that a download is known to be lost when its
// builder is. When the builder ends, its downloads do.
func (f *fetcher) live(ctx context.Context) error {
	ticker := time.NewTicker(f.config.Beat)
	defer ticker.Stop()
	shown, order := false, ctx.Done()
	for {
		if beat, wanted := f.state(); wanted && order != nil || len(beat.Running) > 0 {
			f.beat(ctx, beat)
			shown = true
		} else if shown {
			beat.Gone, shown = true, false
			f.beat(ctx, beat)
		}
		if order == nil && !shown {
			return nil
		}
		select {
		case <-ticker.C:
		case <-order:
			order = nil
			f.stop(func(event.AttemptRef) bool { return true }, release.ClassLost, "the builder ends")
		}
	}
}

func (f *fetcher) state() (beat event.ExecutorHeartbeat, wanted bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	beat = event.ExecutorHeartbeat{
		Pool: release.FetchPool, Executor: f.deps.Instance, Host: Name, Slots: f.waits(), Running: slices.Collect(maps.Keys(f.running)),
	}
	slices.SortFunc(beat.Running, func(a, b event.AttemptRef) int {
		return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.Task, b.Task), cmp.Compare(a.Attempt, b.Attempt))
	})
	return beat, f.deps.Now().Before(f.needed)
}

func (f *fetcher) beat(ctx context.Context, beat event.ExecutorHeartbeat) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := f.deps.Bus.Publish(ctx, event.Root(event.Fleet, f.deps.Source(Name), f.deps.Now(), beat)); err != nil {
		f.deps.Log.Warn("the heartbeat of the pool that fetches was not heard", "err", err)
	}
}

// stop ends downloads that match.
func (f *fetcher) stop(match func(event.AttemptRef) bool, class release.Class, reason string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for ref, cancel := range f.running {
		if match(ref) {
			cancel(&stopped{class, reason})
		}
	}
}

// hold takes a download in hand until it is let go.
func (f *fetcher) hold(ref event.AttemptRef, cancel context.CancelCauseFunc) (letGo func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running[ref] = cancel
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.running, ref)
		delete(f.answers, ref)
	}
}
