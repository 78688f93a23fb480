package ray

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/dialect/ray/pyyaml"
	"github.com/sluiceci/sluice/pkg/fault"
)

// Generation is a state of Ray's tooling; what is allowed in a test file has changed.
type Generation string

// The generations.
const (
	Generation2024 Generation = "2024"
	Generation2025 Generation = "2025" // knows DEFAULTS and matrices, checks byod types
)

// Options say how test files are read.
type Options struct {
	Generation Generation        // empty: 2025 for files that use DEFAULTS or a matrix, else 2024
	Env        map[string]string // the caller's environment: env[...] of compute templates, bare names of runtime_env
	Now        time.Time         // DATESTAMP and TIMESTAMP of compute templates; the zero time sets none

	Environments string     // directory of the *.env files; empty: ray_release/environments beside the first test file
	Instances    *Instances // nil: the table that is built in
}

// Suite is what test files hold.
type Suite struct {
	Tests        []*Test
	Definitions  int // before expansion
	Environments map[string]Environment
	Generation   Generation
	Warnings     Problems
}

// Import reads test files, in order, with all compute files that they name. The error is a Problems with everything that is
// wrong with all of them; the suite has what is right. Files are named by their paths in files.
func Import(files fs.FS, names []string, o Options) (*Suite, error) {
	if len(names) == 0 {
		return nil, fault.New(fault.Invalid, "cannot import without a test file: name at least one, for example release/release_tests.yaml")
	}
	im := &importer{files: files, options: o, suite: &Suite{}, compute: map[string]*computeFile{}}
	if im.options.Instances == nil {
		im.options.Instances = BuiltinInstances()
	}
	var all []raw
	modern := false
	for _, name := range names {
		x := &expander{notes: &im.notes}
		im.read(name, x)
		all = append(all, x.out...)
		im.suite.Definitions += x.definitions
		modern = modern || x.modern
	}
	im.suite.Generation = generation(o.Generation, modern)
	im.environments(names[0], all)
	im.tests(all)
	im.suite.Warnings = im.warnings.sorted()
	return im.suite, im.problems.sorted().orNil()
}

func generation(asked Generation, modern bool) Generation {
	switch {
	case asked != "":
		return asked
	case modern:
		return Generation2025
	default:
		return Generation2024
	}
}

// importer reads one set of files.
type importer struct {
	notes
	files   fs.FS
	options Options
	suite   *Suite
	compute map[string]*computeFile
}

// read reads one test file and expands what it defines.
func (im *importer) read(name string, x *expander) {
	content, err := readFile(im.files, name)
	if err != nil {
		im.fail(pyyaml.Pos{File: name}, "", "cannot read the test file: %s", reason(err))
		return
	}
	root, warnings, failed := pyyaml.Read(name, content)
	for _, w := range warnings {
		im.warn(w.At, "", "%s", w.Message)
	}
	if failed != nil {
		im.fail(failed.At, "", "%s", failed.Message)
		return
	}
	x.file(root)
}

// readFile reads a file, of any size no more than YAML's bound and one byte.
func readFile(files fs.FS, name string) (string, error) {
	f, err := files.Open(name)
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(io.LimitReader(f, pyyaml.MaxSize+1))
	return string(b), errors.Join(err, f.Close())
}

// reason says why a file cannot be read without naming it again.
func reason(err error) string {
	var known *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such file"
	case errors.As(err, &known) && errors.Is(err, fs.ErrInvalid):
		return "the path leaves the repository"
	case errors.As(err, &known):
		return known.Err.Error()
	}
	return err.Error()
}

// tests checks and decodes everything that was expanded.
func (im *importer) tests(all []raw) {
	rules := schema(im.suite.Generation)
	first := map[string]*Test{}
	for _, r := range all {
		t := im.test(rules, r)
		if t == nil {
			continue
		}
		if before := first[t.Name]; before != nil {
			im.warn(place(t.node, "name"), t.Name, "the name is used before, in %s:%d; only the first test of a name can be found by it", before.File, before.Line)
		} else {
			first[t.Name] = t
		}
		im.suite.Tests = append(im.suite.Tests, t)
	}
}

// test checks one test and makes it, with its smoke test; nil when anything is wrong with it.
func (im *importer) test(rules rule, r raw) *Test {
	before := len(im.problems)
	name := nameOf(r.node)
	rules.check(r.node, func(at pyyaml.Pos, format string, args ...any) { im.fail(at, name, format, args...) })
	if len(im.problems) > before {
		return nil
	}
	t := im.decode(r)
	im.semantics(t)
	im.size(t)
	t.Smoke = im.smoke(rules, t, r)
	if len(im.problems) > before {
		return nil
	}
	im.remarks(t)
	return t
}

// smoke makes the smoke test: the test with what smoke_test says laid over it. Keys there that mean nothing are Ray's own
// habit and only remarked on.
func (im *importer) smoke(rules rule, t *Test, r raw) *Test {
	over := r.node.Get("smoke_test")
	if over == nil {
		return nil
	}
	merged, err := merge(r.node.Without("smoke_test"), over)
	var cannot *cannotMerge
	if errors.As(err, &cannot) {
		im.fail(cannot.at, t.Name, "%s", cannot.Error())
		return nil
	}
	before := len(im.problems)
	rules.check(merged, func(at pyyaml.Pos, format string, args ...any) {
		if strings.HasPrefix(format, "Additional properties") {
			im.warn(at, t.Name, format, args...)
			return
		}
		im.fail(at, t.Name, format, args...)
	})
	if len(im.problems) > before {
		return nil
	}
	r.node = merged
	s := im.decode(r)
	s.IsSmoke = true
	im.repeated(s)
	im.size(s)
	return s
}

// semantics checks what a schema cannot say.
func (im *importer) semantics(t *Test) {
	if t.Cluster.CloudID != "" && t.Cluster.CloudName != "" {
		im.fail(place(t.node, "cluster", "cloud_name"), t.Name, "cloud_id and cloud_name are both given, expected one of them")
	}
	im.repeated(t)
	if !fs.ValidPath(t.Directory()) {
		im.fail(place(t.node, "working_dir"), t.Name, "the working directory %s leaves the repository", t.Directory())
	}
	for _, list := range []string{"pip", "runtime_env"} {
		n := lookup(t.node, "cluster", "byod", list)
		if n == nil {
			continue
		}
		for _, item := range n.Items {
			if item.Kind != pyyaml.String {
				im.fail(item.At, t.Name, "%s is not of type 'string'", pyyaml.Repr(item))
			}
		}
	}
	if im.suite.Generation == Generation2025 {
		im.byodType(t)
	}
}

// repeated bounds how often a test runs.
func (im *importer) repeated(t *Test) {
	if t.RepeatedRun > maxRepeated {
		im.fail(place(t.node, "repeated_run"), t.Name, "repeated_run is %d, expected at most %d", t.RepeatedRun, maxRepeated)
	}
}

// byodType holds the type and the Python version of an image together.
func (im *importer) byodType(t *Test) {
	kind, at := t.Cluster.Byod.Type, place(t.node, "cluster", "byod", "type")
	switch kind {
	case "gpu":
		if t.Python != "3.9" && t.Python != "3.10" {
			im.fail(at, t.Name, "GPU BYOD tests must use Python 3.9 or 3.10")
		}
	case "llm-cu128":
		if t.Python != "3.11" {
			im.fail(at, t.Name, "LLM BYOD tests must use Python 3.11")
		}
	case "cpu", "cu123":
		if !slices.Contains(pythons(Generation2025), t.Python) {
			im.fail(at, t.Name, "Invalid Python version for BYOD type %s: %s", kind, t.Python)
		}
	default:
		im.fail(at, t.Name, "Invalid BYOD type: %s", kind)
	}
}

// remarks warns of what Ray accepts and then fails on, or never looks at.
func (im *importer) remarks(t *Test) {
	if _, known := im.suite.Environments[t.Env]; !known && len(im.suite.Environments) > 0 {
		im.warn(place(t.node, "env"), t.Name, "Unknown environment with name: %s", t.Env)
	}
	if !slices.Contains([]string{"default", "long_running_tests", "tune_tests", "xgboost_tests"}, t.Alert) {
		im.warn(place(t.node, "alert"), t.Name, "Alert suite %s not found.", t.Alert)
	}
	if nodes := t.Cluster.Size.Nodes; t.Run.Wait != nil && t.Cluster.Unknown == "" && t.Run.Wait.Nodes > nodes {
		im.warn(place(t.node, "run", "wait_for_nodes"), t.Name, "it waits for %s nodes, and the compute file makes at most %d",
			strconv.FormatInt(t.Run.Wait.Nodes, 10), nodes)
	}
}

// beside is a path in the directory of a file.
func beside(file, name string) string { return path.Join(path.Dir(file), name) }
