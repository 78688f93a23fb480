package definition

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
)

// conditions compiles and evaluates the CEL texts of a definition. One environment, made when the first condition
// is met, declares the keys of every matrix; that a condition reads only its own job's is checked against what it
// refers to.
type conditions struct {
	settings *Setting
	matrix   []string
	env      *cel.Env
	names    []string // that conditions know
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

func newConditions(settings *Setting, matrixKeys []string) *conditions {
	return &conditions{settings: settings, matrix: matrixKeys, compiled: map[string]*condition{}}
}

// prepare declares what conditions may read. Leaves of settings and fields of change are declared by their full
// names, so that a name that does not exist is found when the text is read and not when it is evaluated.
func (c *conditions) prepare() error {
	if c.env != nil {
		return nil
	}
	options := []cel.EnvOption{cel.ParserRecursionLimit(50), cel.ParserExpressionSizeLimit(maxConditionSize)}
	declare := func(name string, t *cel.Type) {
		c.names = append(c.names, name)
		options = append(options, cel.Variable(name, t))
	}
	declare("env", cel.MapType(cel.StringType, cel.StringType))
	declare("environment", cel.StringType)
	declare("change.parameters", cel.MapType(cel.StringType, cel.StringType))
	declare("change.title", cel.StringType)
	declare("change.author", cel.StringType)
	declare("change.fork", cel.BoolType)
	for _, name := range prefixed("change.", changeNames()) {
		declare(name, cel.StringType)
	}
	for _, name := range keysOf(shortForms()) {
		declare(name, cel.StringType)
	}
	for _, name := range c.matrix {
		declare(name, cel.StringType)
		declare("matrix."+name, cel.StringType)
	}
	celSettings("settings", c.settings, func(path string, _ *Setting) { declare(path, cel.DynType) })
	if len(c.names) > maxNames {
		return fmt.Errorf("settings and matrices have more than %d names together", maxNames)
	}
	env, err := cel.NewEnv(options...)
	if err != nil {
		return fmt.Errorf("cannot set up conditions: %w", err)
	}
	c.env = env
	return nil
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
	if len(c.compiled) >= maxConditions {
		return &condition{problem: fmt.Sprintf("the definition has more than %d different conditions", maxConditions)}
	}
	if err := c.prepare(); err != nil {
		return &condition{problem: err.Error()}
	}
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

// unknown is the dotted name that a condition reads and that does not exist, or "" when something else is wrong.
func (c *condition) unknown(text string) string {
	if !strings.HasPrefix(c.problem, "undeclared reference") {
		return ""
	}
	lines := strings.Split(text, "\n")
	if c.offset.Line < 0 || c.offset.Line >= len(lines) {
		return ""
	}
	line := lines[c.offset.Line]
	return dottedName.FindString(line[byteOffset(line, c.offset.Column):])
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

// partial answers a condition of which only some values are known; known is false when the others decide.
func (c *conditions) partial(text string, values map[string]any) (answer, known bool) {
	if err := c.prepare(); err != nil {
		return false, false
	}
	ast, issues := c.env.Compile(text)
	if issues != nil && issues.Err() != nil || c.spent > maxTotalCost {
		return false, false
	}
	var unknown []*cel.AttributePatternType
	for _, name := range c.names {
		if _, given := values[name]; !given {
			unknown = append(unknown, cel.AttributePattern(name))
		}
	}
	program, err := c.env.Program(ast, cel.EvalOptions(cel.OptPartialEval, cel.OptTrackCost), cel.CostLimit(maxConditionCost))
	if err != nil {
		return false, false
	}
	vars, err := cel.PartialVars(values, unknown...)
	if err != nil {
		return false, false
	}
	out, details, err := program.Eval(vars)
	if details != nil && details.ActualCost() != nil {
		c.spent += *details.ActualCost()
	}
	if err != nil {
		return false, false
	}
	answer, known = out.Value().(bool)
	return answer, known
}
