package ray

import (
	"errors"
	"fmt"
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

// Options say how test files are read.
type Options struct {
	Generation Generation        // empty: the suite's own, by its words and the code beside it
	Strict     bool              // refuse what the tooling of the generation refuses
	Env        map[string]string // the caller's environment: env[...] of compute templates, bare names of runtime_env
	Now        time.Time         // DATESTAMP and TIMESTAMP of compute templates; the zero time sets none

	Environments string     // directory of the *.env files; empty: ray_release/environments beside the first test file
	Instances    *Instances // nil: the table that is built in
}

// Suite is what test files hold.
type Suite struct {
	Tests         []*Test
	Broken        []*Test  // what can be told of tests that cannot run; Problem says why
	Problems      Problems // of all of them
	Definitions   int      // before expansion
	Environments  map[string]Environment
	Generation    Generation
	GenerationWhy string
	Rules         Rules // what its tooling does
	Warnings      Problems
}

// Import reads test files, in order, with all compute files that they name. A broken definition costs its own tests: they are
// in Broken. The error is a Problems with everything that is wrong with files that cannot be read as test files; to who is
// strict, with everything that Ray's own validation refuses. Files are named by their paths in files.
func Import(files fs.FS, names []string, o Options) (*Suite, error) {
	if len(names) == 0 {
		return nil, fault.New(fault.Invalid, "cannot import without a test file: name at least one, for example release/release_tests.yaml")
	}
	im := &importer{notes: notes{strict: o.Strict}, files: files, options: o, suite: &Suite{}, compute: map[string]*computeFile{}}
	if im.options.Instances == nil {
		im.options.Instances = BuiltinInstances()
	}
	var all []raw
	var modern pyyaml.Pos
	for _, name := range names {
		x := &expander{notes: &im.notes}
		im.read(name, x)
		all = append(all, x.out...)
		im.suite.Definitions += x.definitions
		if modern.Line == 0 {
			modern = x.modern
		}
	}
	im.choose(names[0], all, modern)
	im.environments(names[0], all)
	im.tests(all)
	im.suite.Warnings, im.suite.Problems = im.warnings.sorted(), im.problems.sorted()
	if o.Strict {
		return im.suite, append(im.refused, im.suite.Problems...).sorted().orNil()
	}
	return im.suite, im.refused.sorted().orNil()
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
		im.refuse(pyyaml.Pos{File: name}, "cannot read the test file: %s", reason(err))
		return
	}
	root, warnings, failed := pyyaml.Read(name, content)
	for _, w := range warnings {
		im.warn(w.At, "", "%s", w.Message)
	}
	if failed != nil {
		im.refuse(failed.At, "%s", failed.Message)
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
		if t.Problem != "" {
			im.suite.Broken = append(im.suite.Broken, t)
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

// test makes a test, with its smoke test, and checks it. One that anything is wrong with has a Problem and is not whole.
func (im *importer) test(rules rule, r raw) *Test {
	before := len(im.problems)
	failures := im.failures
	t := im.decode(r)
	name := nameOf(r.node)
	im.checker(name, false).check(rules, r.node)
	if r.problem == nil && im.failures == failures {
		im.semantics(t)
		im.size(t)
		t.Smoke = im.smoke(rules, t, r)
	}
	switch {
	case r.problem != nil:
		t.Problem = r.problem.String()
	case im.failures == failures:
		im.remarks(t)
	case len(im.problems) > before:
		t.Problem = im.problems[before].String()
	default:
		t.Problem = "there is more wrong with the suite than is told"
	}
	return t
}

// checker checks a test, or its smoke test, of which Ray's own validation looks at no more than the frequency.
func (im *importer) checker(test string, smoke bool) checker {
	return checker{
		generation: im.suite.Generation,
		fail:       func(at pyyaml.Pos, format string, args ...any) { im.fail(at, test, format, args...) },
		remark: func(at pyyaml.Pos, found, format string, args ...any) {
			switch {
			case !smoke:
				im.remark(at, test, found, format, args...)
			case found != "":
				im.warn(at, test, "%s; %s", fmt.Sprintf(format, args...), found)
			}
		},
	}
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
	before := im.failures
	im.checker(t.Name, true).check(rules, merged)
	if im.failures > before {
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
	im.byodType(t)
}

// repeated bounds how often a test runs.
func (im *importer) repeated(t *Test) {
	if t.RepeatedRun > maxRepeated {
		im.fail(place(t.node, "repeated_run"), t.Name, "repeated_run is %d, expected at most %d", t.RepeatedRun, maxRepeated)
	}
}

// byodType holds the type and the Python version of an image together, as Ray does since 2025. A type that nobody knows is
// taken as text.
func (im *importer) byodType(t *Test) {
	kind, at := t.Cluster.Byod.Type, place(t.node, "cluster", "byod", "type")
	want, any, known := byodPythons(im.suite.Generation, kind)
	switch {
	case im.suite.Generation < Generation2025:
	case !known && newestKnows(kind):
		im.remark(at, t.Name, "", "Invalid BYOD type: %s", kind)
	case !known:
		im.remark(at, t.Name, "it is taken as text", "Invalid BYOD type: %s", kind)
	case any || slices.Contains(want, t.Python):
	case strings.HasPrefix(kind, "gpu"):
		im.remark(at, t.Name, "it is run all the same", "GPU BYOD tests must use Python %s", strings.Join(want, " or "))
	case strings.HasPrefix(kind, "llm"):
		im.remark(at, t.Name, "it is run all the same", "LLM BYOD tests must use Python %s", strings.Join(want, " or "))
	default:
		im.remark(at, t.Name, "it is run all the same", "Invalid Python version for BYOD type %s: %s", kind, t.Python)
	}
}

// byodPythons are the versions of Python that a type of image has; any of them where nothing is checked.
func byodPythons(g Generation, kind string) (versions []string, any, known bool) {
	switch {
	case kind == "gpu" && g == Generation2025:
		return []string{"3.9", "3.10"}, false, true
	case kind == "gpu":
		return []string{"3.10"}, false, true
	case kind == "llm-cu128":
		return nil, true, true
	case kind == "cpu", kind == "cu123":
		return pythons(g), false, true
	}
	return nil, false, false
}

// newestKnows reports whether a type is one that Ray has had since.
func newestKnows(kind string) bool {
	return slices.Contains([]string{"cu116", "cu118", "cu121", "llm-cu124", "gpu-cu130", "llm-cu130", "torch-cpu", "torch-cu130"}, kind)
}

// remarks warns of what Ray accepts and then fails on, or never looks at.
func (im *importer) remarks(t *Test) {
	if _, known := im.suite.Environments[t.Env]; !known && len(im.suite.Environments) > 0 {
		im.warn(place(t.node, "env"), t.Name, "Unknown environment with name: %s", t.Env)
	}
	if !slices.Contains([]string{"default", "long_running_tests", "tune_tests", "xgboost_tests"}, t.Alert) {
		im.warn(place(t.node, "alert"), t.Name, "Alert suite %s not found.", t.Alert)
	}
	if nodes := t.Cluster.Nodes; t.Run.Wait != nil && t.Cluster.Unknown == "" && t.Run.Wait.Nodes > nodes {
		im.warn(place(t.node, "run", "wait_for_nodes"), t.Name, "it waits for %s nodes, and the compute file makes at most %d",
			strconv.FormatInt(t.Run.Wait.Nodes, 10), nodes)
	}
}

// beside is a path in the directory of a file.
func beside(file, name string) string { return path.Join(path.Dir(file), name) }
