package reporter

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/dialect/ray/health"
	"github.com/sluiceci/sluice/pkg/dialect/ray/outcome"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
)

func healthHears() []event.Type {
	return []event.Type{
		event.TypeTestsJudged, event.TypeTestMoved, event.TypeIssueSynced, event.TypeBisectRequested, event.TypeBisectEnded,
	}
}

// keptResults is how many results of a test are kept: more than any rule asks for.
const keptResults = 40

// patients are the tests whose health is followed, by project and name.
type patients struct {
	tests    map[[2]string]*patient
	bisected map[string]time.Time // bisections that were asked for by nobody, by id
	changed  map[[2]string]bool   // since they were last looked at
}

// patient is what is known of one test.
type patient struct {
	project, test string
	results       []judgement // newest first
	moved         event.TestMoved
	movedSeq      uint64
	person        uint64 // the last move that a person made: results before it count no more
	passed        uint64 // the last move to passing
	issue         event.IssueSynced
	issueSeq      uint64
	blamed        release.Commit
	blamedSeq     uint64
}

// judgement is one result of a test.
type judgement struct {
	event.JudgedTest
	run        release.RunID
	round      int32
	commit     release.Commit
	at         time.Time
	seq        uint64
	parameters map[string]string
}

func newPatients() *patients {
	return &patients{tests: map[[2]string]*patient{}, bisected: map[string]time.Time{}, changed: map[[2]string]bool{}}
}

func (ps *patients) of(project, test string) *patient {
	key := [2]string{project, test}
	p := ps.tests[key]
	if p == nil {
		p = &patient{project: project, test: test}
		ps.tests[key] = p
	}
	ps.changed[key] = true
	return p
}

// apply folds one fact.
func (ps *patients) apply(e event.Event) {
	switch d := e.Data.(type) {
	case event.TestsJudged:
		for _, t := range d.Tests {
			ps.of(d.Project, t.Test).hear(judgement{t, e.Run, d.Round, d.Commit, d.At, e.Seq, d.Parameters})
		}
	case event.TestMoved:
		if p := ps.of(d.Project, d.Test); d.Number > p.moved.Number {
			p.moved, p.movedSeq = d, e.Seq
			if d.By != "" {
				p.person = e.Seq
			}
			if d.To == string(health.Passing) {
				p.passed = e.Seq
			}
		}
	case event.IssueSynced:
		if p := ps.of(d.Project, d.Test); e.Seq > p.issueSeq {
			p.issue, p.issueSeq = d, e.Seq
		}
	case event.BisectRequested:
		if d.By == "" {
			ps.bisected[d.Bisect] = e.Time
		}
	case event.BisectEnded:
		if p := ps.of(d.Project, d.Test); d.Blamed != "" && e.Seq > p.blamedSeq {
			p.blamed, p.blamedSeq = d.Blamed, e.Seq
		}
	}
}

// hear puts a result where it belongs by the time of its change; a later round takes the place of an earlier one.
func (p *patient) hear(j judgement) {
	for i, known := range p.results {
		if known.run == j.run {
			if known.round > j.round {
				return
			}
			p.results = slices.Delete(p.results, i, i+1)
			break
		}
	}
	at, _ := slices.BinarySearchFunc(p.results, j, func(a, b judgement) int {
		return cmp.Or(b.at.Compare(a.at), cmp.Compare(b.seq, a.seq))
	})
	p.results = slices.Insert(p.results, at, j)
	p.results = p.results[:min(len(p.results), keptResults)]
}

// counted are the results that count, newest first, and where the last of them was said.
func (p *patient) counted() (out []judgement, last uint64) {
	for _, j := range p.results {
		if j.seq > p.person {
			out, last = append(out, j), max(last, j.seq)
		}
	}
	return out, last
}

// news reports whether something was judged that the last move did not look at.
func (p *patient) news(last uint64) bool {
	if p.movedSeq == 0 {
		return last > 0
	}
	return last > uint64(max(p.moved.Judged, 0)) && last > p.person
}

func (j judgement) result() health.Result {
	status := outcome.StatusSuccess
	if j.Outcome != release.Success {
		status = statusOf(j.Class)
	}
	return health.Result{Status: status, Commit: string(j.commit), At: j.at}
}

// statusOf is Ray's word for how a test ended.
func statusOf(c release.Class) outcome.Status {
	for _, row := range outcome.Table() {
		if row.Class == c && row.Status != outcome.StatusSuccess {
			return row.Status
		}
	}
	return outcome.StatusUnknown
}

// follow folds the facts about tests for ever, and says what follows from them.
func (h *healths) follow(ctx context.Context) error {
	if len(h.projects) == 0 {
		<-ctx.Done()
		return nil
	}
	f, err := h.deps.Bus.Follow(ctx, bus.Following{Name: Name + "-health", Types: healthHears()})
	if err != nil {
		return err
	}
	defer f.Close()
	ps := newPatients()
	for {
		batch, err := f.Next(ctx, idleWait)
		if err != nil {
			return err
		}
		for _, e := range batch.Events {
			ps.apply(e)
		}
		if !batch.Live || len(ps.changed) == 0 {
			continue
		}
		if err := h.say(ctx, ps); err != nil {
			return err
		}
		clear(ps.changed)
	}
}

// say says what follows from what has changed. What was said is heard again; saying it twice changes nothing.
func (h *healths) say(ctx context.Context, ps *patients) error {
	keys := slices.SortedFunc(maps.Keys(ps.changed), func(a, b [2]string) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	})
	for _, key := range keys {
		project, asked := h.projects[key[0]]
		if !asked {
			continue
		}
		p, now := ps.tests[key], h.deps.Now()
		var say event.Payload
		if moved, ok := p.look(*project.Health, now); ok {
			say = moved
		} else if wanted, ok := p.bisect(*project.Health, ps, now); ok {
			say = wanted
			ps.bisected[wanted.Bisect] = now
		}
		if say == nil {
			continue
		}
		if err := h.deps.Bus.Publish(ctx, event.Root(event.Fleet, h.deps.Source(Name), now, say)); err != nil {
			return err
		}
	}
	return nil
}
