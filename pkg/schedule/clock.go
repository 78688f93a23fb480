package schedule

import "time"

// clock relates this scheduler's clock to the stream's, which stamps facts. A State lives in the stream's time: what facts
// say and what it decides have one clock, whoever's is wrong, and schedulers whose clocks differ decide the same.
type clock struct {
	ahead  time.Duration // how much more this scheduler's clock shows
	beats  reading       // of what it says to itself
	facts  reading       // of what it decided
	newest stamp         // of the facts heard since the last decision
}

// reading is what a message of this scheduler's own tells: by its clock when it was sent, by the stream's when it was stored.
type reading struct {
	sent, stored stamp // of the last; zero once it is read
	ahead        time.Duration
	known        bool
}

// tolerance is how far clocks may be apart, and how long a message may take, before it matters.
const tolerance = 5 * time.Second

func (r *reading) note(sent, stored stamp) {
	if sent != 0 && stored != 0 {
		r.sent, r.stored = sent, stored
	}
}

// read believes a reading that says something else than the last of its kind. Heartbeats and facts are of different streams,
// of which a cluster may keep each on another server.
func (c *clock) read(r *reading, now stamp) {
	if r.sent == 0 {
		return
	}
	late, ahead := now.since(r.sent), r.sent.since(r.stored)
	r.sent = 0
	if late < 0 || late > tolerance || r.known && within(ahead-r.ahead, tolerance) {
		return
	}
	r.ahead, r.known = ahead, true
	if !within(ahead-c.ahead, tolerance) {
		c.ahead = ahead
	}
}

func within(d, most time.Duration) bool { return -most <= d && d <= most }

// stream turns a moment of this scheduler's clock into the stream's.
func (c *clock) stream(now stamp) stamp {
	if future := c.newest.since(now.plus(-c.ahead)); c.newest != 0 && future > tolerance {
		c.ahead -= future // a fact is heard after it was stored
	}
	c.newest = 0
	c.read(&c.facts, now)
	c.read(&c.beats, now)
	return max(now.plus(-c.ahead), 1)
}

// own turns a moment of the stream's clock into this scheduler's.
func (c *clock) own(at stamp) stamp {
	if at == 0 {
		return 0
	}
	return max(at.plus(c.ahead), 1)
}
