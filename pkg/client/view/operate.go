package view

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/sluiceci/sluice/pkg/client"
)

// Pools prints pools with their queues, and what is wrong with their executors.
func Pools(w io.Writer, s Style, pools []client.Pool) error {
	if len(pools) == 0 {
		_, err := fmt.Fprintln(w, "There are no pools: no executor has started, and no task has asked for one.")
		return err
	}
	p := &page{style: s}
	p.table(poolTable(pools))
	for _, pool := range pools {
		for _, line := range poolTroubles(pool) {
			p.wrapped("  ", s.paint(warn, "! "+safe(pool.Name))+": "+line)
		}
		for _, line := range poolIsolation(pool) {
			p.wrapped("  ", s.paint(faint, safe(pool.Name))+": "+line)
		}
	}
	_, err := io.WriteString(w, p.String())
	return err
}

func poolTable(pools []client.Pool) table {
	t := table{columns: []column{
		{head: "POOL", least: 12},
		{head: "STATE"},
		{head: "EXECUTORS", right: true},
		{head: "RUNNING", right: true},
		{head: "SLOTS", right: true},
		{head: "WAITING", right: true},
	}}
	for _, p := range pools {
		alive := 0
		for _, x := range p.Executors {
			if x.Alive {
				alive++
			}
		}
		m := poolMark(p, alive)
		t.row(cell{safe(p.Name), plain}, cell{m.text(), m.tone}, cell{strconv.Itoa(alive), plain}, cell{strconv.Itoa(p.Running), plain},
			cell{strconv.Itoa(p.Slots), plain}, cell{strconv.Itoa(p.Waiting + max(0, p.Given-p.Running)), plain})
	}
	return t
}

func poolMark(p client.Pool, alive int) mark {
	switch {
	case p.Drained:
		return mark{"⊘", "drained", warn}
	case alive == 0:
		return mark{"✗", "nobody", bad}
	case p.Running > 0:
		return mark{"●", "working", busy}
	default:
		return mark{"✓", "idle", good}
	}
}

// poolTroubles are sentences on what an operator should know.
func poolTroubles(p client.Pool) []string {
	var out []string
	if p.Drained {
		out = append(out, safe(p.Reason)+"; it goes on with \"sluice drain "+safe(p.Name)+" --resume\"")
	}
	for _, x := range p.Executors {
		switch {
		case !x.Alive:
			out = append(out, "executor "+safe(x.Name)+" is silent")
		case x.Draining:
			out = append(out, strings.TrimSuffix("executor "+safe(x.Name)+" takes no more: "+safe(x.Reason), ": "))
		}
	}
	return out
}

// DeadLetters prints a list of dead letters.
func DeadLetters(w io.Writer, s Style, list []client.DeadLetter) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "There are no dead letters.")
		return err
	}
	t := table{columns: []column{
		{head: "SEQ", right: true},
		{head: "AGE", right: true},
		{head: "CONSUMER", least: 12},
		{head: "FAULT"},
		{head: "SUBJECT", least: 16},
		{head: "REASON", least: 16},
	}}
	for _, l := range list {
		t.row(cell{strconv.FormatUint(l.Seq, 10), plain}, cell{s.age(l.Time), faint}, cell{safe(l.Consumer), plain},
			cell{safe(l.Fault), bad}, cell{safe(l.Subject), faint}, cell{safe(l.Reason), plain})
	}
	return t.write(w, s)
}

// DeadLetter prints one dead letter in full.
func DeadLetter(w io.Writer, s Style, l client.DeadLetter) error {
	p := &page{style: s}
	p.line("%s  %s", s.paint(bold, fmt.Sprintf("Dead letter %d", l.Seq)), s.paint(bad, safe(l.Fault)))
	p.wrapped("  ", safe(l.Reason))
	p.line("")
	p.table(table{indent: 2, columns: []column{{}, {}}, rows: [][]cell{
		{{"consumer", faint}, {safe(l.Consumer), plain}},
		{{"subject", faint}, {safe(l.Subject), plain}},
		{{"fact", faint}, {strconv.FormatUint(l.Source, 10), plain}},
		{{"deliveries", faint}, {strconv.FormatUint(l.Deliveries, 10), plain}},
		{{"died", faint}, {s.age(l.Time) + " ago", plain}},
	}})
	p.title("Next")
	p.line("  sluice deadletters replay %d", l.Seq)
	_, err := io.WriteString(w, p.String())
	return err
}

// Top is what the operator's live view shows.
type Top struct {
	Pools   []client.Pool   `json:"pools"`
	Streams []client.Stream `json:"streams"`
	Runs    []client.Run    `json:"runs"`              // that have not ended
	Missing []string        `json:"missing,omitempty"` // what could not be asked for, and why
}

// Show prints pools, streams and consumers on one screen, those that are behind first.
func (t Top) Show(w io.Writer, s Style) error {
	p := &page{style: s}
	p.line("%s", s.paint(bold, fmt.Sprintf("%s going on", count(len(t.Runs), "run"))))
	for _, m := range t.Missing {
		p.wrapped("  ", s.paint(bad, "✗ ")+safe(m))
	}
	if len(t.Pools) > 0 {
		p.title("Pools")
		_ = Pools(p, s, t.Pools) // a strings.Builder takes everything
	}
	if len(t.Streams) > 0 {
		p.title("Streams")
		p.table(streamTable(s, t.Streams))
	}
	p.consumers(t.Streams)
	_, err := io.WriteString(w, p.String())
	return err
}

func streamTable(s Style, streams []client.Stream) table {
	t := table{columns: []column{
		{head: "STREAM"},
		{head: "MESSAGES", right: true},
		{head: "BYTES", right: true},
		{head: "FULL", right: true},
		{head: "LAST", right: true},
		{head: "", least: 8},
	}}
	for _, one := range streams {
		full, alarm := "", faint
		if one.MaxBytes > 0 {
			full = fmt.Sprintf("%.0f %%", 100*one.Full())
			if one.Full() > 0.8 {
				alarm = bad
			}
		}
		t.row(cell{safe(one.Name), plain}, cell{strconv.FormatUint(one.Messages, 10), plain}, cell{size(int64(one.Bytes)), plain},
			cell{full, alarm}, cell{s.age(one.LastTime), faint}, cell{safe(one.Description), faint})
	}
	return t
}
