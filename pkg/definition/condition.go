//go:build cel

package definition

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
)

// The bounds of conditions: of one evaluation, and of all of a plan. The unit is CEL's, about one step.
const (
	maxConditionSize = 4096 // characters
	maxConditionCost = 10_000
	maxTotalCost     = 20_000_000
)

// conditions compiles and evaluates the CEL texts of a definition. One environment declares the keys of every
// matrix; that a condition reads only its own job's is checked against what it refers to.
type conditions struct {
	env      *cel.Env
	compiled map[string]*condition
	spent    uint64
}

// condition is a compiled text and the names that it reads.
type condition struct {
	program cel.Program
	reads   []string
	problem string
	offset  Pos // of the problem, within the text; from 0
}

// newConditions declares what conditions may read. Leaves of settings and fields of change are declared by their
// full names, so that a name that does not exist is found when the text is read and not when it is evaluated.
func newConditions(settings *Setting, matrixKeys []string) (*conditions, error) {
	options := []cel.EnvOption{
		cel.ParserRecursionLimit(50), cel.ParserExpressionSizeLimit(maxConditionSize),
		cel.Variable("env", cel.MapType(cel.StringType, cel.StringType)),
		cel.Variable("environment", cel.StringType),
		cel.Variable("change.parameters", cel.MapType(cel.StringType, cel.StringType)),
		cel.Variable("change.title", cel.StringType), cel.Variable("change.author", cel.StringType),
		cel.Variable("change.fork", cel.BoolType),
	}
	for _, name := range changeNames() {
		options = append(options, cel.Variable("change."+name, cel.StringType))
	}
	for _, name := range keysOf(shortForms()) {
		options = append(options, cel.Variable(name, cel.StringType))
	}
	for _, name := range matrixKeys {
		options = append(options, cel.Variable(name, cel.StringType), cel.Variable("matrix."+name, cel.StringType))
	}
	walkSettings("settings", settings, func(path string, _ *Setting) {
		if celName(path) {
			options = append(options, cel.Variable(path, cel.DynType))
		}
	})
	env, err := cel.NewEnv(options...)
	if err != nil {
		return nil, fmt.Errorf("cannot set up conditions: %w", err)
	}
	return &conditions{env: env, compiled: map[string]*condition{}}, nil
}

// compile reads a text once, however many jobs share it.
func (c *conditions) compile(text string) *condition {
	if known, ok := c.compiled[text]; ok {
		return known
	}
	made := c.build(text)
	c.compiled[text] = made
	return made
}

func (c *conditions) build(text string) *condition {
	ast, issues := c.env.Compile(text)
	if issues != nil && len(issues.Errors()) > 0 {
		first := issues.Errors()[0]
		return &condition{
			problem: strings.ReplaceAll(first.Message, " (in container '')", ""),
			offset:  Pos{Line: first.Location.Line() - 1, Column: max(0, first.Location.Column())},
		}
	}
	if t := ast.OutputType(); t != cel.BoolType && t != cel.DynType {
		return &condition{problem: fmt.Sprintf("the condition gives %s, expected true or false", t)}
	}
	program, err := c.env.Program(ast, cel.CostLimit(maxConditionCost), cel.EvalOptions(cel.OptTrackCost))
	if err != nil {
		return &condition{problem: err.Error()}
	}
	made := &condition{program: program}
	for _, ref := range ast.NativeRep().ReferenceMap() {
		if ref.Name != "" {
			made.reads = append(made.reads, ref.Name)
		}
	}
	return made
}

// eval answers a condition for one set of values.
func (c *conditions) eval(cond *condition, values map[string]any) (bool, error) {
	if c.spent > maxTotalCost {
		return false, fmt.Errorf("the conditions of the definition cost too much together")
	}
	out, details, err := cond.program.Eval(values)
	if details != nil && details.ActualCost() != nil {
		c.spent += *details.ActualCost()
	}
	if err != nil {
		return false, err
	}
	answer, ok := out.Value().(bool)
	if !ok {
		return false, fmt.Errorf("the condition gives %v, expected true or false", out.Type())
	}
	return answer, nil
}
