package executor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/driver"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// live opens the executor, beats its heart until the order to end, then drains: it takes no more, lets what runs end
// within Config.Drain, ends the rest as lost so that it moves at once, and says that it is gone.
func (e *executor) live(ctx context.Context) error {
	if err := e.open(ctx); err != nil {
		return err
	}
	defer e.close()
	ticker := time.NewTicker(e.config.Beat)
	defer ticker.Stop()
	order := ctx.Done()
	var tired <-chan time.Time
	var freed <-chan struct{}
	for {
		e.checkDisk()
		e.beat(context.WithoutCancel(ctx), false)
		select {
		case <-ticker.C:
		case <-freed:
		case <-order:
			order, freed = nil, e.freed
			e.refuse("the executor ends", true)
			tired = time.After(e.config.Drain)
		case <-tired:
			for _, a := range e.inHand(anyone) {
				a.stop(release.ClassLost, fmt.Sprintf("the executor was told to end and %s were over", e.config.Drain))
			}
		}
		if order == nil && len(e.inHand(anyone)) == 0 {
			e.beat(context.WithoutCancel(ctx), true)
			return nil
		}
	}
}

// open makes the place clean and the driver ready, then lets the slots ask for work.
func (e *executor) open(ctx context.Context) error {
	place, err := openPlace(e.config.Dir)
	if err != nil {
		return err
	}
	e.place = place
	if e.driver, err = e.openDriver(ctx); err == nil {
		err = e.recover(ctx)
	}
	if err != nil {
		e.close()
		return err
	}
	e.checkDisk()
	close(e.opened)
	return nil
}

func (e *executor) openDriver(ctx context.Context) (driver.Driver, error) {
	if e.config.Driver != nil {
		return e.config.Driver, nil
	}
	local, err := driver.NewLocal(driver.LocalOptions{Place: e.config.Dir, Path: e.config.Path, Log: e.log})
	if err != nil {
		return nil, err
	}
	killed, err := local.Reclaim(ctx)
	if killed > 0 {
		e.log.Warn("killed processes that an earlier executor left", "processes", killed)
	}
	return local, err
}

func (e *executor) close() {
	if local, ok := e.driver.(*driver.Local); ok && local != nil && e.config.Driver == nil {
		if err := local.Close(); err != nil {
			e.log.Error("cannot close the driver", "err", err)
		}
	}
	e.driver = nil
	e.place.close()
}

// recover ends what an earlier executor of this place had in hand. Its processes are dead by now.
func (e *executor) recover(ctx context.Context) error {
	attempts, others, err := e.place.leftovers()
	if err != nil {
		return err
	}
	for _, ref := range attempts {
		if err := e.reportLost(ctx, ref); err != nil {
			return err
		}
		others = append(others, e.place.attempt(ref))
	}
	for _, dir := range others {
		if err := e.place.remove(dir); err != nil {
			e.log.Error("cannot remove what an earlier executor left", "dir", dir, "err", err)
		}
	}
	return nil
}

// reportLost says that an attempt was lost, unless somebody has said how it ended.
func (e *executor) reportLost(ctx context.Context, ref event.AttemptRef) error {
	b := e.deps.Bus
	started := event.TaskStarted{Task: ref.Task, Attempt: ref.Attempt}
	cause, err := b.Get(ctx, event.Root(ref.Run, e.source(), e.now(), started).Subject())
	if bus.Empty(err) {
		return nil // These are not the facts that the workspace was made under.
	}
	if err != nil {
		return err
	}
	class := release.ClassLost
	mine, err := b.Claim(ctx, event.New(cause, e.source(), e.now(), event.TaskFinished{
		Task: ref.Task, Attempt: ref.Attempt, Pool: e.config.Pool, Executor: e.deps.Instance, Class: class, Outcome: class.Outcome(),
		Reason: "the executor ended while the attempt ran; its processes were killed when it came back",
	}))
	if err == nil && mine {
		e.log.Warn("an attempt of an earlier executor is lost", "run", ref.Run, "task", ref.Task, "attempt", ref.Attempt)
	}
	return err
}

// beat says that the executor lives and what it has in hand. One beat that is not heard is made good by the next.
func (e *executor) beat(ctx context.Context, gone bool) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	h := e.state()
	h.Gone = gone
	if err := e.deps.Bus.Publish(ctx, event.Root(event.Fleet, e.source(), e.now(), h)); err != nil {
		e.log.Warn("the heartbeat was not heard", "err", err)
	}
}

func (e *executor) state() event.ExecutorHeartbeat {
	e.mu.Lock()
	defer e.mu.Unlock()
	h := event.ExecutorHeartbeat{
		Pool: e.config.Pool, Executor: e.deps.Instance, Host: e.host, Slots: int32(e.config.Slots),
		Draining: e.refused != "", Reason: e.refused,
	}
	for ref := range e.running {
		h.Running = append(h.Running, ref)
	}
	slices.SortFunc(h.Running, func(a, b event.AttemptRef) int {
		return strings.Compare(string(a.Run)+string(a.Task), string(b.Run)+string(b.Task))
	})
	return h
}

// refuse takes no more work, for a reason; "" takes it again. For good means until the process ends.
func (e *executor) refuse(reason string, forGood bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.draining {
		return
	}
	if reason != e.refused {
		e.log.Info("the executor changes whether it takes work", "refuses", reason)
	}
	e.refused, e.draining = reason, forGood
}

// checkDisk takes no work while the disk is nearly full: an attempt would fail half way, and the log with it.
func (e *executor) checkDisk() {
	if e.config.MinFree < 0 {
		return
	}
	free, err := e.place.free()
	switch {
	case err != nil:
		e.refuse("cannot see how full the disk is: "+err.Error(), false)
	case free < e.config.MinFree:
		e.refuse(fmt.Sprintf("the disk has %d MiB free, expected at least %d", free>>20, e.config.MinFree>>20), false)
	default:
		e.refuse("", false)
	}
}
