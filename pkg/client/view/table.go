package view

import (
	"io"
	"strings"
)

// cell is a piece of a table.
type cell struct {
	text string
	tone tone
}

// column says how a column of a table is laid out.
type column struct {
	head  string
	right bool
	least int  // columns that it can be cut down to when the table is too wide; 0 is never cut
	wraps bool // what does not fit goes on in the next line instead of being cut; for the last column
}

// table lays rows out in columns.
type table struct {
	columns []column
	rows    [][]cell
	indent  int
}

func (t *table) row(cells ...cell) { t.rows = append(t.rows, cells) }

// write prints the table. A table that is too wide loses text from its widest columns.
func (t *table) write(w io.Writer, s Style) error {
	widths := t.widths(s)
	var b strings.Builder
	if head := t.heads(); head != nil {
		t.line(&b, s, widths, head)
	}
	for _, r := range t.rows {
		for _, part := range t.wrapped(widths, r) {
			t.line(&b, s, widths, part)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// wrapped is a row on as many lines as its last column needs.
func (t *table) wrapped(widths []int, row []cell) [][]cell {
	last := len(t.columns) - 1
	if len(row) != len(t.columns) || !t.columns[last].wraps || width(row[last].text) <= widths[last] {
		return [][]cell{row}
	}
	var out [][]cell
	for _, text := range lines(row[last].text, widths[last]) {
		next := make([]cell, len(row))
		if out == nil {
			copy(next, row)
		}
		next[last] = cell{text, row[last].tone}
		out = append(out, next)
	}
	return out
}

// lines breaks text between words into lines of at most n columns; a word that is longer has a line of its own.
func lines(text string, n int) []string {
	var out []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && width(line)+1+width(word) > n {
			out = append(out, line)
			line = ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	if line != "" {
		out = append(out, line)
	}
	return out
}

func (t *table) heads() []cell {
	var out []cell
	any := false
	for _, c := range t.columns {
		out = append(out, cell{c.head, faint})
		any = any || c.head != ""
	}
	if !any {
		return nil
	}
	return out
}

const gap = 2 // columns between two

func (t *table) widths(s Style) []int {
	widths := make([]int, len(t.columns))
	total := t.indent - gap
	for i, c := range t.columns {
		widths[i] = width(c.head)
		for _, r := range t.rows {
			if i < len(r) {
				widths[i] = max(widths[i], width(r[i].text))
			}
		}
		total += widths[i] + gap
	}
	if s.Width == 0 {
		return widths
	}
	for ; total > s.Width; total-- {
		i := t.widest(widths)
		if i < 0 {
			break
		}
		widths[i]--
	}
	return widths
}

// widest is the widest column that can still be cut, -1 when there is none.
func (t *table) widest(widths []int) int {
	at := -1
	for i, c := range t.columns {
		if c.least > 0 && widths[i] > c.least && (at < 0 || widths[i] >= widths[at]) {
			at = i
		}
	}
	return at
}

func (t *table) line(b *strings.Builder, s Style, widths []int, cells []cell) {
	var line strings.Builder
	line.WriteString(strings.Repeat(" ", t.indent))
	last := len(cells) - 1
	for last > 0 && cells[last].text == "" {
		last--
	}
	for i := 0; i <= last; i++ {
		text := cut(cells[i].text, widths[i])
		blank := strings.Repeat(" ", max(0, widths[i]-width(text)))
		switch {
		case t.columns[i].right:
			line.WriteString(blank + s.paint(cells[i].tone, text))
		case i == last:
			line.WriteString(s.paint(cells[i].tone, text))
		default:
			line.WriteString(s.paint(cells[i].tone, text) + blank)
		}
		if i < last {
			line.WriteString(strings.Repeat(" ", gap))
		}
	}
	b.WriteString(strings.TrimRight(line.String(), " "))
	b.WriteByte('\n')
}
