package show

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// Dot prints the graph of a plan in the language of Graphviz: builds are boxes, tests are ellipses, what the gate
// does not require is dashed.
func Dot(w io.Writer, p *plan.Plan) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "digraph %s {\n  rankdir=LR\n  node [fontname=\"sans-serif\"]\n", quote(p.Project))
	required := map[release.TaskID]bool{}
	for _, id := range p.Gate.Tests {
		required[id] = true
	}
	for _, t := range p.Tasks {
		shape, style := "box", "solid"
		if t.Kind == release.Test {
			shape = "ellipse"
			if !required[t.ID] {
				style = "dashed"
			}
		}
		fmt.Fprintf(b, "  %s [label=%s shape=%s style=%s]\n", quote(string(t.ID)), quote(t.Name+"\n"+t.Pool), shape, style)
	}
	for _, t := range p.Tasks {
		for _, need := range t.Needs {
			fmt.Fprintf(b, "  %s -> %s\n", quote(string(need)), quote(string(t.ID)))
		}
	}
	fmt.Fprintln(b, "}")
	return b.Flush()
}

// quote writes a string of dot, where only the quote and the backslash mean something.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}
