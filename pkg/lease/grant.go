package lease

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

// Ask is an attempt that is next to be dispatched and needs places for it.
type Ask struct {
	Holder   event.AttemptRef
	Request  release.LeaseRequest
	Priority int32     // higher goes first
	Since    time.Time // when it became ready: who waits longest goes first
	Unserved bool      // no executor could start it now: it goes after all that are served
}

// Answer is what becomes of an ask.
type Answer struct {
	Granting bool                 // its grants are on their way to become facts
	Held     bool                 // every place is the holder's: it may be dispatched with Lease
	Lease    release.Lease        // of a provider that has no places: without any
	Grants   []event.LeaseGranted // to be said; the holder has the places once they are facts
	Wait     Wait                 // when it is not Held: why
}

// Wait is why an ask cannot be met now. Grant says it in few words; Explain looks at every place.
type Wait struct {
	Reason  string    // in one line, with the first place in the way
	Since   time.Time // since when that place is in the way
	Until   time.Time // when its lease or quarantine ends by itself; zero when nobody knows
	Never   bool      // no place that there is will ever do
	Ahead   int       // asks that go first; Grant tells only whether there is one
	Blocked []Place   // the places that would do, and what is with each; Grant tells the first
	Before  []Ask     // those that go first, in their order; Explain tells them
	Free    int       // places that would do and are free, or its own already; Explain tells it
}

// claim is an ask that has not been met.
type claim struct {
	Ask
	asked time.Time // the last time
	first time.Time
	heard uint64 // the newest fact at that time
	short bool   // it could not be met then
	had   int    // places that it had then

	places []*place // that will do
	offer  uint64   // the offer of places that they were found in
}

// Grant answers an ask. Asked again, it answers the same until facts say otherwise: an ask that waits keeps its turn, and
// who comes after it gets no place that it waits for.
func (t *Table) Grant(ask Ask, now time.Time) Answer {
	t.look(now)
	t.limit(ask.Holder.Run, ask.Holder.Task, ask.Request.For.Std())
	if !t.known(ask.Request.Provider) {
		return Answer{Held: true, Lease: release.Lease{Provider: ask.Request.Provider, Shared: ask.Request.Shared}}
	}
	c := t.claim(ask, now)
	mine := t.held(ask.Holder)
	if need := int(ask.Request.Count()); len(mine) >= need {
		c.short = false
		return Answer{Held: true, Lease: t.lease(ask, mine[:need])} // two schedulers may have granted more
	}
	t.Lapse(now)
	if t.promised(ask.Holder) {
		return Answer{Granting: true, Wait: Wait{Reason: "its places are being granted", Since: now}}
	}
	chosen, short := t.choose(c, len(mine), now)
	if c.short, c.had = short, len(mine); short {
		t.touchAll(mine)
		return Answer{Wait: t.wait(c)}
	}
	return Answer{Granting: true, Grants: t.grant(c, chosen, now), Wait: Wait{Reason: "its places are being granted", Since: now}}
}

func (t *Table) touchAll(places []*place) {
	for _, p := range places {
		t.touch(p)
	}
}

// Drop forgets an ask. What was granted and is not dispatched is given back.
func (t *Table) Drop(ref event.AttemptRef) {
	if c := t.claims[ref]; c != nil {
		delete(t.claims, ref)
		t.leave(c)
		t.moved()
	}
	t.touchAll(t.holds[ref])
}

// known reports whether a provider has, or had, places of its own. One that has none makes them for each attempt.
func (t *Table) known(provider string) bool {
	if slices.Contains(t.cfg.Providers, provider) {
		return true
	}
	return t.registered(provider)
}

func (t *Table) registered(provider string) bool {
	i := t.first(provider)
	return i < len(t.order) && t.order[i].name.provider == provider
}

// claim notes an ask in its turn.
func (t *Table) claim(ask Ask, now time.Time) *claim {
	c := t.claims[ask.Holder]
	switch {
	case c == nil:
		c = &claim{first: now, heard: t.seq}
		t.claims[ask.Holder] = c
	case c.Priority == ask.Priority && c.Since.Equal(ask.Since) && c.Unserved == ask.Unserved:
		if c.asked = now; !sameRequest(c.Request, ask.Request) {
			c.offer = 0
		}
		c.Request = ask.Request
		return c
	default:
		t.leave(c)
	}
	c.Ask, c.asked, c.offer = ask, now, 0
	i, _ := slices.BinarySearchFunc(t.queue, c, compareClaims)
	t.queue = slices.Insert(t.queue, i, c)
	return c
}

func sameRequest(a, b release.LeaseRequest) bool {
	return a.Provider == b.Provider && a.Shared == b.Shared && slices.Equal(a.Places, b.Places)
}

// leave takes a claim out of the queue.
func (t *Table) leave(c *claim) {
	if i, ok := slices.BinarySearchFunc(t.queue, c, compareClaims); ok {
		t.queue = slices.Delete(t.queue, i, i+1)
	}
}

func compareClaims(a, b *claim) int {
	return cmp.Or(
		compareBools(a.Unserved, b.Unserved), cmp.Compare(b.Priority, a.Priority), a.Since.Compare(b.Since), cmp.Compare(a.Holder.Run, b.Holder.Run),
		cmp.Compare(a.Holder.Task, b.Holder.Task), cmp.Compare(a.Holder.Attempt, b.Holder.Attempt),
	)
}

// compareBools puts false first.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

// Still tells that an ask stands although it is not made again: nothing that it waits for has changed.
func (t *Table) Still(ref event.AttemptRef, now time.Time) {
	if c := t.claims[ref]; c != nil {
		c.asked = now
	}
}

// Coveted reports whether somebody waits for a place of an attempt, who could use it at once.
func (t *Table) Coveted(ref event.AttemptRef) bool {
	mine := t.held(ref)
	return slices.ContainsFunc(t.queue, func(c *claim) bool {
		return c.short && !c.Unserved && c.Holder != ref && t.satisfiable(c) &&
			slices.ContainsFunc(mine, func(p *place) bool { return slices.Contains(t.matching(c), p) })
	})
}

// held lists the places that an attempt has, by name.
func (t *Table) held(ref event.AttemptRef) []*place {
	var out []*place
	for _, p := range t.holds[ref] {
		if p.now.of(ref) != nil {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *place) int { return compareNames(a.name, b.name) })
	return out
}

func (t *Table) lease(ask Ask, places []*place) release.Lease {
	l := release.Lease{Provider: ask.Request.Provider, Shared: ask.Request.Shared}
	for _, p := range places {
		h := p.now.of(ask.Holder)
		l.Places = append(l.Places, release.Held{Place: p.name.place, Token: h.token, Address: p.now.spec.Address})
		if l.Until.IsZero() || h.until.Before(l.Until) {
			l.Until = h.until
		}
	}
	return l
}

// grant promises places and makes the facts that give them.
func (t *Table) grant(c *claim, chosen []*place, now time.Time) []event.LeaseGranted {
	out := make([]event.LeaseGranted, 0, len(chosen))
	for _, p := range chosen {
		t.epoch++
		p.promise = promise{token: p.now.token + 1, holder: c.Holder, at: now}
		t.promises = append(t.promises, p)
		out = append(out, event.LeaseGranted{
			Provider: p.name.provider, Place: p.name.place, Token: p.promise.token, Holder: c.Holder, Shared: c.Request.Shared,
			Until: t.until(now, c.Request).UTC(), Reason: "its turn, at priority " + number(int64(c.Priority)),
		})
	}
	return out
}

// until is when a new lease ends unless it is renewed.
func (t *Table) until(now time.Time, r release.LeaseRequest) time.Time {
	if r.For > 0 {
		return now.Add(min(t.cfg.Term, r.For.Std()))
	}
	return now.Add(t.cfg.Term)
}

// Lapse forgets promises that became facts, were taken by another, or did not reach the stream. Revision moves with each:
// whoever waits for a place may get it now. Grant and Decide do it too.
func (t *Table) Lapse(now time.Time) {
	t.promises = slices.DeleteFunc(t.promises, func(p *place) bool {
		since := now.Sub(p.promise.at)
		if p.promise.token > p.now.token && since >= 0 && since < t.cfg.Resend {
			return false
		}
		p.promise = promise{}
		t.moved()
		t.touch(p)
		return true
	})
}

func (t *Table) promised(ref event.AttemptRef) bool {
	return slices.ContainsFunc(t.promises, func(p *place) bool { return p.promise.holder == ref })
}

func number(n int64) string { return strconv.FormatInt(n, 10) }
