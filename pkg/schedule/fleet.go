package schedule

import (
	"github.com/sluiceci/sluice/pkg/event"
)

// executor is a member of a pool: one process, known by its heartbeats or by what it started.
type executor struct {
	pool    *pool
	name    string
	beat    event.ExecutorHeartbeat // the newest
	news    mark                    // of it
	beaten  bool                    // there was one
	fresh   bool                    // it beat since the last decision
	waits   bool                    // stands in State.heard
	left    bool                    // no longer in State.fleet
	awaited bool                    // not heard since the scheduler hears
	seen    stamp                   // of the decision that first knew of the newest heartbeat
	slots   int32                   // what it adds to its pool now
	running map[held]stamp
	strays  map[event.AttemptRef]*stray
	alarm   stamp
}

// held names an attempt that an executor has in hand. In executor.running it has the moment at which the attempt was
// last known to be in good hands; 0 stands for the next decision's.
type held struct {
	task *task
	n    int32
}

// stray is an attempt that an executor still has although it has ended for everybody else.
type stray struct {
	since stamp
	want  *want
}

func (s *State) executor(poolName, name string) *executor {
	key := event.ExecutorHeartbeat{Pool: poolName, Executor: name}.Key()
	x := s.fleet[key]
	if x == nil {
		x = &executor{pool: s.pool(poolName), name: name, running: map[held]stamp{}}
		s.fleet[key] = x
	}
	return x
}

func (x *executor) key() string {
	return event.ExecutorHeartbeat{Pool: x.pool.name, Executor: x.name}.Key()
}

func (x *executor) take(h held) { x.running[h] = 0 }

// release takes an attempt out of an executor's hands. An executor of history, that has never beaten, goes with its
// last one.
func (s *State) release(x *executor, h held) {
	delete(x.running, h)
	if len(x.running) == 0 && !x.beaten {
		s.dismiss(x)
	}
}

// hear marks an executor for the next decision.
func (s *State) hear(x *executor) {
	if !x.waits {
		x.waits = true
		s.heard = append(s.heard, x)
	}
}

// hearBeat takes a heartbeat. The moment that counts is the next decision's: so the clocks of executors and servers
// need not agree with this one.
//
// One that came before is no news. Its place alone does not tell: the stream of heartbeats lives in memory, and counts
// from one again when its server is started again.
func (s *State) hearBeat(beat event.ExecutorHeartbeat, m mark) {
	x := s.executor(beat.Pool, beat.Executor)
	if x.beaten && m.set() && m.seq <= x.news.seq && m.at <= x.news.at {
		return
	}
	x.news, x.beat, x.beaten, x.fresh = m, beat, true, true
	s.hear(x)
}
