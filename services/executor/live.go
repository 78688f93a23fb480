package executor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/driver"
	"github.com/sluiceci/sluice/pkg/driver/choose"
	"github.com/sluiceci/sluice/pkg/event"
)

// live opens the executor, beats its heart until the order to end, then drains: it takes no more, lets what runs end
// within Config.Drain, ends the rest as lost so that it moves at once, and says that it is gone. A notice that the machine
// will be taken away drains it in the same way; it then waits for the order.
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
		e.checkDisk(ctx)
		e.beat(context.WithoutCancel(ctx), false)
		select {
		case <-ticker.C:
			e.sayFarewell(ctx)
			if order == nil { // nothing else hears by now
				e.lookWhileEnding(ctx)
			}
		case <-freed:
		case reason := <-e.noticed:
			if tired == nil {
				tired = e.drain(ctx, "the machine will be taken away: "+reason)
			}
		case <-order:
			order, freed = nil, e.freed
			if tired == nil {
				tired = e.drain(ctx, "the executor ends")
			}
		case <-tired:
			e.stopAll()
			tired = make(chan time.Time)
		}
		if order == nil && len(e.inHand(anyone)) == 0 {
			e.beat(context.WithoutCancel(ctx), true)
			return nil
		}
	}
}

// open makes the place clean and the driver ready, then lets the slots ask for work.
func (e *executor) open(ctx context.Context) error {
	place, err := openPlace(e.config.Dir, e.config.Caches)
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
	e.checkDisk(ctx)
	close(e.opened)
	return nil
}

func (e *executor) openDriver(ctx context.Context) (driver.Driver, error) {
	if e.config.Use != nil {
		return e.config.Use, nil
	}
	site, err := choose.Open(ctx, e.config.Driver, choose.Options{
		Place: e.config.Dir, Path: e.config.Path, Log: e.log,
		Cells: e.config.Cells, Slots: e.config.Slots, Hide: e.config.Hide, Show: []string{e.place.step},
	})
	if err != nil {
		return nil, err
	}
	e.site = site
	e.tellIsolation(driver.IsolationOf(site))
	swept, err := site.Sweep(ctx)
	if swept > 0 {
		e.log.Warn("ended what an earlier executor left running", "things", swept)
	}
	return site, err
}

// tellIsolation notes what heartbeats say of the driver.
func (e *executor) tellIsolation(i driver.Isolation) {
	const most, longest = 16, 300
	told := event.Isolation{Held: i.Held}
	for _, text := range i.Missing[:min(len(i.Missing), most)] {
		told.Missing = append(told.Missing, strings.ToValidUTF8(text[:min(len(text), longest)], ""))
	}
	if err := i.Untrusted(); err != nil {
		told.Refusal = strings.ToValidUTF8(err.Error()[:min(len(err.Error()), longest)], "")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.isolation = told
}

func (e *executor) close() {
	err := e.sites.close()
	if e.site != nil {
		err = errors.Join(err, e.site.Close())
	}
	if err != nil {
		e.log.Error("cannot close the driver", "err", err)
	}
	e.driver, e.site = nil, nil
	e.place.close()
}

// recover ends what an earlier executor of this place had in hand. Its processes are dead by now. What has something left
// to undo is left to tendAll: others need not wait for it.
func (e *executor) recover(ctx context.Context) error {
	attempts, others, err := e.place.leftovers()
	if err != nil {
		return err
	}
	left, err := e.place.recordsLeft()
	if err != nil {
		return err
	}
	for _, ref := range left {
		e.tend(ref, e.now())
	}
	for _, ref := range attempts {
		if slices.Contains(left, ref) {
			continue
		}
		if err := e.reportLost(ctx, ref, "", event.TaskFinished{}); err != nil {
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
		Draining: e.refused != "", Reason: e.refused, Isolation: e.isolation,
		Accepts: e.config.Takes(),
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
	switch was := e.refused; {
	case was == "" && reason != "":
		close(e.shut)
	case was != "" && reason == "":
		e.shut = make(chan struct{})
	}
	e.refused, e.draining = reason, forGood
}
