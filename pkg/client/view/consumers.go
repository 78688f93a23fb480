package view

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/sluiceci/sluice/pkg/client"
)

// reader is a consumer with the stream that it reads.
type reader struct {
	stream string
	client.Consumer
}

// consumers prints the routes' consumers, the one with the most before it first. Followers, which come and go, show only
// when they are behind.
func (p *page) consumers(streams []client.Stream) {
	var list []reader
	for _, s := range streams {
		for _, c := range s.Consumers {
			if c.Durable || c.Lag() > 0 {
				list = append(list, reader{s.Name, c})
			}
		}
	}
	if len(list) == 0 {
		return
	}
	slices.SortStableFunc(list, func(a, b reader) int { return cmp.Compare(b.Lag(), a.Lag()) })
	p.title("Consumers")
	t := table{columns: []column{
		{head: "CONSUMER", least: 20},
		{head: "STREAM"},
		{head: "BEHIND", right: true},
		{head: "IN HAND", right: true},
		{head: "AGAIN", right: true},
		{head: "LAST", right: true},
	}}
	for _, c := range list {
		again := plain
		if c.Redelivered > 0 {
			again = warn
		}
		t.row(cell{safe(c.Name), plain}, cell{safe(c.stream), faint}, cell{strconv.FormatUint(c.Pending, 10), plain},
			cell{strconv.Itoa(c.AckPending), plain}, cell{strconv.Itoa(c.Redelivered), again}, cell{p.style.age(c.LastActive), faint})
	}
	p.table(t)
}
