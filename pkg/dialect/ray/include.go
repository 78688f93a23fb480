package ray

import (
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/sluiceci/sluice/pkg/dialect/ray/wheels"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/plan"
)

// Include is what "include: [{ray: FILE, …}]" of a sluice.yaml stands for: the tests of a file, as tasks. Problems of the suite
// are a Problems error; warnings are one line each. Dialect does the same for the language itself.
func Include(files fs.FS, file string, options map[string]string) (tasks []plan.Task, skipped []plan.Skipped, warnings []string, err error) {
	in, err := include(files, []string{file}, options)
	if err != nil {
		return nil, nil, in.warnings(), err
	}
	got, err := in.Tasks(plan.Asked{})
	return got.Tasks, got.Skipped, got.Warnings, err
}

// Dialect lets a definition include Ray's release tests. The options are those of `sluice import ray`, with "_" for "-".
type Dialect struct{}

// Read implements plan.Dialect. Everything that is wrong with the files is told, before any change asks for their tests.
func (Dialect) Read(in plan.Included) (plan.Suite, error) {
	out, err := include(opener(in.Open), in.Files, in.Options)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// included is a suite that was read, and what its include asks of it.
type included struct {
	suite *Suite
	asking
	wheels *string // under test; nil: none are fetched
}

// asking is what the options of an include say.
type asking struct {
	request Request
	tasks   TaskOptions
	reading Options
}

// include reads files, as one suite, and the options.
func include(files fs.FS, names []string, options map[string]string) (*included, error) {
	in := &included{}
	o, err := includeOptions(options)
	if err != nil {
		return in, err
	}
	if spec, given := options["wheels"]; given {
		in.wheels = &spec
	}
	in.asking = o
	if in.suite, err = Import(files, names, in.reading); err != nil {
		return in, err
	}
	if in.tasks.Environment != "" {
		_, err = in.suite.ChooseEnvironment(in.tasks.Environment, nil)
	}
	return in, err
}

// Check implements plan.Checked: broken definitions cost their own tests, and a check of the definition names them.
func (in *included) Check() error { return in.suite.Problems.orNil() }

// Tasks implements plan.Suite. The frequency is that of whoever starts the run, such as a schedule, unless the include states
// one; so is the environment, where Ray has one of that name. Where nobody states a frequency, every test is meant but the manual ones.
func (in *included) Tasks(asked plan.Asked) (plan.Imported, error) {
	o := in.tasks
	if _, known := in.suite.Environments[asked.Environment]; known && o.Environment == "" {
		o.Environment = asked.Environment
	}
	out := plan.Imported{Warnings: in.warnings()}
	selection, empty, err := in.selected(asked)
	if err != nil {
		return plan.Imported{}, err
	}
	if out.Skipped = selection.Skipped; empty != nil {
		out.Warnings = append(out.Warnings, empty.Error())
		return out, in.never()
	}
	out.Warnings = append(out.Warnings, selection.WithoutEffect()...)
	if o.Wheels, err = in.found(asked); err != nil {
		return out, err
	}
	if o.Wheels != nil {
		out.Warnings = append(out.Warnings, o.Wheels.Warnings...)
	}
	fetched, err := WheelTasks(selection.Steps, o)
	if err != nil {
		return out, err
	}
	tests, err := in.suite.Tasks(selection.Steps, o)
	out.Tasks = slices.Concat(fetched, tests, brokenTasks(selection.Broken, o))
	return out, err
}

// selected are the tests for a change; that there are none is told beside them.
func (in *included) selected(asked plan.Asked) (selection *Selection, empty, err error) {
	r := in.request
	r.Jailed = asked.Jailed
	if text := asked.Change.Parameters["frequency"]; text != "" && r.Frequency == "" {
		f, smoke, err := ParseFrequency(text)
		if err != nil {
			return nil, nil, err
		}
		r.Frequency, r.PreferSmoke = f, r.PreferSmoke || smoke
	}
	r.NoManual = r.Frequency == ""
	if err := in.suite.knows(r.Frequency); err != nil {
		return nil, nil, err
	}
	selection, empty = in.suite.Select(r)
	return selection, empty, nil
}

// never is the error of an include that selects no test whatever is asked for. One that has none for this change has nothing to do;
// whether that may be, the gate says.
func (in *included) never() error {
	r := in.request
	r.Frequency = Any
	_, empty := in.suite.Select(r)
	return empty
}

func (in *included) warnings() []string { return in.suite.Told() }

// Told is everything to tell of a suite, one line each: what is broken, and what is remarked on.
func (s *Suite) Told() []string {
	if s == nil {
		return nil
	}
	out := make([]string, 0, len(s.Problems)+len(s.Warnings))
	for _, p := range slices.Concat(s.Problems, s.Warnings) {
		out = append(out, p.String())
	}
	return out
}

// includeOptions reads the options of an include; the table is the list of what there is.
func includeOptions(options map[string]string) (out asking, err error) {
	r, o := &out.request, &out.tasks
	table := map[string]func(value string) error{
		"frequency": func(v string) (err error) {
			smoke := false
			r.Frequency, smoke, err = ParseFrequency(v)
			r.PreferSmoke = r.PreferSmoke || smoke
			return err
		},
		"filter":     func(v string) (err error) { r.Filters, err = ParseFilters(v); return err },
		"smoke":      truthOption("smoke", &r.PreferSmoke),
		"unstable":   truthOption("unstable", &r.RunUnstable),
		"strict":     truthOption("strict", &out.reading.Strict),
		"generation": func(v string) (err error) { out.reading.Generation, err = ParseGeneration(v); return err },
		"jailed":     truthOption("jailed", &r.RunJailed),
		"no_kuberay": truthOption("no_kuberay", &r.NoKuberay),
		"env":        func(v string) error { o.Environment = v; return nil },
		"pool":       func(v string) error { o.Pool = v; return nil },
		"provider":   func(v string) error { o.Provider = v; return nil },
		"priority":   func(v string) (err error) { o.Priority, err = ParsePriority(v); return err },
		"backoff":    func(v string) (err error) { o.Backoff, err = ParseBackoff(v); return err },
		"wheels": func(v string) (err error) {
			if v != "" {
				_, err = wheels.Parse(v, wheels.CI{})
			}
			return err
		},
		"run_per_test": func(v string) (err error) { r.RunPerTest, err = ParseRunPerTest(v); return err },
	}
	names := make([]string, 0, len(table))
	for name := range table {
		names = append(names, name)
	}
	slices.Sort(names)
	for name := range options {
		if table[name] == nil {
			return out, fault.New(fault.Invalid, "cannot include Ray's tests with the option %.60q, expected one of %s", name, strings.Join(names, ", "))
		}
	}
	for _, name := range names { // in an order, so that the same options give the same error
		if value, given := options[name]; given {
			if err := table[name](value); err != nil {
				return out, err
			}
		}
	}
	return out, nil
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
