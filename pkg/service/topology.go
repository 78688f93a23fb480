package service

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/event"
)

// Link is one line of the topology: a service, on hearing something, may say something.
type Link struct {
	Service string       `json:"service"`
	Part    string       `json:"part"`           // route or loop
	Hears   []event.Type `json:"hears"`          // empty: the world outside
	Says    []event.Type `json:"says,omitempty"` // empty: it acts on the world outside only
}

// Topology lists who hears and says what. It is read from the same tables that run.
func Topology(services ...Service) []Link {
	var out []Link
	for _, s := range services {
		for _, r := range s.Routes {
			part := strings.Join(append([]string{r.Name}, r.Keys...), " ")
			out = append(out, Link{s.Name, part, []event.Type{r.Hears}, r.Says})
		}
		for _, l := range s.Loops {
			out = append(out, Link{s.Name, l.Name, l.Hears, l.Says})
		}
	}
	slices.SortStableFunc(out, func(a, b Link) int { return cmp.Compare(a.Service, b.Service) })
	return out
}
