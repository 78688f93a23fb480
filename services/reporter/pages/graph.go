package pages

import (
	"cmp"
	"fmt"
	"html"
	"html/template"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/services/reporter/readmodel"
	"github.com/sluiceci/sluice/services/reporter/view"
)

// maxNodes is how many tasks are drawn one by one; of more, each job is one node.
const maxNodes = 36

// node is a task, or a job, in the drawing.
type node struct {
	id    string
	label string
	note  string // "8 of 8"
	href  string
	look  look
	needs []*node
	layer int
	row   int
	x     int
	width int
	at    float64 // where its needs are, to keep edges short
	seen  bool
}

// drawGraph draws what needs what, in layers from the left.
func drawGraph(d *view.Detail) template.HTML {
	nodes := taskNodes(d)
	if len(nodes) > maxNodes {
		nodes = jobNodes(d)
	}
	if len(nodes) == 0 || len(nodes) > 4*maxNodes {
		return ""
	}
	layers := layered(nodes)
	return template.HTML(drawLayers(layers)) //nolint:gosec // every text is escaped
}

func taskNodes(d *view.Detail) []*node {
	byID := map[release.TaskID]*node{}
	var out []*node
	for _, t := range d.Tasks {
		n := &node{id: string(t.ID), label: cmp.Or(t.Name, string(t.ID)), href: taskPath(d.Run.ID, t.ID), look: taskLook(t)}
		byID[t.ID] = n
		out = append(out, n)
	}
	for i, t := range d.Tasks {
		for _, need := range t.Needs {
			if other := byID[need]; other != nil && other != out[i] {
				out[i].needs = append(out[i].needs, other)
			}
		}
	}
	return out
}

// jobNodes makes one node of the tasks of each job; its state is the worst of theirs.
func jobNodes(d *view.Detail) []*node {
	byJob, jobOf, counts := map[string]*node{}, map[release.TaskID]*node{}, map[*node]readmodel.Counts{}
	var out []*node
	for _, t := range d.Tasks {
		job := cmp.Or(t.Job, string(t.ID))
		n := byJob[job]
		if n == nil {
			n = &node{id: job, label: job, href: "#tasks"}
			byJob[job], counts[n] = n, readmodel.Counts{}
			out = append(out, n)
		}
		jobOf[t.ID] = n
		counts[n][t.State]++
	}
	for _, t := range d.Tasks {
		n := jobOf[t.ID]
		for _, need := range t.Needs {
			if other := jobOf[need]; other != nil && other != n && !slices.Contains(n.needs, other) {
				n.needs = append(n.needs, other)
			}
		}
	}
	for n, c := range counts {
		n.look = lookOf(worst(c))
		n.note = fmt.Sprintf("%d of %d", c.Of(string(release.Success)), c.Total())
	}
	return out
}

// worst is the state that says most about a group.
func worst(c readmodel.Counts) string {
	for _, s := range []string{
		string(release.Failure), string(release.Error), readmodel.TaskSkipped, string(release.Cancelled), readmodel.TaskDelayed,
		readmodel.TaskRunning, readmodel.TaskQueued, readmodel.TaskWaiting, readmodel.TaskPlanned,
	} {
		if c[s] > 0 {
			return s
		}
	}
	return string(release.Success)
}

// layered puts each node one layer behind what it needs, and orders each layer by where that is.
func layered(nodes []*node) [][]*node {
	deepest := 0
	for _, n := range nodes {
		deepest = max(deepest, n.depth(len(nodes)))
	}
	layers := make([][]*node, deepest+1)
	for _, n := range nodes {
		layers[n.layer] = append(layers[n.layer], n)
	}
	for i, layer := range layers {
		for row, n := range layer {
			n.at = float64(row)
			if i > 0 {
				n.at = n.middle()
			}
		}
		if i > 0 {
			slices.SortStableFunc(layer, func(a, b *node) int { return cmp.Compare(a.at, b.at) })
		}
		for row, n := range layer {
			n.row = row
		}
	}
	return layers
}

// depth is the longest way to a node. A cycle cannot be in a plan; in what strangers say it ends after as many steps as
// there are nodes.
func (n *node) depth(left int) int {
	if n.seen || left == 0 {
		return n.layer
	}
	n.seen = true
	for _, need := range n.needs {
		n.layer = max(n.layer, need.depth(left-1)+1)
	}
	return n.layer
}

// direct are the needs that no other need has already: the others follow, and their lines would only hide these.
func (n *node) direct() []*node {
	implied := map[*node]bool{}
	for _, need := range n.needs {
		for _, further := range need.needs {
			further.reach(implied, n.layer)
		}
	}
	return slices.DeleteFunc(slices.Clone(n.needs), func(need *node) bool { return implied[need] })
}

// reach notes a node and all that it needs. Needs stand in earlier layers, so a cycle ends where a layer is not earlier.
func (n *node) reach(into map[*node]bool, before int) {
	if into[n] || n.layer >= before {
		return
	}
	into[n] = true
	for _, need := range n.needs {
		need.reach(into, n.layer)
	}
}

func (n *node) middle() float64 {
	if len(n.needs) == 0 {
		return n.at
	}
	sum := 0.0
	for _, need := range n.needs {
		sum += float64(need.row)
	}
	return sum / float64(len(n.needs))
}

// Sizes of the drawing.
const (
	nodeHeight = 28
	gapX       = 48
	gapY       = 8
	maxLabel   = 27   // characters
	charWidth  = 6.8  // of a character, about
	padding    = 40   // of a node beside its text
	maxShrunk  = 1050 // wider drawings scroll
)

func (n *node) y() int { return n.row * (nodeHeight + gapY) }

// place gives each layer the width of its longest label, and returns the width of all.
func place(layers [][]*node) int {
	x := 0
	for _, layer := range layers {
		width := 0
		for _, n := range layer {
			chars := min(utf8.RuneCountInString(n.label), maxLabel) + utf8.RuneCountInString(n.note)
			width = max(width, padding+int(charWidth*float64(min(chars, maxLabel))))
		}
		for _, n := range layer {
			n.x, n.width = x, width
		}
		x += width + gapX
	}
	return x - gapX
}

func drawLayers(layers [][]*node) string {
	rows := 0
	for _, layer := range layers {
		rows = max(rows, len(layer))
	}
	width, height := place(layers), rows*(nodeHeight+gapY)-gapY
	var b strings.Builder
	class := "graph"
	if width > maxShrunk {
		class += " large" // it would shrink to what nobody can read: it scrolls instead
	}
	fmt.Fprintf(&b, `<svg class="%s" viewBox="-1 -1 %d %d" width="%d" height="%d" role="group" aria-label="what needs what">`, class, width+2, height+2, width+2, height+2)
	for _, layer := range layers {
		for _, n := range layer {
			for _, need := range n.direct() {
				drawEdge(&b, need, n)
			}
		}
	}
	for _, layer := range layers {
		for _, n := range layer {
			n.draw(&b)
		}
	}
	b.WriteString("</svg>")
	return b.String()
}

func drawEdge(b *strings.Builder, from, to *node) {
	x1, y1 := from.x+from.width, from.y()+nodeHeight/2
	x2, y2 := to.x, to.y()+nodeHeight/2
	bend := max((x2-x1)/2, 24)
	fmt.Fprintf(b, `<path class="edge %s" d="M%d %dC%d %d %d %d %d %d"/>`, from.look.Tone, x1, y1, x1+bend, y1, x2-bend, y2, x2, y2)
}

func (n *node) draw(b *strings.Builder) {
	text := html.EscapeString
	fmt.Fprintf(b, `<a href="%s" class="node %s"><title>%s: %s</title>`, text(n.href), n.look.Tone, text(n.label), text(n.look.Word))
	fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" rx="5"/>`, n.x, n.y(), n.width, nodeHeight)
	fmt.Fprintf(b, `<svg class="i" x="%d" y="%d" width="14" height="14" viewBox="0 0 16 16">%s</svg>`, n.x+8, n.y()+7, shapes()[n.look.Shape])
	room := maxLabel
	if n.note != "" {
		room -= utf8.RuneCountInString(n.note) + 1
		fmt.Fprintf(b, `<text class="note" x="%d" y="%d" text-anchor="end">%s</text>`, n.x+n.width-9, n.y()+18, text(n.note))
	}
	fmt.Fprintf(b, `<text x="%d" y="%d">%s</text></a>`, n.x+29, n.y()+18, text(clip(n.label, room)))
}

// clip shortens a text in its middle, where the parts of a matrix differ least.
func clip(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if control(r) {
			return -1
		}
		return r
	}, s)
	runes := []rune(s)
	if len(runes) <= n {
		return s
	}
	head := (n - 1) / 2
	return string(runes[:head]) + "…" + string(runes[len(runes)-(n-1-head):])
}
