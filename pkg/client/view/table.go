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
	least int // columns that it can be cut down to when the table is too wide; 0 is never cut
}

// table lays rows out in columns.
type table struct {
	columns []column
	rows    [][]cell
	indent  int
}

func (t *table) row(cells ...cell) { t.rows = append(t.rows, cells) }

// write prints the table. A table that is too wide loses text from its last flexible column first.
func (t *table) write(w io.Writer, s Style) error {
	widths := t.widths(s)
	var b strings.Builder
	if head := t.heads(); head != nil {
		t.line(&b, s, widths, head)
	}
	for _, r := range t.rows {
		t.line(&b, s, widths, r)
	}
	_, err := io.WriteString(w, b.String())
	return err
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
	for i := len(widths) - 1; i >= 0 && total > s.Width; i-- {
		if least := t.columns[i].least; least > 0 && widths[i] > least {
			less := min(widths[i]-least, total-s.Width)
			widths[i] -= less
			total -= less
		}
	}
	return widths
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
