package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestRayAnswersAsItself asks Ray's own release tooling and this one the same questions about the same suites: real ones, mutations
// of them, and suites that are made at random of what the schema knows. The kit that runs Ray's code is named by SLUICE_RAY_KIT; it
// is not part of this repository. SLUICE_RAY_ROUNDS is how many suites of each kind there are, SEED what they are made of.
func TestRayAnswersAsItself(t *testing.T) {
	kit := os.Getenv("SLUICE_RAY_KIT")
	if kit == "" {
		t.Skip("SLUICE_RAY_KIT names no directory with Ray's own release tooling: nothing is compared with it")
	}
	rounds, seed := fromEnvironment(t, "SLUICE_RAY_ROUNDS", 1), fromEnvironment(t, "SEED", 1)
	t.Logf("seed %d, %d rounds", seed, rounds)
	for _, version := range []string{"2024-11", "2025-11", "2026-02"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			o := newOracle(t, kit, version)
			o.compare(o.real()...)
			for i := range rounds {
				r := rand.New(rand.NewPCG(uint64(seed), uint64(i)))
				o.compare(o.write("mutated", o.mutated(r)))
				o.compare(o.write("random", o.random(r)))
			}
		})
	}
}

func fromEnvironment(t *testing.T, name string, fallback int) int {
	t.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv(name), strconv.Itoa(fallback)))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// oracle is a tree with a suite and Ray's own code of the same commit.
type oracle struct {
	t            *testing.T
	kit, version string
	dir          string
	requests     []rayRequest
}

type rayRequest struct {
	ID, Frequency   string
	Filters         []string
	Unstable, Smoke bool
	RunPerTest      int `json:"run_per_test"`
}

// rayAnswers is what Ray's code says of a suite.
type rayAnswers struct {
	Tests []struct {
		Name, Group, Team, Frequency, Env, Python string
		Byod                                      string `json:"byod_type"`
		Conc                                      struct {
			Group string
			Limit int
		}
	}
	Problems [][]string
	Answers  map[string]struct {
		Tests [][]any
		Steps int
		Error string
	}
}

func newOracle(t *testing.T, kit, version string) *oracle {
	t.Helper()
	o := &oracle{t: t, kit: kit, version: version, dir: t.TempDir()}
	o.command("bash", filepath.Join(kit, "up.sh"), o.dir, version)
	o.command("chmod", "-R", "u+w", o.dir)
	text, err := os.ReadFile(filepath.Join(kit, "requests.json"))
	if err == nil {
		err = json.Unmarshal(text, &o.requests)
	}
	if err != nil || len(o.requests) < 50 {
		t.Fatalf("%d requests, %v", len(o.requests), err)
	}
	return o
}

func (o *oracle) command(name string, args ...string) []byte {
	o.t.Helper()
	c := exec.CommandContext(o.t.Context(), name, args...)
	var said strings.Builder
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		o.t.Fatalf("%s %v: %v\n%s", name, args, err, said.String())
	}
	return out
}

func (o *oracle) real() []string {
	files, err := filepath.Glob(filepath.Join(o.dir, "release", "release*tests.yaml"))
	if err != nil || len(files) == 0 {
		o.t.Fatalf("the tree has no suite: %v", err)
	}
	for i := range files {
		files[i], _ = filepath.Rel(o.dir, files[i])
	}
	slices.Sort(files)
	return files
}

// write writes a suite as JSON, which is YAML.
func (o *oracle) write(name string, suite []map[string]any) string {
	o.t.Helper()
	text, err := json.MarshalIndent(suite, "", " ")
	if err == nil {
		err = os.WriteFile(filepath.Join(o.dir, "release", name+"_tests.yaml"), text, 0o600)
	}
	if err != nil {
		o.t.Fatal(err)
	}
	return "release/" + name + "_tests.yaml"
}

// ray asks Ray's own code.
func (o *oracle) ray(files []string) rayAnswers {
	o.t.Helper()
	out := filepath.Join(o.t.TempDir(), "out.json")
	o.command("python3", append([]string{filepath.Join(o.kit, "oracle.py"), o.dir, filepath.Join(o.kit, "requests.json"), out}, files...)...)
	text, err := os.ReadFile(out)
	var answers rayAnswers
	if err == nil {
		err = json.Unmarshal(text, &answers)
	}
	if err != nil {
		o.t.Fatal(err)
	}
	return answers
}

// ours is what an import prints.
type ours struct {
	Tasks []struct {
		Name, Group, Team, Frequency string
		Smoke                        bool
		Tags                         []string
		Concurrency                  string `json:"concurrency_group"`
	}
	Skipped  []struct{ Name, Why string }
	Problems []struct{ File, Test, Message string }
}

// sluice asks this tooling; what it refuses has no tasks.
func (o *oracle) sluice(files []string, args ...string) ours {
	o.t.Helper()
	c := exec.CommandContext(o.t.Context(), sluice(o.t), append(append([]string{"import", "ray", "--json"}, files...), args...)...)
	c.Dir = o.dir
	var said strings.Builder
	c.Stderr = &said
	text, err := c.Output()
	if err != nil && c.ProcessState == nil {
		o.t.Fatal(err)
	}
	var out ours
	if len(text) > 0 {
		if err := json.Unmarshal(text, &out); err != nil {
			o.t.Fatalf("%v: %v\n%s", args, err, said.String())
		}
	}
	return out
}

// compare holds the answers of both to each other.
func (o *oracle) compare(files ...string) {
	o.t.Helper()
	want := o.ray(files)
	all := o.sluice(files, "--unstable")
	broken := map[string]bool{}
	for _, s := range all.Skipped {
		if strings.HasPrefix(s.Why, "its definition is broken") {
			broken[s.Name] = true
		}
	}
	refused := map[string]bool{}
	for _, p := range want.Problems {
		refused[p[0]] = true
	}
	for name := range broken {
		if !refused[name] {
			o.t.Errorf("%s %v: %s is broken here, and not for Ray", o.version, files, name)
		}
	}
	if strict := o.sluice(files, "--strict"); (len(strict.Problems) > 0) != (len(refused) > 0) {
		o.t.Errorf("%s %v: Ray refuses %v, --strict %v", o.version, files, want.Problems, strict.Problems)
	}
	told := map[string]string{}
	for _, task := range all.Tasks {
		told[plain(task.Name)] = fmt.Sprint(task.Group, task.Team, task.Frequency, task.Tags[:3], task.Concurrency)
	}
	for _, one := range want.Tests {
		group := cmp.Or(one.Group, "Ungrouped release tests")
		said := fmt.Sprint(group, one.Team, one.Frequency, []string{"env:" + one.Env, "python:" + one.Python, "byod:" + one.Byod}, one.Conc.Group)
		if !broken[one.Name] && told[one.Name] != said {
			o.t.Errorf("%s %v: %s is %q, want %q", o.version, files, one.Name, told[one.Name], said)
		}
	}
	compared := 0
	for _, q := range o.requests {
		answer := want.Answers[q.ID]
		if answer.Error != "" {
			continue
		}
		compared++
		got := o.sluice(files, q.flags()...)
		var names, wanted []string
		for _, task := range got.Tasks {
			names = append(names, fmt.Sprint(plain(task.Name), " ", task.Smoke))
		}
		for _, one := range answer.Tests {
			if !broken[fmt.Sprint(one[0])] {
				wanted = append(wanted, fmt.Sprint(one[0], " ", one[1]))
			}
		}
		slices.Sort(names)
		slices.Sort(wanted)
		if names, wanted = slices.Compact(names), slices.Compact(wanted); !slices.Equal(names, wanted) && q.ID != "stable-false" {
			o.t.Errorf("%s %v: %s %v selects %d tests, Ray %d:\n%v\n%v", o.version, files, q.ID, q.flags(), len(names), len(wanted), names, wanted)
		}
	}
	o.t.Logf("%s %v: %d tests, %d refused by Ray, %d broken here, %d of %d answers compared", o.version, files, len(want.Tests), len(refused), len(broken), compared, len(o.requests))
}

// plain is a task's test: without "[smoke test]" and the number of the run.
func plain(name string) string {
	if at := strings.LastIndex(name, " ("); at > 0 && strings.HasSuffix(name, ")") {
		name = name[:at]
	}
	return strings.TrimSuffix(name, " [smoke test]")
}

func (q rayRequest) flags() []string {
	out := []string{"--frequency", cmp.Or(q.Frequency, "any"), "--run-per-test", strconv.Itoa(q.RunPerTest)}
	for _, f := range q.Filters {
		out = append(out, "--filter", f)
	}
	if q.Unstable {
		out = append(out, "--unstable")
	}
	if q.Smoke {
		out = append(out, "--smoke")
	}
	return out
}
