package pages

import (
	"bytes"
	"html/template"
	"strconv"
	"strings"
	"time"

	"github.com/sluiceci/sluice/services/reporter/live"
)

const (
	maxLogLines = 1000            // of a log on a page that is drawn
	logWithin   = 5 * time.Second // a page waits for a log
	maxPartial  = 64 << 10        // bytes of a line without an end that are kept
)

// lines cuts pieces of a log into lines as markup, and keeps the newest of them.
type lines struct {
	colours colours
	next    int64 // number of the line that is being read
	partial []byte
	kept    []logLine
	most    int
	newest  bool // keep the last lines, not the first
}

func newLines(from int64, most int, newest bool) *lines {
	return &lines{next: from, most: most, newest: newest}
}

func (l *lines) take(p live.Piece) error {
	if p.Line > l.next { // the stream forgot what was between
		l.next, l.partial = p.Line, nil
	}
	text := p.Text
	for {
		i := bytes.IndexByte(text, '\n')
		if i < 0 {
			l.partial = append(l.partial, text[:min(len(text), max(0, maxPartial-len(l.partial)))]...)
			return nil
		}
		l.keep(append(l.partial, text[:i]...))
		l.partial, text = l.partial[:0], text[i+1:]
	}
}

func (l *lines) keep(line []byte) {
	if !l.newest && len(l.kept) >= l.most {
		l.next++
		return
	}
	l.kept = append(l.kept, logLine{l.next, template.HTML(l.colours.line(returned(line)))}) //nolint:gosec // colours escapes
	l.next++
	if len(l.kept) > 2*l.most {
		l.kept = append([]logLine(nil), l.kept[len(l.kept)-l.most:]...)
	}
}

// returned is what stays visible of a line whose writer went back to its beginning, as progress bars do.
func returned(line []byte) string {
	text := strings.TrimRight(string(line), "\r")
	if i := strings.LastIndexByte(text, '\r'); i >= 0 {
		return text[i+1:]
	}
	return text
}

// finish returns the lines that were kept, and the number of the line to go on with. The last line of a log that has
// ended may have no end; of one that goes on it comes again whole.
func (l *lines) finish() ([]logLine, int64) {
	if len(l.partial) > 0 && !l.newest {
		l.keep(l.partial)
	}
	if len(l.kept) == 0 {
		return nil, l.next
	}
	kept := l.kept
	if l.newest {
		kept = kept[max(0, len(kept)-l.most):]
	}
	return kept, kept[len(kept)-1].Number + 1
}

// markup is lines as a page that follows has them: as little as a browser can draw ten thousand times a second. The
// page's script makes the numbers links.
func markup(list []logLine) string {
	var b strings.Builder
	for _, line := range list {
		n := strconv.FormatInt(line.Number, 10)
		b.WriteString(`<p id="L` + n + `" data-n="` + n + `">` + string(line.Text) + `</p>`)
	}
	return b.String()
}
