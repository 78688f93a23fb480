package readmodel

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/store/storetest"
	"github.com/sluiceci/sluice/services/reporter/reportertest"
)

// TestModel runs the same suite on every database, and shows that they hold the same rows.
func TestModel(t *testing.T) {
	t.Parallel()
	dumps := map[string]string{}
	var mu sync.Mutex
	t.Run("each", func(t *testing.T) {
		for kind, url := range storetest.URLs(t) {
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				m := openModel(t, url(t))
				events := reportertest.Tell(storyTime()).Events
				foldAll(t, m, events, 7)
				live := dump(t, m)
				mu.Lock()
				dumps[kind] = live
				mu.Unlock()
				t.Run("folding again changes nothing", func(t *testing.T) { foldTwice(t, m, events, live) })
				t.Run("rebuilt tables equal the live ones", func(t *testing.T) { rebuild(t, m, events, live) })
				t.Run("another stream empties the tables", func(t *testing.T) { otherStream(t, m, events, live) })
				t.Run("two processes fold into one database", func(t *testing.T) { twoProcesses(t, m, events, live) })
			})
		}
	})
	if diff := cmp.Diff(dumps["sqlite"], dumps["postgres"]); diff != "" && dumps["postgres"] != "" {
		t.Errorf("SQLite and PostgreSQL hold different rows:\n%s", diff)
	}
	golden(t, "testdata/rows.golden", only(dumps["sqlite"], "runs", "changes", "candidates", "gates", "conditions", "releases", "exports"))
}

func openModel(t testing.TB, url string) *Model {
	t.Helper()
	m := New(url)
	t.Cleanup(func() { must(t, m.Close()) })
	_, err := m.Resume(t.Context(), "one")
	must(t, err)
	return m
}

// foldAll folds events in batches of a size, from where the tables are.
func foldAll(t testing.TB, m *Model, events []event.Event, size int) {
	t.Helper()
	from, err := m.Resume(t.Context(), "one")
	must(t, err)
	for rest := events[from:]; len(rest) > 0; {
		n := min(size, len(rest))
		_, err := m.Apply(t.Context(), rest[:n], from, rest[n-1].Seq)
		must(t, err)
		from, rest = rest[n-1].Seq, rest[n:]
	}
}

func foldTwice(t *testing.T, m *Model, events []event.Event, want string) {
	runs, err := m.Apply(t.Context(), events, 0, uint64(len(events)))
	if err != nil || len(runs) != 0 {
		t.Fatalf("folding again gave %v and %v, want nothing", runs, err)
	}
	same(t, m, want)
}

func rebuild(t *testing.T, m *Model, events []event.Event, want string) {
	must(t, m.Rebuild(t.Context()))
	if _, err := m.Apply(t.Context(), events[:1], uint64(len(events)), uint64(len(events)+1)); !fault.Is(err, fault.Conflict) {
		t.Fatalf("whoever folds while the tables are emptied gets %v, want a conflict", err)
	}
	foldAll(t, m, events, 1000)
	same(t, m, want)
}

func otherStream(t *testing.T, m *Model, events []event.Event, want string) {
	from, err := m.Resume(t.Context(), "two")
	if err != nil || from != 0 {
		t.Fatalf("a new stream begins at %d (%v), want 0", from, err)
	}
	if got := dump(t, m); strings.Contains(got, "released") {
		t.Fatalf("rows of another stream are still there:\n%s", got)
	}
	foldAll(t, m, events, 50) // resumes as stream "one": empties again
	same(t, m, want)
}

func twoProcesses(t *testing.T, m *Model, events []event.Event, want string) {
	must(t, m.Rebuild(t.Context()))
	_, err := m.Resume(t.Context(), "one")
	must(t, err)
	var wg sync.WaitGroup
	for _, size := range []int{3, 11} {
		wg.Go(func() {
			from := uint64(0)
			for rest := events; len(rest) > 0; {
				n := min(size, len(rest))
				_, err := m.Apply(t.Context(), rest[:n], from, rest[n-1].Seq)
				if fault.Is(err, fault.Transient) {
					continue // the other was faster: once more
				}
				if err != nil {
					t.Error(err)
					return
				}
				from, rest = rest[n-1].Seq, rest[n:]
			}
		})
	}
	wg.Wait()
	same(t, m, want)
}

func same(t *testing.T, m *Model, want string) {
	t.Helper()
	if diff := cmp.Diff(want, dump(t, m)); diff != "" {
		t.Fatalf("rows (-want +got):\n%s", diff)
	}
}

// dump is every row of every table as text.
func dump(t testing.TB, m *Model) string {
	t.Helper()
	var b strings.Builder
	for _, l := range m.layouts {
		if l.name == "announced" {
			continue
		}
		columns := l.table.Columns
		if l.name == "runs" {
			columns = append([]string{"run", "born", "received_at"}, columns[1:]...)
		}
		lines := tableLines(t, m, l.table.Name, columns)
		sort.Strings(lines)
		fmt.Fprintf(&b, "# %s\n%s\n", l.table.Name, strings.Join(lines, "\n"))
	}
	return b.String()
}

// only keeps the tables named.
func only(dump string, names ...string) string {
	var out strings.Builder
	for part := range strings.SplitSeq(dump, "# ") {
		name, _, _ := strings.Cut(part, "\n")
		if slices.Contains(names, name) {
			out.WriteString("# " + part)
		}
	}
	return out.String()
}

func tableLines(t testing.TB, m *Model, table string, columns []string) []string {
	t.Helper()
	rows, err := m.db.Query(t.Context(), "SELECT "+strings.Join(columns, ", ")+" FROM "+table)
	must(t, err)
	defer func() { must(t, rows.Close()) }()
	var lines []string
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		must(t, rows.Scan(into...))
		var parts []string
		for i, v := range values {
			if v != nil {
				parts = append(parts, fmt.Sprintf("%s=%q", columns[i], fmt.Sprint(v)))
			}
		}
		lines = append(lines, strings.Join(parts, " "))
	}
	must(t, rows.Err())
	return lines
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
