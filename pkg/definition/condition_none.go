//go:build !cel

package definition

import "fmt"

// conditions of a build without CEL: every condition is a problem. See condition.go.
type conditions struct{ names []string }

type condition struct {
	reads   []string
	problem string
	offset  Pos
}

func newConditions(*Setting, []string) *conditions { return &conditions{} }

func (c *conditions) compile(string) *condition {
	return &condition{problem: "this build has no CEL: build it with -tags cel"}
}

func (c *condition) unknown(string) string { return "" }

func (c *conditions) eval(cond *condition, _ map[string]any) (bool, error) {
	return false, fmt.Errorf("%s", cond.problem)
}
