package executor

import (
	"bytes"
	"strconv"
	"sync"

	"github.com/sluiceci/sluice/pkg/mask"
)

// maxNodeLine is how much of a line of a node waits for its end, in bytes.
const maxNodeLine = 16 << 10

// nodeLog takes the output of one node into the attempt's log, whole lines at a time and each with the node before it, so
// that several nodes can be told apart. Secrets are masked before, since a line of another node may cut one.
type nodeLog struct {
	to     *output
	prefix string
	lines  *sync.Mutex // of all nodes of an attempt
	held   []byte
	masked *mask.Writer
}

func (o *output) node(index int, lines *sync.Mutex) *nodeLog {
	n := &nodeLog{to: o, prefix: "[" + strconv.Itoa(index) + "] ", lines: lines}
	n.masked = o.masker.NewWriter(lineWriter{n})
	return n
}

// Write implements io.Writer; a driver never calls it twice at once.
func (n *nodeLog) Write(p []byte) (int, error) { return n.masked.Write(p) }

// flush writes what is held of a last line that has no end.
func (n *nodeLog) flush() {
	_ = n.masked.Flush() // the log takes everything
	if len(n.held) > 0 {
		n.put(append(n.held, '\n'))
		n.held = n.held[:0]
	}
}

// lineWriter cuts masked text into lines.
type lineWriter struct{ n *nodeLog }

func (w lineWriter) Write(p []byte) (int, error) {
	n := w.n
	for rest := p; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte{'\n'})
		take := min(len(line), maxNodeLine-len(n.held))
		n.held = append(n.held, line[:take]...)
		switch {
		case take < len(line):
			n.put(append(n.held, '\n'))
			n.held = n.held[:0]
			rest = rest[take:]
			continue
		case ended:
			n.put(append(n.held, '\n'))
			n.held = n.held[:0]
		}
		rest = after
	}
	return len(p), nil
}

func (n *nodeLog) put(line []byte) {
	n.lines.Lock()
	defer n.lines.Unlock()
	_, _ = n.to.Write(append([]byte(n.prefix), line...)) // the log takes everything
}
