package ray

import (
	"slices"
	"strings"
	"testing"
)

// suiteS is the suite of the vectors F1 to F11.
func suiteS(t *testing.T) *Suite {
	t.Helper()
	var b strings.Builder
	for _, one := range [][5]string{ // name, frequency, smoke frequency, team, run.type
		{"test_1", "nightly", "nightly", "team_1", "job"},
		{"test_2", "weekly", "nightly", "team_2", "client"},
		{"other_1", "weekly", "", "team_2", ""},
		{"other_2", "nightly", "multi", "team_2", "job"},
		{"other_3", "manual", "", "team_2", ""},
		{"test_3", "nightly", "", "team_2", ""},
	} {
		b.WriteString("- name: " + one[0] + "\n  working_dir: dir\n  frequency: " + one[1] + "\n  team: " + one[3] + "\n")
		b.WriteString("  cluster: {byod: {pip: [torch, numpy]}, cluster_compute: compute.yaml}\n  run: {timeout: 3600, script: s")
		if one[4] != "" {
			b.WriteString(", type: " + one[4])
		}
		b.WriteString("}\n")
		if one[2] != "" {
			b.WriteString("  smoke_test: {frequency: " + one[2] + "}\n")
		}
	}
	return mustRead(t, b.String())
}

// shown lists what was selected; a smoke test has a "+".
func shown(s *Selection) string {
	var out []string
	for _, t := range s.Picked {
		if t.IsSmoke {
			out = append(out, t.Name+"+")
		} else {
			out = append(out, t.Name)
		}
	}
	return strings.Join(out, " ")
}

// TestSelect has the vectors F1 to F13.
func TestSelect(t *testing.T) {
	t.Parallel()
	s := suiteS(t)
	for _, c := range []struct {
		name      string
		frequency Frequency
		prefer    bool
		filters   string
		want      string
	}{
		{"F1", Any, false, "", "test_1 test_2 other_1 other_2 other_3 test_3"},
		{"F2", Any, true, "", "test_1+ test_2+ other_1 other_2+ other_3 test_3"},
		{"F3", Nightly, false, "", "test_1 test_2+ other_2 test_3"},
		{"F4", Nightly, true, "", "test_1+ test_2+ other_2+ test_3"},
		{"F5", Weekly, false, "", "test_2 other_1"},
		{"F6", Nightly, false, "name:other.*", "other_2"},
		{"F7", Nightly, false, "name:test.*", "test_1 test_2+ test_3"},
		{"F8", Nightly, false, "name:test", ""},
		{"F9", Nightly, false, "name:test.*\nteam:team_1", "test_1"},
		{"F10", Nightly, false, "name:test_1|test_2", "test_1 test_2+"},
		{"F11 job", Any, false, "run/type:job", "test_1 other_2"},
		{"F11 client", Any, false, "run/type:client", "test_2"},
		{"F11 invalid", Any, false, "run/invalid:xxx", ""},
		{"F12 int", Any, false, "run/timeout:3600\nname:test_1", "test_1"},
		{"F12 bool", Any, false, "stable:True\nname:test_1", ""},
		{"F12 bool in YAML's words", Any, false, "stable:true\nname:test_1", ""},
		{"F12 bool that is not", Any, false, "stable:false", ""},
		{"F12 map", Any, false, "run:.*\nname:test_1", "test_1"},
		{"F12 map's content", Any, false, "run:.*'type': 'client'.*", "test_2"},
		{"F12 list", Any, false, "cluster/byod/pip:torch\nname:test_1", "test_1"},
		{"F12 list without", Any, false, "cluster/byod/pip:tensorflow", ""},
		{"F13 empty", Any, false, "group:\nname:test_1", "test_1"},
		{"F13 anything", Any, false, "group:.*\nname:test_1", "test_1"},
		{"a default is not said", Any, false, "env:aws", ""},
		{"what is not said is empty", Any, false, "run/type:\nenv:", "other_1 other_3 test_3"},
		{"two of one attribute", Any, false, "name:test_1\nname:test_2", "test_2"},
		{"empty and set", Any, false, "team:", ""},
		{"name and smoke", Multi, false, "", "other_2+"},
	} {
		filters, err := ParseFilters(c.filters)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Select(Request{Frequency: c.frequency, PreferSmoke: c.prefer, Filters: filters})
		if shown(got) != c.want {
			t.Errorf("%s: got %q, want %q", c.name, shown(got), c.want)
		}
		if (err != nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), "Empty test collection. ") {
			t.Errorf("%s: the error is %v", c.name, err)
		}
		for _, skipped := range got.Skipped {
			if skipped.Why == "" {
				t.Errorf("%s: %s is left out without a reason", c.name, skipped.Name)
			}
		}
	}
}

// TestFilterText is vector F14; which of two lines of one attribute counts is for the suite to say.
func TestFilterText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want string
	}{
		{"name:xxx\n \nteam:yyy\n", "name=xxx team=yyy"},
		{"name:a:b", "name=a:b"},
		{"name:x\nname:y", "name=x,y"},
		{"", ""},
	} {
		filters, err := ParseFilters(c.text)
		var got []string
		for _, f := range filters {
			got = append(got, f.Attr+"="+strings.Join(f.Values, ","))
		}
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("F14 %q: got %v and %v, want %s", c.text, got, err, c.want)
		}
	}
	for text, want := range map[string]string{
		"xxx": "Invalid test attr regex filter: xxx. Should be of the form attr:regex", "name:(": "cannot use the regular expression",
		"name:(?<=a*)b": "cannot use the regular expression", "name:a**": "cannot use the regular expression",
		"name:" + strings.Repeat("a", 2000): "expected at most 1000",
	} {
		if _, err := ParseFilters(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("F14 %.40q: got %v, want %s", text, err, want)
		}
	}
}

// TestFilters2025 has the vectors F15 and F16.
func TestFilters2025(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, name := range []string{"hello_world.a", "hello_world.b", "hello_world.c", "hello_world.d", "hello_world.e", "x_1", "x_2", "bye"} {
		team := map[bool]string{true: "a", false: "b"}[name != "x_2"]
		b.WriteString("- {name: " + name + ", group: all, working_dir: dir, frequency: manual, team: " + team +
			", cluster: {byod: {}, cluster_compute: compute.yaml}, run: {timeout: 1, script: s}}\n")
	}
	s := mustReadAs(t, b.String(), Generation2025)
	filters, err := NewFilters([]string{"prefix:hello_world"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Select(Request{Filters: filters})
	if err != nil || len(got.Picked) != 5 || !slices.Equal(got.Groups(), []string{"all"}) {
		t.Errorf("F15: got %s in %v, %v", shown(got), got.Groups(), err)
	}
	if q := got.Confirm(nil); q != "You are triggering 5 tests. Do you want to proceed?" {
		t.Errorf("F15: the question is %q", q)
	}
	if quiet := got.Confirm(map[string]string{"AUTOMATIC": "1"}); quiet != "" {
		t.Errorf("F15: nothing is to be asked, got %q", quiet)
	}
	filters, err = NewFilters([]string{"team:a", "prefix:x", "team:c"})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ = s.Select(Request{Filters: filters}); shown(got) != "x_1" {
		t.Errorf("F16: got %q, want x_1", shown(got))
	}
}

// TestDefect18ConfirmCountsAllGroups: Ray asks by the number of tests in the last group only.
func TestDefect18ConfirmCountsAllGroups(t *testing.T) {
	t.Parallel()
	s := suiteS(t)
	for i, test := range s.Tests {
		test.Group = string(rune('a' + i))
	}
	got, err := s.Select(Request{})
	if err != nil || got.Confirm(nil) != "You are triggering 6 tests. Do you want to proceed?" {
		t.Errorf("got %q and %v", got.Confirm(nil), err)
	}
}

// TestJail is vector F17.
func TestJail(t *testing.T) {
	t.Parallel()
	s := mustRead(t, valid)
	for _, c := range []struct {
		jailed string
		run    bool
		want   int
	}{
		{"issue 7 is open", false, 0},
		{"", false, 1},
		{"issue 7 is open", true, 1},
	} {
		got, _ := s.Select(Request{Jailed: map[string]string{"sample": c.jailed}, RunJailed: c.run})
		if len(got.Picked) != c.want {
			t.Errorf("F17: %q, jailed ones run: %v: got %d tests, want %d", c.jailed, c.run, len(got.Picked), c.want)
		}
	}
}

func TestKuberay(t *testing.T) {
	t.Parallel()
	s := mustRead(t, strings.Replace(valid, "name: sample", "name: sample.kuberay.gce", 1)+valid)
	if got, err := s.Select(Request{NoKuberay: true}); err != nil || shown(got) != "sample" {
		t.Errorf("got %q and %v", shown(got), err)
	}
}
