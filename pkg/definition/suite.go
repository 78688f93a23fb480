package definition

import (
	"errors"
	"strings"

	"github.com/sluiceci/sluice/pkg/plan"
)

// suite is what a dialect read of the files of one include.
type suite struct {
	name    string
	at      Pos
	dialect string
	made    plan.Suite
	change  Job // needs, if, unless … of all its tasks
}

// Positioned is an error of a dialect that knows its place.
type Positioned interface {
	error
	Position() (file string, line, column int)
}

// suite reads the files of an include by its dialect.
func (l *loading) suite(def *Definition, s *source, in *Include, from where) {
	var files []string
	before := len(s.problems)
	for _, glob := range in.Files {
		files = append(files, l.files(s, glob.At, from, glob.Value)...)
	}
	if l.failed != nil || len(s.problems) > before {
		return
	}
	made, err := l.options.Dialects[in.dialect].Read(plan.Included{
		Files: files, Options: textMap(in.Options), Open: func(name string) ([]byte, error) { return l.open(s, in.At, from, name) },
	})
	switch {
	case l.failed != nil || len(s.problems) > before:
		return
	case err != nil:
		l.dialectProblems(s, in, from, err)
		return
	}
	if checked, ok := made.(plan.Checked); ok {
		if err := checked.Check(); err != nil {
			found := &source{text: s.text}
			l.dialectProblems(found, in, from, err)
			def.broken = append(def.broken, found.problems...)
		}
	}
	name := in.Name
	if name.Value == "" {
		name = Text{Value: in.dialect, At: in.At}
	}
	def.suites = append(def.suites, suite{name: name.Value, at: name.At, dialect: in.dialect, made: made, change: in.change})
}

// open is a file as a dialect asks for it. One that is not there is the dialect's to judge.
func (l *loading) open(s *source, at Pos, from where, name string) ([]byte, error) {
	if problem := unsafePath(name); problem != "" {
		return nil, errors.New(problem)
	}
	if l.options.Loader == nil {
		return nil, errors.New("there is nothing to read files from here")
	}
	probe := &source{text: s.text}
	text, ok := l.read(probe, at, from, name)
	if !ok && l.failed == nil && len(probe.problems) > 0 {
		return nil, &missing{probe.problems[0].Message}
	}
	if !ok {
		return nil, l.failed
	}
	return text, nil
}

// dialectProblems notes everything that a dialect found, at its places in the files that it read.
func (l *loading) dialectProblems(s *source, in *Include, from where, err error) {
	for _, one := range flatten(err) {
		var placed Positioned
		if !errors.As(one, &placed) {
			s.fail(in.At, "", "cannot include by %s: %s", in.dialect, shorten(printable(one.Error()), 1000))
			continue
		}
		file, line, column := placed.Position()
		var text *text
		if content, err := l.open(s, in.At, from, file); err == nil {
			text = newSource(from.name(file), string(content)).text
		} else {
			text = newSource(file, "").text
		}
		s.fail(Pos{line, max(1, column), text}, "", "%s", shorten(printable(placed.Error()), 1000))
	}
}

// flatten lists the errors that errors.Join put together.
func flatten(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error }) //nolint:errorlint // a join within a wrapped error is one error
	if !ok {
		return []error{err}
	}
	var out []error
	for _, one := range joined.Unwrap() {
		out = append(out, flatten(one)...)
	}
	return out
}

// suiteNames lists what the definition's suites are called.
func (def *Definition) suiteNames() []string {
	out := make([]string, len(def.suites))
	for i, s := range def.suites {
		out[i] = s.name
	}
	return out
}

// checkSuites checks what includes of dialects say beside their files.
func checkSuites(c *checker) {
	for i := range c.def.suites {
		s := &c.def.suites[i]
		if !jobName.MatchString(s.name) {
			c.fail(s.at, "", "expected a name of letters, digits, - and _, found %q", shorten(printable(s.name), 60))
		}
		if _, twice := c.jobs[s.name]; twice {
			c.fail(s.at, "give the include a name: of its own", "%q is a job already", strings.TrimSpace(s.name))
			continue
		}
		c.jobs[s.name], c.test[s.name] = &s.change, true
	}
}
