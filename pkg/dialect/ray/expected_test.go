package ray

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// expected are the answers of Ray's own code to requests about whole suites.
type expected struct {
	Requests []struct {
		ID, Frequency   string
		Filters         []string
		Unstable, Smoke bool
		RunPerTest      int `json:"run_per_test"`
	}
	Expected map[string]struct {
		Answers map[string]struct {
			Digest       string
			Steps, Tests int
			Error        string
		}
		Definitions                                     map[string]int
		Names                                           string
		Tests, Smoke, Unstable, Problems                int
		UIGroups                                        int `json:"ui_groups"`
		Byod, Concurrency, Env, Frequency, Python, Team map[string]int
		ConcurrencyOfEach                               string `json:"concurrency_of_each"`
	}
}

func readExpected(t *testing.T) expected {
	t.Helper()
	text, err := os.ReadFile("../../../test/data/ray/expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var out expected
	if err := json.Unmarshal(text, &out); err != nil || len(out.Requests) < 79 || len(out.Expected) < 4 {
		t.Fatalf("%d requests about %d suites, %v", len(out.Requests), len(out.Expected), err)
	}
	return out
}

// digest is the form that expected answers tell sets of lines in.
func digest(lines []string) string {
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:])[:16]
}

// TestRaysAnswers holds suites of several years to what Ray's own code answers of the same commit. Nothing tells the reader of
// which year a suite is.
func TestRaysAnswers(t *testing.T) {
	t.Parallel()
	all := readExpected(t)
	compared := 0
	for name, want := range all.Expected {
		dir := data(strings.TrimSuffix(name, "-data"))
		s, err := Import(dir, slices.Sorted(maps.Keys(want.Definitions)), Options{})
		if err != nil || len(s.Problems) != want.Problems {
			t.Fatalf("%s: %v %v", name, err, s.Problems)
		}
		definitions, smoke, unstable := 0, 0, 0
		for _, n := range want.Definitions {
			definitions += n
		}
		var names, groups []string
		for _, one := range s.Tests {
			b := one.Budget()
			names, groups = append(names, one.Name), append(groups, fmt.Sprintf("%s %s %d", one.Name, b.Group, b.AtOnce()))
			if one.Smoke != nil {
				smoke++
			}
			if !one.Stable {
				unstable++
			}
		}
		if got := []int{s.Definitions, len(s.Tests), smoke, unstable}; !slices.Equal(got, []int{definitions, want.Tests, want.Smoke, want.Unstable}) {
			t.Errorf("%s: definitions, tests, smoke tests, unstable ones are %v", name, got)
		}
		if digest(names) != want.Names || digest(groups) != want.ConcurrencyOfEach {
			t.Errorf("%s: the names or the concurrency groups are not Ray's", name)
		}
		for what, c := range map[string]struct {
			of   func(*Test) string
			want map[string]int
		}{
			"byod":        {func(t *Test) string { return t.Cluster.Byod.Type }, want.Byod},
			"concurrency": {func(t *Test) string { return t.Budget().Group }, want.Concurrency},
			"env":         {func(t *Test) string { return t.Env }, want.Env},
			"frequency":   {func(t *Test) string { return string(t.Frequency) }, want.Frequency},
			"python":      {func(t *Test) string { return t.Python }, want.Python},
			"team":        {func(t *Test) string { return t.Team }, want.Team},
		} {
			if got := counts(s.Tests, c.of); !maps.Equal(got, c.want) {
				t.Errorf("%s: %s is %v, want %v", name, what, got, c.want)
			}
		}
		if got := counts(s.Tests, func(t *Test) string { return t.Group }); len(got) != want.UIGroups {
			t.Errorf("%s: %d groups, want %d", name, len(got), want.UIGroups)
		}
		for _, q := range all.Requests {
			answer := want.Answers[q.ID]
			got, err := asked(s, q.Frequency, q.Filters, Request{PreferSmoke: q.Smoke, RunUnstable: q.Unstable, RunPerTest: q.RunPerTest})
			switch {
			case strings.HasPrefix(answer.Error, "TypeError"), name == "2025-11-data" && q.ID == "stable-false":
				continue // filters take any value here: TestDefect17FiltersTakeAnyValue
			case answer.Error != "" || answer.Tests == 0:
				if err == nil {
					t.Errorf("%s %s: got %d tests, want none or an error", name, q.ID, len(got.Picked))
				}
				continue
			case err != nil:
				t.Errorf("%s %s: %v", name, q.ID, err)
				continue
			}
			var lines []string
			for _, one := range got.Picked {
				lines = append(lines, one.Name+map[bool]string{true: " True", false: " False"}[one.IsSmoke])
			}
			compared++
			if len(got.Picked) != answer.Tests || len(got.Steps) != answer.Steps || digest(lines) != answer.Digest {
				t.Errorf("%s %s: got %d tests in %d steps, want %d in %d; their names are Ray's: %v", name, q.ID,
					len(got.Picked), len(got.Steps), answer.Tests, answer.Steps, digest(lines) == answer.Digest)
			}
		}
	}
	if compared < 150 {
		t.Errorf("%d answers with tests were compared, want at least 150", compared)
	}
}

// asked selects as the command line does.
func asked(s *Suite, frequency string, filters []string, r Request) (*Selection, error) {
	if frequency == "" {
		frequency = "any"
	}
	f, smoke, err := ParseFrequency(frequency)
	if err != nil {
		return nil, err
	}
	r.Frequency, r.PreferSmoke = f, r.PreferSmoke || smoke
	if r.Filters, err = NewFilters(filters); err != nil {
		return nil, err
	}
	return s.Select(r)
}
