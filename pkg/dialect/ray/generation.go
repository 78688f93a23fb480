package ray

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/dialect/ray/pyyaml"
	"github.com/sluiceci/sluice/pkg/fault"
)

// Generation is a state of Ray's tooling, named by its year. Generations are ordered as texts are.
type Generation string

// The generations.
const (
	Generation2023 Generation = "2023"
	Generation2024 Generation = "2024"
	Generation2025 Generation = "2025" // DEFAULTS, matrices, directories that begin with "//"; as of November
	Generation2026 Generation = "2026" // as of February
)

// Generations lists all generations, the oldest first.
func Generations() []Generation {
	return []Generation{Generation2023, Generation2024, Generation2025, Generation2026}
}

// ParseGeneration reads the name of a generation, a year or a month of it; an empty name leaves the choice to the suite.
func ParseGeneration(name string) (Generation, error) {
	year, _, _ := strings.Cut(name, "-")
	if g := Generation(year); name == "" || slices.Contains(Generations(), g) {
		return g, nil
	}
	return "", fault.New(fault.Invalid, "cannot read the generation %.20q of Ray's tooling, expected 2023, 2024, 2025 or 2026", name)
}

// Rules are what the tooling of a generation does with a suite, as far as generations differ in it.
type Rules struct {
	Python       string   // of a test that names none
	FilterStart  bool     // a filter's expression may match the start of a value; else it must match the whole
	FilterAny    bool     // of several filters of one attribute any may match; else the last one counts
	FilterPrefix bool     // the attribute "prefix" is the start of the name
	SoftUnstable bool     // an unstable test fails softly
	KuberayByEnv bool     // a test runs on Kubernetes if its environment says so; else if its name does
	RuntimeEnv   []string // variables that every test has, with the value "1"
	LockIsCustom bool     // a lock file makes an image custom
	EnvIsCustom  bool     // variables of its own make an image custom
	Minuscule    bool     // clusters of at most 8 vCPUs have a concurrency group of their own
	NewCompute   bool     // clusters written as head_node and worker_nodes are sized
	Queue        string   // of the CI
	QueueClient  string   // of tests that run a client
}

func runtimeEnvNames() []string {
	return []string{"RAY_BACKEND_LOG_JSON", "RAY_DATA_LOG_INTERNAL_STACK_TRACE_TO_STDOUT", "RAY_DATA_AUTOLOAD_PYEXTENSIONTYPE"}
}

// rules are those of a generation, where the suite's own code does not say otherwise.
func (g Generation) rules() Rules {
	const queue = "release_queue_small"
	r := Rules{Queue: queue, QueueClient: queue, Python: "3.9", SoftUnstable: true, Minuscule: true, RuntimeEnv: runtimeEnvNames()}
	switch g {
	case Generation2023:
		r.Python = "3.8"
	case Generation2025:
		r.FilterStart, r.FilterAny, r.FilterPrefix, r.KuberayByEnv, r.LockIsCustom = true, true, true, true, true
	case Generation2026:
		r = Rules{
			Queue: queue, QueueClient: queue, Python: "3.10", FilterStart: true, FilterAny: true, FilterPrefix: true, KuberayByEnv: true, LockIsCustom: true,
			EnvIsCustom: true, Minuscule: true,
		}
	}
	return r
}

// tooling is where Ray's own code is, below the directory of the test files.
const tooling = "ray_release"

// codeRule is a fact about the suite's own code: a file below ray_release, and what its text says. Only the text is looked at;
// nothing is run.
type codeRule struct {
	file string
	read func(text string, r *Rules) (said string)
}

var (
	defaultPython = regexp.MustCompile(`"RELEASE_PY",\s*"([0-9]\.[0-9]{1,2})"`)
	setVariable   = regexp.MustCompile(`"(RAY_[A-Z_]+)":\s*"1"`)
)

// codeRules is the table of what is looked for.
func codeRules() []codeRule {
	has := func(text, word string) bool { return strings.Contains(text, word) }
	return []codeRule{
		{"buildkite/filter.py", func(text string, r *Rules) string {
			if has(text, "re.fullmatch(") == has(text, "re.match(") {
				return ""
			}
			r.FilterStart = has(text, "re.match(")
			r.FilterPrefix = has(text, `"prefix"`)
			r.FilterAny = has(text, "for value in ")
			if r.FilterStart {
				return "filters match the start of a value"
			}
			return "filters match the whole value"
		}},
		{"test.py", func(text string, r *Rules) string {
			m := defaultPython.FindStringSubmatch(text)
			if m == nil {
				return ""
			}
			r.Python, r.RuntimeEnv = m[1], nil
			for _, found := range setVariable.FindAllStringSubmatch(text, -1) {
				r.RuntimeEnv = append(r.RuntimeEnv, found[1])
			}
			r.KuberayByEnv = has(text, "def is_kuberay")
			r.LockIsCustom = has(text, "python_depset")
			r.EnvIsCustom = has(text, "bool(self.get_byod_runtime_env())")
			return "tests run on Python " + m[1]
		}},
		{"buildkite/step.py", func(text string, r *Rules) string {
			r.SoftUnstable = has(text, "soft_fail")
			if r.SoftUnstable {
				return "unstable tests fail softly"
			}
			return "unstable tests fail"
		}},
		{"buildkite/concurrency.py", func(text string, r *Rules) string {
			r.Minuscule, r.NewCompute = has(text, "minuscule"), has(text, "worker_nodes")
			return ""
		}},
	}
}

// choose sets the suite's generation and rules: the generation that is asked for; else the one whose words the files use, with
// the rules that the suite's own code beside them tells.
func (im *importer) choose(first string, all []raw, modern pyyaml.Pos) {
	s := im.suite
	defer func() {
		s.Rules.Queue = cmp.Or(im.options.Env["RELEASE_QUEUE_DEFAULT"], s.Rules.Queue)
		s.Rules.QueueClient = cmp.Or(im.options.Env["RELEASE_QUEUE_CLIENT"], s.Rules.QueueClient)
	}()
	if s.Generation = im.options.Generation; s.Generation != "" {
		s.Rules, s.GenerationWhy = s.Generation.rules(), "it is asked for"
		return
	}
	s.Generation, s.GenerationWhy = evidence(all, modern)
	s.Rules = s.Generation.rules()
	var said []string
	for _, rule := range codeRules() {
		text, err := readFile(im.files, beside(first, tooling+"/"+rule.file))
		if err != nil {
			continue // the code is not there, or not all of it
		}
		if one := rule.read(text, &s.Rules); one != "" {
			said = append(said, one)
		}
	}
	if len(said) > 0 {
		s.GenerationWhy += "; the code in " + beside(first, tooling) + " says: " + strings.Join(said, ", ")
	}
}

// mark is a word that only some generations know.
type mark struct {
	path  []string
	value string // empty: any
	from  Generation
}

// marks tell generations apart. A word of a later generation counts before all words of earlier ones.
func marks() []mark {
	return []mark{
		{path: []string{"cluster", "anyscale_sdk_2026"}, from: Generation2026},
		{path: []string{"cluster", "cloud"}, from: Generation2026},
		{path: []string{"run", "num_retries"}, from: Generation2026},
		{path: []string{"python"}, value: "3.13", from: Generation2026},
		{path: []string{"cluster", "byod", "python_depset"}, from: Generation2025},
		{path: []string{"cluster", "ray_version"}, from: Generation2025},
		{path: []string{"cluster", "project_id"}, from: Generation2025},
		{path: []string{"frequency"}, value: "monthly", from: Generation2025},
		{path: []string{"python"}, value: "3.12", from: Generation2024},
		{path: []string{"cluster", "cluster_env"}, from: Generation2023},
		{path: []string{"python"}, value: "3.7", from: Generation2023},
		{path: []string{"python"}, value: "3.8", from: Generation2023},
	}
}

// evidence is the oldest generation that knows every word of the files, and the word that decides. Without any such word it is
// that of 2024.
func evidence(all []raw, modern pyyaml.Pos) (Generation, string) {
	best, why := Generation(""), ""
	note := func(g Generation, at pyyaml.Pos, what string) {
		if g > best {
			best, why = g, fmt.Sprintf("%s:%d has %s, which is known since then", at.File, at.Line, what)
		}
	}
	if modern.Line > 0 {
		note(Generation2025, modern, "DEFAULTS or a matrix")
	}
	table := marks()
	var without []pyyaml.Pos
	for _, r := range all {
		for _, m := range table {
			n := lookup(r.node, m.path...)
			if n != nil && (m.value == "" || n.Kind == pyyaml.String && n.Text == m.value) {
				note(m.from, n.At, strings.TrimSuffix(strings.Join(m.path, ".")+": "+m.value, ": "))
			}
		}
		if cluster := r.node.Get("cluster"); cluster != nil && cluster.Kind == pyyaml.Map && !cluster.Has("byod") && !cluster.Has("cluster_env") {
			without = append(without, cluster.At)
		}
		if dir := r.node.Get("working_dir"); dir != nil && dir.Kind == pyyaml.String && strings.HasPrefix(dir.Text, "//") {
			note(Generation2025, dir.At, "a working directory of the repository's root")
		}
	}
	if len(without)*10 > len(all) { // one that was forgotten tells nothing
		note(Generation2026, without[0], "a cluster without byod, as have many")
	}
	switch best {
	case "":
		return Generation2024, "the files have no word that only a later one knows"
	case Generation2023:
		why = strings.TrimSuffix(why, "since then") + "until then"
	}
	return best, why
}
