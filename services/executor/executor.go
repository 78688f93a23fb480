package executor

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/driver"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/git"
	"github.com/sluiceci/sluice/pkg/logs"
	"github.com/sluiceci/sluice/pkg/mask"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/service"
)

type executor struct {
	config Config
	deps   service.Deps
	log    *slog.Logger
	git    *git.Cache
	plans  *plans
	codec  *logs.Codec
	host   string
	bare   *mask.Masker // of attempts without secrets

	opened chan struct{} // closed when the directory is clean and the driver there
	driver driver.Driver
	site   driver.Site // the driver, when it was opened here
	sites  sites       // of places elsewhere
	place  *place

	noticed  chan string             // why this machine will be taken away
	farewell *event.ExecutorDraining // not heard yet; live's alone

	mu        sync.Mutex
	running   map[event.AttemptRef]*attempt
	recent    recent          // attempts that it had in hand
	isolation event.Isolation // as heartbeats tell it
	refused   string          // why it takes no work now; "" when it does
	shut      chan struct{}   // closed when it begins to take none; a new one when it takes work again
	draining  bool            // it ends: for good
	freed     chan struct{}
	due       map[event.AttemptRef]time.Time // attempts that are over and have something left to do
}

func newExecutor(config Config, deps service.Deps, cache *git.Cache) *executor {
	host, _ := os.Hostname() // for people only
	bare, _ := mask.New(nil) // no secret is too short
	return &executor{
		config: config, deps: deps, git: cache, plans: newPlans(deps.Blobs), codec: logs.NewCodec(), host: host, bare: bare,
		log:     deps.Log.With("service", Name, "pool", config.Pool, "executor", deps.Instance),
		opened:  make(chan struct{}),
		running: map[event.AttemptRef]*attempt{},
		freed:   make(chan struct{}, 1),
		shut:    make(chan struct{}),
		noticed: make(chan string, 1),
		due:     map[event.AttemptRef]time.Time{},
		sites:   sites{config: config.Driver, dir: config.Dir, log: deps.Log},
	}
}

// local reports whether commands are processes that see the executor's own directory.
func (e *executor) local() bool {
	of := e.config.Driver
	return (of.Kind == "" || of.Kind == "local") && of.Local.Sandbox == ""
}

// patience is how long after the order to end a handler may still run: the attempt's own time, its processes' grace, its
// cleanup, and what it takes to store the log and to say the result.
func (e *executor) patience() time.Duration {
	return e.config.Drain + e.config.Grace + defaultCleanup + time.Minute
}

// await blocks until the executor can take an attempt.
func (e *executor) await(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-e.opened:
	}
	for ctx.Err() == nil && e.reason() != "" {
		select {
		case <-ctx.Done():
		case <-time.After(e.config.Beat):
		}
	}
}

// shutting returns a channel that closes when no more work is taken.
func (e *executor) shutting() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.shut
}

// reason says why no work is taken, or "".
func (e *executor) reason() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.refused
}

// register takes an attempt in hand. It returns nil when the attempt was claimed here already: its message came twice. While
// the twin of a message has not claimed the attempt yet, the message comes again: the twin may still fail, and whoever
// acknowledges one of them ends both. From here on the heartbeat names the attempt.
func (e *executor) register(ref event.AttemptRef, dispatched uint64, cancel context.CancelCauseFunc) (*attempt, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.refused != "" {
		return nil, fault.Later(time.Second, "cannot take an attempt: %s", e.refused)
	}
	twin := e.running[ref]
	switch {
	case e.recent.has(ref) || twin != nil && twin.started:
		return nil, nil
	case twin != nil:
		return nil, bus.Again(twinWait)
	}
	a := &attempt{e: e, ref: ref, dispatched: dispatched, cancel: cancel}
	e.running[ref] = a
	return a, nil
}

// twinWait is how soon a message comes again while another delivery of it is in hand.
const twinWait = time.Second

// start notes that an attempt was claimed.
func (e *executor) start(a *attempt) {
	e.mu.Lock()
	defer e.mu.Unlock()
	a.started = true
}

// release lets an attempt go. One that was claimed is remembered, so that a message which comes twice is known.
func (e *executor) release(a *attempt) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.running, a.ref)
	if a.started {
		e.recent.add(a.ref)
	}
	select {
	case e.freed <- struct{}{}:
	default:
	}
}

// inHand lists the attempts in hand that match.
func (e *executor) inHand(match func(event.AttemptRef) bool) []*attempt {
	e.mu.Lock()
	defer e.mu.Unlock()
	var list []*attempt
	for ref, a := range e.running {
		if match(ref) {
			list = append(list, a)
		}
	}
	return list
}

func anyone(event.AttemptRef) bool { return true }

func (e *executor) now() time.Time { return e.deps.Bus.Now() }

func (e *executor) source() string { return e.deps.Source(Name) }

// recent remembers the last attempts.
type recent struct {
	ring [1024]event.AttemptRef
	next int
	set  map[event.AttemptRef]bool
}

func (r *recent) has(ref event.AttemptRef) bool { return r.set[ref] }

func (r *recent) add(ref event.AttemptRef) {
	if r.set == nil {
		r.set = map[event.AttemptRef]bool{}
	}
	delete(r.set, r.ring[r.next])
	r.ring[r.next] = ref
	r.set[ref] = true
	r.next = (r.next + 1) % len(r.ring)
}

// stopped is why an attempt was ended from outside.
type stopped struct {
	class  release.Class
	reason string
}

func (s *stopped) Error() string { return s.reason }

// stop ends an attempt. The first reason counts.
func (a *attempt) stop(class release.Class, reason string) { a.cancel(&stopped{class, reason}) }
