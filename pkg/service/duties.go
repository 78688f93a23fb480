package service

import (
	"strings"

	"github.com/sluiceci/sluice/pkg/access"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
)

// The identities that are no service.
const (
	Setup    = "setup"    // creates and changes the streams and durable consumers
	Onlooker = "onlooker" // sees everything, for people: sluice events tail
	Starter  = "starter"  // the process itself: says which change it starts, and watches
)

// PoolIdentity is the identity of the executors of a pool.
func PoolIdentity(pool string) string { return "pool-" + pool }

// Identity is who the service is on the bus: itself, or the pool of its executor.
func (s Service) Identity() string {
	if s.Pool != "" {
		return PoolIdentity(s.Pool)
	}
	return s.Name
}

// Duties lists what each identity does, from the same tables that run. Members of one pool share an identity.
func Duties(services ...Service) []bus.Duties {
	out := []bus.Duties{
		{Identity: Setup, Declares: true},
		{Identity: Onlooker, All: true, ReadLogs: true, Follows: []event.Type{event.TypeExecutorHeartbeat}},
		{Identity: Starter, All: true, Says: []string{event.TypeChangeReceived.Filter()}},
	}
	at := map[string]int{}
	for _, s := range services {
		if _, known := at[s.Identity()]; known {
			continue
		}
		at[s.Identity()] = len(out)
		out = append(out, s.duties())
	}
	return out
}

// Served lists the routes whose durable consumers have to be declared. Members of one pool share theirs.
func Served(services ...Service) []bus.Served {
	var out []bus.Served
	known := map[string]bool{}
	for _, s := range services {
		for _, r := range s.Routes {
			if name := r.Durable(s.Name); !known[name] {
				known[name] = true
				out = append(out, bus.Served{Service: s.Name, Route: r})
			}
		}
	}
	return out
}

func (s Service) duties() bus.Duties {
	d := bus.Duties{
		Identity: s.Identity(), Durables: map[string]string{}, Asks: s.Asks, Answers: s.Answers, LogsOf: s.Pool, Apart: s.Pool != "",
		ReadLogs: s.ReadLogs, Operates: s.Operates,
	}
	for _, r := range s.Routes {
		d.Durables[r.Durable(s.Name)] = r.Filter()
		pool := s.Pool
		if takesPool(r.Hears) && len(r.Keys) > 0 {
			pool = r.Keys[0]
		}
		d.Says = append(d.Says, subjects(r.Says, pool)...)
	}
	for _, l := range s.Loops {
		pool := s.Pool
		if l.Pool != "" {
			pool = l.Pool
		}
		d.Says = append(d.Says, subjects(l.Says, pool)...)
		if s.Pool != "" {
			d.Listens = append(d.Listens, subjects(l.Hears, pool)...)
		} else {
			d.Follows = append(d.Follows, l.Hears...)
		}
	}
	d.Follows = append(d.Follows, s.Follows...)
	d.Reads = append(subjects(append(access.Reads(), s.Reads...), s.Pool), d.Listens...)
	if s.Pool == "" {
		d.Says = append(d.Says, subjects(access.Says(), "")...)
	}
	return d
}

// subjects are the places of types; of those whose key begins with a pool, the pool's own.
func subjects(types []event.Type, pool string) []string {
	var out []string
	for _, t := range types {
		if pool != "" && takesPool(t) {
			out = append(out, t.Filter(pool))
		} else {
			out = append(out, t.Filter())
		}
	}
	return out
}

func takesPool(t event.Type) bool {
	entry, _ := event.Find(t)
	return strings.HasPrefix(entry.Keys, "<pool>")
}
