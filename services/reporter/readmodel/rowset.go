package readmodel

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/store"
)

// layout is a table with what is looked up for each value.
type layout struct {
	name   string // in a batch; the table may be there twice
	table  store.Table
	column map[string]int
	first  []bool // by column: the first value stays
}

func layouts() []*layout {
	var out []*layout
	for _, t := range tables() {
		l := &layout{name: t.name, table: t.table, column: map[string]int{}}
		for i, c := range t.table.Columns {
			l.column[c] = i
			l.first = append(l.first, slices.Contains(t.table.First, c))
		}
		out = append(out, l)
	}
	return out
}

// rowset is what a batch of facts says about the rows of one table: one row per key.
type rowset struct {
	*layout
	rows [][]any
	at   map[rowKey]int
}

// rowKey is a primary key of at most four values.
type rowKey [4]any

// row is one row of a rowset.
type row struct {
	set    *rowset
	values []any
}

// row returns the row with a key, new or as far as this batch has said.
func (s *rowset) row(key ...any) row {
	var k rowKey
	for i, v := range key {
		k[i] = plain(v)
	}
	n, known := s.at[k]
	if !known {
		n = len(s.rows)
		s.at[k] = n
		values := make([]any, len(s.table.Columns))
		copy(values, k[:len(key)])
		s.rows = append(s.rows, values)
	}
	return row{s, s.rows[n]}
}

// put says the value of a column. Nil says nothing.
func (r row) put(column string, value any) row {
	i, ok := r.set.column[column]
	if !ok {
		panic("readmodel: table " + r.set.table.Name + " has no column " + column)
	}
	if v := plain(value); v != nil && (r.values[i] == nil || !r.set.first[i]) {
		r.values[i] = v
	}
	return r
}

// plain turns a value into what both databases store alike.
func plain(v any) any {
	switch v := v.(type) {
	case nil, int64:
		return v
	case string:
		return clean(v)
	case int:
		return int64(v)
	case int32:
		return int64(v)
	case uint64:
		return int64(v)
	case bool:
		if v {
			return int64(1)
		}
		return int64(0)
	case time.Time:
		if v.IsZero() {
			return nil
		}
		return v.UnixMicro()
	default:
		panic(fmt.Sprintf("readmodel: cannot store %T", v))
	}
}

// clean removes what PostgreSQL does not store in a text: facts hold what strangers wrote, and none may stop the fold.
func clean(s string) string {
	if strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(s, "\x00", "\uFFFD")
}

// list is the JSON of a list or a map; an empty one says nothing.
func list[T any](items []T) any {
	if len(items) == 0 {
		return nil
	}
	return text(items)
}

// some is a text that most rows do not have: an empty one says nothing.
func some(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func object[V any](items map[string]V) any {
	if len(items) == 0 {
		return nil
	}
	return text(items)
}

func text(v any) any {
	b, err := json.Marshal(v)
	if err != nil {
		return nil // no payload has a value without a JSON form: it came as JSON
	}
	return string(b)
}
