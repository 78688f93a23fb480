package logs

import (
	"bytes"
	"unicode/utf8"
)

// cleaner makes text valid UTF-8, byte by byte: how the text is cut into writes makes no difference.
type cleaner struct {
	held [utf8.UTFMax]byte // the beginning of a character whose rest is still to come
	n    int
	out  []byte
}

// valid returns what can be said so far. The result is good until the next call.
func (c *cleaner) valid(p []byte) []byte {
	if c.n == 0 && utf8.Valid(p) {
		return p
	}
	if c.n > 0 {
		p = append(c.held[:c.n:c.n], p...)
		c.n = 0
	}
	c.out = c.out[:0]
	for len(p) > 0 {
		if !utf8.FullRune(p) {
			c.n = copy(c.held[:], p)
			break
		}
		r, size := utf8.DecodeRune(p)
		c.out = utf8.AppendRune(c.out, r) // RuneError for one byte that is none.
		p = p[size:]
	}
	return c.out
}

// rest returns what was held back for a character that never came.
func (c *cleaner) rest() []byte {
	text := bytes.Repeat([]byte(string(utf8.RuneError)), c.n)
	c.n = 0
	return text
}

// whole is the largest length up to n at which text can be cut between two characters.
func whole(text []byte, n int) int {
	for n > 0 && n < len(text) && !utf8.RuneStart(text[n]) {
		n--
	}
	return n
}

// maxLine is how much of a line is kept for the tail, in bytes.
const maxLine = 2 << 10

// tail keeps the last lines of a text.
type tail struct {
	limit int
	ring  [][]byte // the last whole lines; at holds the place of the oldest once it is full
	at    int
	total int64
	open  []byte // the line that has not ended, cut to maxLine
	begun bool
	cut   bool
}

func (t *tail) add(text []byte) {
	for len(text) > 0 {
		line, rest, ended := bytes.Cut(text, newline)
		t.begun = true
		t.keep(line)
		if ended {
			t.end()
		}
		text = rest
	}
}

// keep adds to the open line until that is long enough.
func (t *tail) keep(text []byte) {
	if t.cut {
		return
	}
	n := whole(text, min(len(text), maxLine-len(t.open)))
	t.cut = n < len(text)
	t.open = append(t.open, text[:n]...)
}

// end puts the open line into the ring and takes the place of the oldest for the next one.
func (t *tail) end() {
	t.total++
	t.begun, t.cut = false, false
	if len(t.ring) < t.limit {
		t.ring = append(t.ring, t.open)
		t.open = nil
		return
	}
	t.open, t.ring[t.at] = t.ring[t.at][:0], t.open
	t.at = (t.at + 1) % t.limit
}

func (t *tail) count() int64 {
	if t.begun {
		return t.total + 1
	}
	return t.total
}

func (t *tail) lines() []string {
	list := make([]string, 0, len(t.ring)+1)
	for i := range t.ring {
		list = append(list, string(bytes.TrimSuffix(t.ring[(t.at+i)%len(t.ring)], []byte("\r"))))
	}
	if t.begun {
		list = append(list, string(t.open))
	}
	return list[max(0, len(list)-t.limit):]
}
