package definition_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/sluiceci/sluice/pkg/definition"
	"github.com/sluiceci/sluice/pkg/release"
)

// Example reads a definition and prints what a push to the release branch would run.
func Example() {
	def, err := definition.Parse("sluice.yaml", []byte(`
project: demo
builds:
  lock: {matrix: {python: ["3.12", "3.13"]}, run: make lock, outputs: {lock: lock.txt}}
  wheel: {needs: [lock], matrix: {python: ["3.12", "3.13"]}, run: "make wheel PYTHON={{ python }}"}
gate: {require: [builds]}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := definition.Resolve(def, definition.Request{Change: release.Change{Kind: release.Push, Branch: "master"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range p.Tasks {
		fmt.Println(t.ID, t.Needs, t.Run)
	}
	// Output:
	// lock-3_12 [] make lock
	// lock-3_13 [] make lock
	// wheel-3_12 [lock-3_12] make wheel PYTHON=3.12
	// wheel-3_13 [lock-3_13] make wheel PYTHON=3.13
}

// ExampleParse shows what a person reads when a key is misspelt.
func ExampleParse() {
	_, err := definition.Parse("sluice.yaml", []byte("project: demo\nbuilds:\n  wheel: {run: make, need: [lock]}\n"))
	fmt.Println(err.(definition.Errors)[0].Hint)
	// Output:
	// did you mean needs?
}

// TestPolyglotExample resolves the example that the demo releases.
func TestPolyglotExample(t *testing.T) {
	text, err := os.ReadFile("../../examples/polyglot/sluice.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p, err := resolve(string(text), push())
	if err != nil {
		t.Fatal(err)
	}
	holds(t, p)
	if len(p.Targets) != 4 || len(p.Gate.Tests) == 0 || len(p.Skipped) != 0 {
		t.Errorf("a push offers %d targets, requires %d tests, leaves out %v", len(p.Targets), len(p.Gate.Tests), p.Skipped)
	}
}
