package lease_test

import (
	"slices"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/lease"
	"github.com/sluiceci/sluice/pkg/release"
)

// law holds every fact against what must never be. It knows what really happened on the places, and nothing of how a
// table decides.
type law struct {
	tb
	places map[string]*truth
	story  func() string
}

// truth is what is so of a place.
type truth struct {
	spec   event.PlaceRegistered
	token  int64
	live   map[int64]event.LeaseGranted
	mess   map[int64]bool // by the token of who used it and has not cleaned up
	change int64
	called bool // a fact says that it must be cleaned
}

// dirty reports whether somebody left a mess.
func (p *truth) dirty() bool {
	for token := range p.mess {
		if _, live := p.live[token]; !live {
			return true
		}
	}
	return false
}

func (l *law) place(name string) *truth {
	p := l.places[name]
	if p == nil {
		p = &truth{live: map[int64]event.LeaseGranted{}, mess: map[int64]bool{}}
		l.places[name] = p
	}
	return p
}

// see takes a fact as it is stored.
func (l *law) see(e event.Event) {
	switch f := e.Data.(type) {
	case event.PlaceRegistered:
		l.place(f.Place).spec = f
	case event.PlaceChanged:
		p := l.place(f.Place)
		p.change = f.Change
		p.called = p.called || f.State == release.PlaceCleanupPending
		if f.State == release.PlaceFree && f.By != "" {
			clear(p.mess)
			p.called = false
		}
	case event.LeaseGranted:
		l.seeGranted(f)
	case event.LeaseEnded:
		p := l.place(f.Place)
		p.called = p.called || f.State == release.PlaceCleanupPending && f.Holder.Task != lease.TaskClean && f.Holder.Task != lease.TaskHealth
		delete(p.live, f.Token)
	}
}

// seeGranted: a token never goes down and leaves no gap; an exclusive holder is alone; nobody but its cleaner has a dirty
// place, whoever it was given to.
func (l *law) seeGranted(g event.LeaseGranted) {
	p := l.place(g.Place)
	if g.Token != p.token+1 {
		l.Fatalf("token %d of %s follows %d", g.Token, g.Place, p.token)
	}
	if p.token = g.Token; (p.called || p.dirty()) && g.Holder.Task != lease.TaskClean {
		return // by who had not heard of it yet: it gives no right, and whoever uses it is found out
	}
	for _, o := range p.live {
		if !o.Shared || !g.Shared {
			l.Fatalf("%s is given to %v while %v has it", g.Place, g.Holder, o.Holder)
		}
	}
	if g.Shared && len(p.live) >= int(p.spec.Capacity) {
		l.Fatalf("%s is given to %v, and is full", g.Place, g.Holder)
	}
	p.live[g.Token] = g
}

// shown: who has heard everything calls no place free that is dirty, whatever the facts say of it.
func (l *law) shown(places []lease.Place) {
	for _, v := range places {
		if v.State == lease.Free && l.places[v.Place].dirty() {
			l.Fatalf("%s is called free, and is dirty%s", v.Place, l.story())
		}
	}
}

// use is an attempt that works on its places, after its proof.
func (l *law) use(ref event.AttemptRef, held release.Lease) {
	for _, h := range held.Places {
		p := l.place(h.Place)
		if _, live := p.live[h.Token]; !live {
			l.Fatalf("%v uses %s under token %d, which has ended", ref, h.Place, h.Token)
		}
		for token, o := range p.live {
			if token != h.Token && !o.Shared {
				l.Fatalf("%v uses %s under token %d while %v holds it alone", ref, h.Place, h.Token, o.Holder)
			}
		}
		if ref.Task != lease.TaskClean && ref.Task != lease.TaskHealth {
			p.mess[h.Token] = true
		}
	}
}

// finish is an attempt's end as it really is: a place is clean when the last thing on it was a cleanup that succeeded.
func (l *law) finish(ref event.AttemptRef, end event.TaskFinished) {
	for _, p := range l.places {
		for _, g := range p.live {
			if g.Holder == ref {
				p.ended(g, end)
			}
		}
	}
}

func (p *truth) ended(g event.LeaseGranted, end event.TaskFinished) {
	cleaned := slices.ContainsFunc(end.Phases, func(p event.Phase) bool { return p.Name == "cleanup" })
	switch {
	case g.Holder.Task == lease.TaskHealth:
	case g.Holder.Task == lease.TaskClean:
		if end.Class == release.ClassOK {
			clear(p.mess)
			p.called = false
		}
	case cleaned && end.Unclean == "" && end.KeptUntil.IsZero() && (g.Shared || !p.spec.Clean):
		delete(p.mess, g.Token)
	}
}

// answer: what is held has its places, each once, and all of them are the holder's in the stream.
func (l *law) answer(t *task, a lease.Answer) {
	if !a.Held {
		if a.Wait.Reason == "" && len(a.Grants) == 0 {
			l.Fatalf("%v waits, and nobody says why", t.ask.Holder)
		}
		return
	}
	if len(a.Lease.Places) != int(t.ask.Request.Count()) {
		l.Fatalf("%v asked for %d places and got %v", t.ask.Holder, t.ask.Request.Count(), a.Lease.Places)
	}
}
