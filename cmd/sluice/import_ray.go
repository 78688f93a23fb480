package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluiceci/sluice/pkg/client"
	"github.com/sluiceci/sluice/pkg/dialect/ray"
	"github.com/sluiceci/sluice/pkg/dialect/ray/wheels"
	"github.com/sluiceci/sluice/pkg/files"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/wheelfind"
)

// importRay are the flags of `sluice import ray`.
type importRay struct {
	frequency, priority, root, instances, generation, format string
	tests                                                    string
	filters                                                  []string
	smoke, fromEnv, strict                                   bool
	runPerTest                                               int
	wheels                                                   string
	wanted                                                   bool // wheels are: "" is those of the CI's commit
	where                                                    wheelsWhere
	request                                                  ray.Request
	tasks                                                    ray.TaskOptions
}

func importRayCommand() *cobra.Command {
	var o importRay
	c := &cobra.Command{
		Use:   "ray FILE..",
		Short: "Show Ray's release tests as a plan",
		Long: "Read files of Ray's release tests, with the compute files and environments that they name, and print the tasks\n" +
			"that a run of them has: which are selected, in which concurrency group, and which are left out and why. What\n" +
			"nothing here knows is a warning with its place. A broken definition costs its own tests: they are left out with\n" +
			"the reason. With --strict, all that Ray's own validation refuses is told instead of the tasks, and the exit code\n" +
			"is 1, as it is when a file is no test file, or no test is selected. Nothing is read outside of --root.",
		Args: arguments(cobra.MinimumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if asJSON(c) {
				o.format = "json"
			}
			return inTime(func() error { return o.run(c, args) })
		},
	}
	f := c.Flags()
	f.StringVar(&o.frequency, "frequency", "any", "any, any-smoke, manual, nightly, weekly or another of the suite; any is every test")
	f.StringArrayVar(&o.filters, "filter", nil, "only tests that match `attribute:regex`, as in the suite's own tooling (repeatable)")
	f.BoolVar(&o.smoke, "smoke", false, "run the smoke test of a test that has one")
	f.BoolVar(&o.request.RunUnstable, "unstable", false, "include unstable tests")
	f.StringVar(&o.tests, "tests", "", "leave out tests that are jailed in this `file`, the output of sluice tests --json")
	f.BoolVar(&o.request.RunJailed, "jailed", false, "include jailed tests")
	f.BoolVar(&o.strict, "strict", false, "refuse what Ray's own validation refuses")
	f.BoolVar(&o.request.NoKuberay, "no-kuberay", false, "leave out the tests that run on Kubernetes")
	f.IntVar(&o.runPerTest, "run-per-test", 0, "run each test at least so often")
	f.StringVar(&o.tasks.Environment, "env", "", "use this environment for every test")
	f.StringVar(&o.priority, "priority", "default", "default, manual, high or highest")
	f.BoolVar(&o.tasks.NoLimits, "no-concurrency-limit", false, "ignore concurrency groups")
	f.StringVar(&o.tasks.Pool, "pool", "default", "pool of every task")
	f.StringVar(&o.tasks.Provider, "provider", "", "provider of clusters that every task leases one of")
	f.StringVar(&o.wheels, "wheels", "", "the wheels under test, which tasks before the tests fetch: as `SPEC` of sluice ray wheels; \"\" is the CI's commit (default: none are fetched)")
	o.where.flags(c)
	f.StringVar(&o.root, "root", "", "the repository's `directory` (default: the nearest above the first FILE that has .git, else the one above FILE's)")
	f.StringVar(&o.instances, "instances", "", "`file` of instance types instead of the built-in table: lines of type,cpus,gpus")
	f.StringVar(&o.generation, "generation", "", "of Ray's tooling: 2023, 2024, 2025 or 2026 (default: the suite's own)")
	f.BoolVar(&o.fromEnv, "from-env", false, "take settings that no flag gives from Ray's variables: RELEASE_FREQUENCY, TEST_FILTERS, …")
	f.StringVar(&o.format, "format", "table", "table, json, dot or gitlab")
	return c
}

func (o *importRay) run(c *cobra.Command, names []string) error {
	if err := o.check(c); err != nil {
		return exitWith(64, err)
	}
	options, err := o.options()
	if err != nil {
		return exitWith(1, err)
	}
	if o.request.Jailed, err = jailedIn(o.tests); err != nil {
		return exitWith(1, err)
	}
	root, names, err := o.files(names)
	if err != nil {
		return exitWith(64, err)
	}
	defer func() { _ = root.Close() }()
	suite, err := ray.Import(files.FS(root), names, options)
	if err != nil {
		return o.refused(c.OutOrStdout(), err)
	}
	return o.show(c, suite)
}

// check reads the flags, and with --from-env the variables, before anything else is read.
func (o *importRay) check(c *cobra.Command) error {
	if !slices.Contains(importFormats(), o.format) {
		return fmt.Errorf("cannot print the format %q, expected one of %s", o.format, strings.Join(importFormats(), ", "))
	}
	if _, err := ray.ParseGeneration(o.generation); err != nil {
		return err
	}
	if err := o.where.read(); err != nil {
		return err
	}
	if err := o.flags(); err != nil {
		return err
	}
	if o.wanted = c.Flags().Changed("wheels"); o.fromEnv {
		return o.variables(c)
	}
	return nil
}

func (o *importRay) flags() (err error) {
	smoke := false
	if o.request.Frequency, smoke, err = ray.ParseFrequency(o.frequency); err != nil {
		return err
	}
	o.request.PreferSmoke = o.smoke || smoke
	if o.request.Filters, err = ray.NewFilters(o.filters); err != nil {
		return err
	}
	if o.tasks.Priority, err = ray.ParsePriority(o.priority); err != nil {
		return err
	}
	o.request.RunPerTest, err = ray.ParseRunPerTest(fmt.Sprint(o.runPerTest))
	return err
}

// variables fills in what no flag gives.
func (o *importRay) variables(c *cobra.Command) error {
	s, err := ray.ReadSettings(variablesOfProcess(), nil)
	if err != nil {
		return err
	}
	given := c.Flags().Changed
	if !given("frequency") {
		o.request.Frequency = s.Frequency
	}
	if !given("frequency") && !given("smoke") {
		o.request.PreferSmoke = s.PreferSmoke
	}
	if !given("filter") {
		o.request.Filters = s.Filters
	}
	if !given("priority") {
		o.tasks.Priority = s.Priority
	}
	if !given("wheels") && s.Wheels != "" {
		o.wheels, o.wanted = s.Wheels, true
	}
	if !given("no-concurrency-limit") {
		o.tasks.NoLimits = s.NoConcurrencyLimit
	}
	return nil
}

// variablesOfProcess is this process's, as a map.
func variablesOfProcess() map[string]string {
	out := map[string]string{}
	for _, one := range os.Environ() {
		name, value, _ := strings.Cut(one, "=")
		out[name] = value
	}
	return out
}

// options are what the import itself needs. Of the process's environment only what Ray's files are meant to see gets in: no
// secret of this shell may end in a plan.
func (o *importRay) options() (ray.Options, error) {
	generation, err := ray.ParseGeneration(o.generation)
	if err != nil {
		return ray.Options{}, err
	}
	out := ray.Options{Generation: generation, Strict: o.strict, Now: time.Now().UTC(), Env: map[string]string{}}
	for name, value := range variablesOfProcess() {
		for _, prefix := range []string{"RAY_", "RELEASE_", "ANYSCALE_CLOUD_ID"} {
			if strings.HasPrefix(name, prefix) {
				out.Env[name] = value
			}
		}
	}
	if o.instances == "" {
		return out, nil
	}
	text, err := readSmall(o.instances)
	if err != nil {
		return out, err
	}
	out.Instances, err = ray.ReadInstances(text)
	return out, err
}

// files opens the root and names the files below it.
func (o *importRay) files(names []string) (*os.Root, []string, error) {
	root := o.root
	if root == "" {
		root = repositoryOf(names[0])
	}
	below := make([]string, len(names))
	for i, name := range names {
		rel, err := relative(root, name)
		if err != nil || !fs.ValidPath(rel) {
			return nil, nil, fmt.Errorf("cannot read %s: it is outside of the repository %s; name that with --root", name, root)
		}
		below[i] = rel
	}
	opened, err := os.OpenRoot(root)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot open the repository: %w", err)
	}
	return opened, below, nil
}

// relative is the path of a file below a root.
func relative(root, name string) (string, error) {
	from, err := filepath.Abs(root)
	to, err2 := filepath.Abs(name)
	rel, err3 := filepath.Rel(from, to)
	return filepath.ToSlash(rel), errors.Join(err, err2, err3)
}

// repositoryOf is the nearest directory above a file that has .git, else the one above the file's.
func repositoryOf(file string) string {
	at, err := filepath.Abs(file)
	if err != nil {
		return "."
	}
	for dir := filepath.Dir(at); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return filepath.Dir(filepath.Dir(at))
		}
	}
}

// refused ends an import that has problems: they are the data when JSON was asked for.
func (o *importRay) refused(out io.Writer, err error) error {
	var problems ray.Problems
	if !errors.As(err, &problems) || o.format != "json" {
		return exitWith(1, harmlessError(err))
	}
	if err := printJSON(out, map[string]any{"problems": problems}); err != nil {
		return exitWith(2, err)
	}
	return exitWith(1, nil)
}

// show selects and prints. That nothing is selected is told after what was left out.
func (o *importRay) show(c *cobra.Command, suite *ray.Suite) error {
	out := c.OutOrStdout()
	if _, err := suite.ChooseEnvironment(o.tasks.Environment, nil); err != nil && o.tasks.Environment != "" {
		return exitWith(64, err)
	}
	selection, empty := suite.Select(o.request)
	if empty != nil && len(selection.LeftOut()) == 0 {
		return exitWith(64, empty)
	}
	if err := o.find(c.Context(), selection.Steps); err != nil {
		return exitWith(1, harmlessError(err))
	}
	fetched, err := ray.WheelTasks(selection.Steps, o.tasks)
	if err != nil {
		return exitWith(1, err)
	}
	tasks, err := suite.Tasks(selection.Steps, o.tasks)
	if err != nil {
		return exitWith(1, err)
	}
	warnings := append(suite.Told(), selection.WithoutEffect()...)
	if o.tasks.Wheels != nil {
		warnings = append(warnings, o.tasks.Wheels.Warnings...)
	}
	result := newImported(append(fetched, tasks...), selection.LeftOut(), warnings)
	result.Generation, result.GenerationWhy, result.Problems = suite.Generation, suite.GenerationWhy, suite.Problems
	if len(o.filters) > 0 {
		result.Confirm = selection.Confirm(variablesOfProcess())
	}
	if err := result.print(out, o.format, func(w io.Writer) { rayTable(w, suite, selection, tasks, fetched) }); err != nil {
		return err
	}
	if empty != nil {
		return exitWith(1, empty)
	}
	return nil
}

// find looks for the wheels under test, when some are wanted.
func (o *importRay) find(ctx context.Context, steps []ray.Step) error {
	if !o.wanted || len(steps) == 0 {
		return nil
	}
	want := wheels.Wanted{Spec: o.wheels, Pythons: ray.Pythons(steps), CI: buildkite()}
	return withFinder(o.where.config, func(f wheelfind.Finder) (err error) {
		o.tasks.Wheels, err = f.Find(ctx, want)
		return err
	})
}

// rayTable prints the steps by group.
func rayTable(out io.Writer, suite *ray.Suite, s *ray.Selection, tasks, fetched []plan.Task) {
	_, _ = fmt.Fprintf(out, "%d definitions, %d tests: %d selected as %d tasks in %d groups, %d left out\n",
		suite.Definitions, len(suite.Tests), len(s.Picked), len(s.Steps), len(s.Groups()), len(s.LeftOut()))
	_, _ = fmt.Fprintf(out, "generation %s: %s\n", suite.Generation, client.Line(suite.GenerationWhy))
	for _, t := range fetched {
		_, _ = fmt.Fprintf(out, "\n%s is fetched from %s\n", client.Line(t.Name), client.Line(t.Fetch.URL))
	}
	for _, group := range s.Groups() {
		_, _ = fmt.Fprintf(out, "\n%s\n", client.Line(group))
		w := tabwriter.NewWriter(out, 2, 8, 3, ' ', 0)
		for i, step := range s.Steps {
			if step.Test.Group == group {
				rayRow(w, step, tasks[i])
			}
		}
		_ = w.Flush()
	}
}

func rayRow(w io.Writer, step ray.Step, task plan.Task) {
	t := step.Test
	group, stability := "", ""
	if task.Concurrency != "" {
		group = fmt.Sprintf("%s of %d", task.Concurrency, task.GroupLimit)
	}
	if !t.Stable {
		stability = "unstable"
	}
	_, _ = fmt.Fprintf(w, "  %s\t%s\t%s\t%d nodes, %d vCPUs, %d GPUs\t%s\t%s\t%s\n", client.Line(task.Name), client.Line(t.Team),
		client.Line(t.Env), t.Cluster.Size.Nodes, t.Cluster.Size.CPUs, t.Cluster.Size.GPUs, group,
		time.Duration(t.Run.Timeout)*time.Second, stability)
}
