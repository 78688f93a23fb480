package definition_test

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/sluiceci/sluice/pkg/definition"
	"github.com/sluiceci/sluice/pkg/definition/tree"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// lines is a dialect for tests: a test a line, "NAME", "NAME gpu", "NAME - NEEDED". The option only is a glob of names.
type lines struct{}

type suite struct {
	tasks []plan.Task
	only  string
}

type placed struct {
	file    string
	line    int
	message string
}

func (p placed) Error() string                { return p.message }
func (p placed) Position() (string, int, int) { return p.file, p.line, 1 }
func (s *suite) fits(name string) (matches bool) {
	matches, _ = path.Match(s.only, name)
	return matches
}

// Read implements plan.Dialect.
func (lines) Read(in plan.Included) (plan.Suite, error) {
	s := &suite{only: "*"}
	if only := in.Options["only"]; only != "" {
		s.only = only
	}
	var wrong []error
	for _, file := range in.Files {
		text, err := in.Open(file)
		if err != nil {
			return nil, fmt.Errorf("cannot read the lines: %w", err)
		}
		for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
			words := strings.Fields(line)
			if words[0] == "!" || words[len(words)-1] == "?" {
				wrong = append(wrong, placed{file, i + 1, "expected the name of a test, found " + line})
				continue
			}
			task := plan.Task{
				ID: release.TaskID(words[0]), Name: words[0], Run: "run " + words[0], Stable: true, Matrix: map[string]string{"name": words[0]},
			}
			if len(words) > 1 && words[1] == "gpu" {
				task.Why = "line " + fmt.Sprint(i+1) + " wants it"
				task.Resources = map[string]float64{"gpu": 1}
			}
			for _, need := range words[min(2, len(words)):] {
				task.Needs = append(task.Needs, release.TaskID(need))
			}
			s.tasks = append(s.tasks, task)
		}
	}
	return s, errors.Join(wrong...)
}

// Tasks implements plan.Suite.
func (s *suite) Tasks(plan.Asked) (out plan.Imported, err error) {
	for _, t := range s.tasks {
		if s.fits(t.Name) {
			out.Tasks = append(out.Tasks, t)
		} else {
			out.Skipped = append(out.Skipped, plan.Skipped{Name: t.Name, Why: "only " + s.only})
		}
	}
	return out, nil
}

// options are what definitions of testdata may use.
func options() definition.Options {
	return definition.Options{
		Loader: tree.Dir{Root: "testdata"}, Dialects: map[string]plan.Dialect{"lines": lines{}},
		Targets: map[string][]definition.TargetOption{"maven": {{Name: "group"}, {Name: "version"}, {Name: "artifact"}}},
	}
}
