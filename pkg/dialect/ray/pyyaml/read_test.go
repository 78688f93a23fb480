package pyyaml

import (
	"strings"
	"testing"
)

// TestAsPyYAML has what PyYAML 6.0 makes of each text, seen by running it.
func TestAsPyYAML(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a: yes\nb: No\nc: on\nd: OFF\ne: y\nf: n":          `{'a': True, 'b': False, 'c': True, 'd': False, 'e': 'y', 'f': 'n'}`,
		"a: 010\nb: 0x1F\nc: 0b11\nd: 1_000\ne: 08":         `{'a': 8, 'b': 31, 'c': 3, 'd': 1000, 'e': '08'}`,
		"a: 0o10\nb: -010\nc: +1\nd: -0":                    `{'a': '0o10', 'b': -8, 'c': 1, 'd': 0}`,
		"a: 1:30\nb: 1:30:00\nc: 190:20:30.15\nd: 01:30":    `{'a': 90, 'b': 5400, 'c': 685230.15, 'd': '01:30'}`,
		"a: 1e3\nb: 1.5e3\nc: 1.5e+3\nd: 1.\ne: .5":         `{'a': '1e3', 'b': '1.5e3', 'c': 1500.0, 'd': 1.0, 'e': 0.5}`,
		"a: .inf\nb: -.INF\nc: .nan\nd: -.5":                `{'a': inf, 'b': -inf, 'c': nan, 'd': '-.5'}`,
		"a: ~\nb: null\nc:\nd: Null\ne: nULL\nf: ''":        `{'a': None, 'b': None, 'c': None, 'd': None, 'e': 'nULL', 'f': ''}`,
		"a: 123456789012345678901234567890":                 `{'a': 123456789012345678901234567890}`,
		"a: 1\na: 2":                                        `{'a': 2}`,
		"on: x\nyes: 1\n1: a":                               `{True: 'a'}`,
		"x: &x {a: 1, b: 2}\ny:\n  <<: *x\n  b: 3":          `{'x': {'a': 1, 'b': 2}, 'y': {'b': 3, 'a': 1}}`,
		"- &x {a: 1}\n- &z {a: 5, c: 7}\n- <<: [*x, *z]":    `[{'a': 1}, {'a': 5, 'c': 7}, {'a': 1, 'c': 7}]`,
		"a: 3.9\nb: \"3.9\"\nc: '3.9'":                      `{'a': 3.9, 'b': '3.9', 'c': '3.9'}`,
		"a: 2024-01-01":                                     `{'a': datetime('2024-01-01')}`,
		"a: >\n  folded\n  text\n\n  more\nb: |\n  x\n   y": `{'a': 'folded text\nmore\n', 'b': 'x\n y'}`,
		"a: !!str 010\nb: !!int '3'\nc: !!float 3":          `{'a': '010', 'b': 3, 'c': 3.0}`,
		"name: joins_{{dataset}}_{{x}}":                     `{'name': 'joins_{{dataset}}_{{x}}'}`,
		"a: it's":                                           `{'a': "it's"}`,
		"? complex\n: val":                                  `{'complex': 'val'}`,
		"":                                                  `None`,
		"# only a comment\n":                                `None`,
		"--- \na: 1\n":                                      `{'a': 1}`,
		"a: 1\r\nb: 2\r\n":                                  `{'a': 1, 'b': 2}`,
	} {
		n, _, failed := Read("f.yaml", text)
		if failed != nil {
			t.Errorf("%q: %v", text, *failed)
			continue
		}
		if got := Repr(n); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

func TestWarnsOfKeysGivenTwice(t *testing.T) {
	t.Parallel()
	_, warnings, failed := Read("f.yaml", "b: 1\na: 1\na: 2\n")
	if failed != nil || len(warnings) != 1 {
		t.Fatalf("got %v and %v, want one warning", warnings, failed)
	}
	want := Remark{Pos{"f.yaml", 3, 1}, "key 'a' is given twice, first in line 2; the last one counts"}
	if warnings[0] != want {
		t.Errorf("got %v, want %v", warnings[0], want)
	}
}

// TestHostile has texts that must end in an error, soon and without much memory.
func TestHostile(t *testing.T) {
	t.Parallel()
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		from, to := string(rune('0'+i)), string(rune('1'+i))
		bomb += "a" + to + ": &a" + to + " [" + strings.Repeat("*a"+from+", ", 9) + "*a" + from + "]\n"
	}
	for name, c := range map[string]struct{ text, want string }{
		"bomb":               {bomb, "expands to more than 200000 values"},
		"deep flow":          {strings.Repeat("[", 100_000), "40 levels of nesting"},
		"deep block":         {deepBlock(500), "40 levels of nesting"},
		"many keys":          {manyKeys(5000), "2000 keys"},
		"huge":               {strings.Repeat("a", MaxSize+1), "expected at most 1048576"},
		"not UTF-8":          {"a: \xff\n", "not UTF-8"},
		"zero byte":          {"a: \x00\n", "U+0000"},
		"itself":             {"a: &a [*a]", "undefined alias 'a'"},
		"unknown alias":      {"a: *b", "undefined alias 'b'"},
		"tag":                {"a: !!python/object/apply:os.system [ls]", "could not determine a constructor"},
		"two documents":      {"a: 1\n---\nb: 2\n", "more than one YAML document"},
		"unclosed":           {"a: [1", "cannot read YAML"},
		"tab":                {"\ta: 1", "cannot read YAML"},
		"key that is a list": {"? [a]\n: 1", "cannot read YAML"},
		"merge scalar":       {"a:\n  <<: 3", "expected a mapping"},
	} {
		_, _, failed := Read("f.yaml", c.text)
		if failed == nil || !strings.Contains(failed.Message, c.want) {
			t.Errorf("%s: got %v, want an error with %q", name, failed, c.want)
		}
	}
}

func deepBlock(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat("k", i%50+1) + string(rune('a'+i%26)) + ": 1\n")
	}
	return "x:\n  " + strings.ReplaceAll(b.String(), "\n", "\n  ")
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{"a: 1", "- [a, {b: c}]", "x: &x {a: 1}\ny: {<<: *x}", "a: |\n  b\n", "? a\n: b", "!!str 1", "\"\\x41\"", "a: 'b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, _, failed := Read("f.yaml", text)
		if (n == nil) == (failed == nil) {
			t.Fatalf("got %v and %v, want one of both", n, failed)
		}
		if n != nil && len(Repr(n)) > 8*reprLimit {
			t.Fatal("what is printed of a value is not bounded")
		}
	})
}
