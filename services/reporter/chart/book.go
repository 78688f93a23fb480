package chart

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
)

// Book has the charts of all tests. It is safe for concurrent use.
type Book struct {
	mu      sync.RWMutex
	tests   map[string]*Test
	bisects map[string]*Bisect   // by id
	of      map[string][]*Bisect // by the key of their test, oldest first
	whole   bool                 // everything that was stored before is known
}

// New makes an empty book.
func New() *Book {
	return &Book{tests: map[string]*Test{}, bisects: map[string]*Bisect{}, of: map[string][]*Bisect{}}
}

// Hears are the facts that a book is made from.
func Hears() []event.Type {
	return []event.Type{
		event.TypeTestsJudged, event.TypeTestMoved, event.TypeIssueSynced, event.TypeBisectRequested, event.TypeBisectAdvanced, event.TypeBisectEnded,
	}
}

const idleWait = time.Second

// Follow folds the facts into the book for ever.
func (b *Book) Follow(ctx context.Context, source *bus.Bus) error {
	f, err := source.Follow(ctx, bus.Following{Name: "reporter-chart", Types: Hears()})
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		batch, err := f.Next(ctx, idleWait)
		if err != nil {
			return err
		}
		b.Apply(batch.Events, batch.Live)
	}
}

// Query says which tests are asked for.
type Query struct {
	Project string
	State   string // "" for all; "failed" for whatever does not pass
	Text    string // a part of the name
	From    int
	Limit   int
}

// Page is a part of the list.
type Page struct {
	Tests []Test
	Total int            // that the query fits
	Count map[string]int // of the project's tests, by state
	Next  int            // where the next page begins; 0 on the last
	Whole bool
}

// List lists tests: the worst first, then by name. What a page shows of a test is a copy.
func (b *Book) List(q Query, sees func(project string) bool) Page {
	b.mu.RLock()
	defer b.mu.RUnlock()
	page := Page{Count: map[string]int{}, Whole: b.whole}
	var all []*Test
	for _, t := range b.tests {
		if q.Project != "" && t.Project != q.Project || !sees(t.Project) {
			continue
		}
		page.Count[t.State]++
		if q.fits(t) {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b *Test) int {
		return cmp.Or(cmp.Compare(rank(a.State), rank(b.State)), cmp.Compare(a.Project, b.Project), cmp.Compare(a.Name, b.Name))
	})
	page.Total = len(all)
	from := min(max(q.From, 0), len(all))
	to := min(from+max(q.Limit, 1), len(all))
	for _, t := range all[from:to] {
		page.Tests = append(page.Tests, b.copied(t))
	}
	if to < len(all) {
		page.Next = to
	}
	return page
}

func (q Query) fits(t *Test) bool {
	switch {
	case q.State == "failed" && t.State == firstState, q.State != "" && q.State != "failed" && t.State != q.State:
		return false
	default:
		return strings.Contains(strings.ToLower(t.Name), strings.ToLower(q.Text))
	}
}

// rank puts what needs a person first.
func rank(state string) int {
	return slices.Index([]string{"consistently_failing", "failing", jailedState, "flaky", firstState, ""}, state)
}

// Test is the chart of one test by its key.
func (b *Book) Test(key string) (Test, bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	t, known := b.tests[key]
	if !known {
		return Test{}, false
	}
	return b.copied(t), true
}

// copied is a test that nobody else changes, with its bisections.
func (b *Book) copied(t *Test) Test {
	out := *t
	out.Results, out.Moves = slices.Clone(t.Results), slices.Clone(t.Moves)
	for _, one := range slices.Backward(b.of[t.Key]) {
		bisect := *one
		bisect.Rounds = slices.Clone(one.Rounds)
		out.Bisects = append(out.Bisects, bisect)
	}
	return out
}
