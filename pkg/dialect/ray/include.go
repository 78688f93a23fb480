package ray

import (
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/plan"
)

// Include is what "include: [{ray: FILE, …}]" of a sluice.yaml stands for: the tests of a file, as tasks. The options are
// those of `sluice import ray`, with "_" for "-": frequency, filter (lines of attr:regex), smoke, unstable, jailed, no_kuberay,
// env, run_per_test, pool, provider, priority. Problems of the suite are a Problems error; warnings are one line each.
func Include(files fs.FS, file string, options map[string]string) (tasks []plan.Task, skipped []plan.Skipped, warnings []string, err error) {
	r, o, err := includeOptions(options)
	if err != nil {
		return nil, nil, nil, err
	}
	suite, err := Import(files, []string{file}, Options{})
	if err != nil {
		return nil, nil, suite.warningTexts(), err
	}
	selection, err := suite.Select(r)
	if err != nil {
		return nil, selection.Skipped, suite.warningTexts(), err
	}
	tasks, err = suite.Tasks(selection.Steps, o)
	return tasks, selection.Skipped, suite.warningTexts(), err
}

func (s *Suite) warningTexts() []string {
	if s == nil {
		return nil
	}
	out := make([]string, len(s.Warnings))
	for i, w := range s.Warnings {
		out[i] = w.String()
	}
	return out
}

// includeOptions reads the options of an include; the table is the list of what there is.
func includeOptions(options map[string]string) (r Request, o TaskOptions, err error) {
	table := map[string]func(value string) error{
		"frequency": func(v string) (err error) {
			smoke := false
			r.Frequency, smoke, err = ParseFrequency(v)
			r.PreferSmoke = r.PreferSmoke || smoke
			return err
		},
		"filter":       func(v string) (err error) { r.Filters, err = ParseFilters(v, Generation2025); return err },
		"smoke":        truthOption("smoke", &r.PreferSmoke),
		"unstable":     truthOption("unstable", &r.RunUnstable),
		"jailed":       truthOption("jailed", &r.RunJailed),
		"no_kuberay":   truthOption("no_kuberay", &r.NoKuberay),
		"env":          func(v string) error { o.Environment = v; return nil },
		"pool":         func(v string) error { o.Pool = v; return nil },
		"provider":     func(v string) error { o.Provider = v; return nil },
		"priority":     func(v string) (err error) { o.Priority, err = ParsePriority(v); return err },
		"run_per_test": func(v string) (err error) { r.RunPerTest, err = ParseRunPerTest(v); return err },
	}
	names := make([]string, 0, len(table))
	for name := range table {
		names = append(names, name)
	}
	slices.Sort(names)
	for name := range options {
		if table[name] == nil {
			return r, o, fault.New(fault.Invalid, "cannot include Ray's tests with the option %.60q, expected one of %s", name, strings.Join(names, ", "))
		}
	}
	for _, name := range names { // in an order, so that the same options give the same error
		if value, given := options[name]; given {
			if err := table[name](value); err != nil {
				return r, o, err
			}
		}
	}
	return r, o, nil
}

func truthOption(name string, to *bool) func(string) error {
	return func(v string) (err error) {
		if *to, err = strconv.ParseBool(v); err != nil {
			return fault.New(fault.Invalid, "cannot include Ray's tests with %s: %.60q, expected true or false", name, v)
		}
		return nil
	}
}

const maxRunPerTest = 100

// ParseRunPerTest reads how often each test is to run at least.
func ParseRunPerTest(v string) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(v))
	if err != nil || n < 0 || n > maxRunPerTest {
		return 0, fault.New(fault.Invalid, "cannot run each test %.20q times, expected a number from 0 to %d", v, maxRunPerTest)
	}
	return n, nil
}
