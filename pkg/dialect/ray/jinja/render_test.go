package jinja

import (
	"strings"
	"testing"
)

func variables() map[string]any {
	return map[string]any{"env": map[string]any{"CLOUD": "cld_1", "N": "3", "BIG": strings.Repeat("x", 3000)}}
}

func TestRender(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"cloud_id: {{env[\"CLOUD\"]}}\n":                                               "cloud_id: cld_1\n",
		"{{ env['CLOUD'] }}-{{ env.CLOUD }}":                                           "cld_1-cld_1",
		"a: {{ env['NONE'] }}b":                                                        "a: b",
		"{{ env['NONE'] | default('x') }}":                                             "x",
		"{{ env.get('NONE', 'y') }}{{ env.get('N') }}":                                 "y3",
		"{{ (env['N'] | int) * 2 + 1 }}":                                               "7",
		"{{ 4 * 8 }}":                                                                  "32",
		"{% if env['N'] == '3' %}three{% elif x %}x{% else %}other{% endif %}":         "three",
		"{% if x %}x{% else %}other{% endif %}":                                        "other",
		"{% if x %}x{% endif %}":                                                       "",
		"{% for i in range(3) %}{{ i }}{% if not loop.last %},{% endif %}{% endfor %}": "0,1,2",
		"{% for i in [1, 2, 3] if i > 1 %}{{ i }}{% endfor %}":                         "23",
		"{% for i in [] %}x{% else %}none{% endfor %}":                                 "none",
		"{% for k, v in {'a': 1}.items() %}{{ k }}={{ v }}{% endfor %}":                "a=1",
		"{% set n = 2 %}{{ n + 1 }}":                                                   "3",
		"{% raw %}{{ x }}{% endraw %}":                                                 "{{ x }}",
		"a {#- comment -#} b":                                                          "ab",
		"{{ 'yes' if env['N'] else 'no' }}":                                            "yes",
		"no template":                                                                  "no template",
		"{'a': {'b': 1}}":                                                              "{'a': {'b': 1}}",
	} {
		if got, err := Render(text, variables()); err != nil || got != want {
			t.Errorf("%q renders to %q, %v, want %q", text, got, err, want)
		}
	}
}

// TestHostile has templates that must end in an error, soon and without much memory.
func TestHostile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"long loop":       {"{% for i in range(1000000000) %}{% endfor %}", "more than 1000 numbers"},
		"loops in loops":  {strings.Repeat("{% for i in range(1000) %}", 5) + strings.Repeat("{% endfor %}", 5), "4000 steps"},
		"silent loops":    {"{% for i in range(999) %}{% for j in range(999) if false %}{% endfor %}{% endfor %}", "4000 steps"},
		"much output":     {"{% for i in range(999) %}" + strings.Repeat("x", 1000) + "{% endfor %}", "renders to more than"},
		"repeated text":   {"{{ 'x' * 1000000000 }}", "only numbers are multiplied"},
		"repeated value":  {"{{ env['BIG'] * 1000000000 }}", "only numbers are multiplied"},
		"hidden text":     {"{{ ('x' ~ 1 | int) * 1000000000 }}", "only numbers are multiplied"},
		"hidden item":     {"{{ env.0 * 1000000000 }}", "only numbers are multiplied"},
		"doubling":        {"{% set x = 'xxxxxxxx' %}" + strings.Repeat("{% set x = x ~ x %}", 60), "more than 4096 bytes"},
		"doubling lists":  {"{% set x = ['xxxxxxxx'] %}" + strings.Repeat("{% set x = [x, x] %}", 60), "more than 4096 bytes"},
		"doubling loops":  {"{% for i in [[1,1,1]] %}" + strings.Repeat("{% for i in [[i, i, i, i, i, i]] %}", 12), "EOF"},
		"deep":            {"{{ " + strings.Repeat("(", 10_000) + "1" + strings.Repeat(")", 10_000) + " }}", "levels of nesting"},
		"long":            {"{{ 1" + strings.Repeat(" + 1", 1000) + " }}", "60 parts"},
		"nots":            {"{{ " + strings.Repeat("not ", 5000) + "1 }}", "60 parts"},
		"deep statements": {strings.Repeat("{% if 1 %}", 2000), "levels of nesting"},
		"huge":            {strings.Repeat("{{1}}", 10_000), "expected at most 32768"},
		"include":         {"{% include '/etc/passwd' %}", "'include' not found"},
		"import":          {"{% import '/etc/passwd' as x %}", "'import' not found"},
		"extends":         {"{% extends '/etc/passwd' %}", "'extends' not found"},
		"macro":           {"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "'macro' not found"},
		"block":           {"{% block b %}{{ self.b() }}{% endblock %}", "'block' not found"},
		"namespace":       {"{% set n = namespace(x=1) %}", ""},
		"padding":         {"{{ 'x'.ljust(1000000000) }}", ""},
		"formatting":      {"{{ '%01000000000d' | format(1) }}", ""},
		"division":        {"{{ 1 % 0 }}", "gave up"},
		"unclosed":        {"a\nb {{ x", ""},
		"unclosed if":     {"{% if x %}", "EOF"},
		"unbalanced":      {"{{ (1] }}", "delimiter"},
		"unknown":         {"{{ nothing() }}", ""},
		"set attribute":   {"{% set env.X = 1 %}", "{% set name"},
	} {
		out, err := Render(c.text, variables())
		if err == nil {
			t.Errorf("%s: got %.60q, want an error with %q", name, out, c.want)
			continue
		}
		found := false
		for want := range strings.SplitSeq(c.want, "|") {
			found = found || strings.Contains(err.Error(), want)
		}
		if !found || len(err.Error()) > 4*longestError+40 {
			t.Errorf("%s: got %q, want %q", name, err, c.want)
		}
	}
}

func TestErrorsHaveLines(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"a\n{{ 'x' * 3 }}": 2, "a\nb\n{% include 'x' %}": 3, "\n{% if x %}\n{{ y z }}{% endif %}": 3} {
		_, err := Render(text, nil)
		if known, ok := err.(*Error); !ok || known.Line != want {
			t.Errorf("%q: got %v, want line %d", text, err, want)
		}
	}
}

func FuzzRender(f *testing.F) {
	for _, s := range []string{
		"{{ a }}", "{% if a %}b{% endif %}", "{% for i in range(3) %}{{ loop.index }}{% endfor %}", "{# c #}", "{% set a = 'b' %}{{ a | upper }}",
		"{% raw %}{{{% endraw %}", "{{ {'a': [1, (2, 3)]}['a'][0] }}", "{{ a.b['c'] is defined }}", "{{ -1 // 2 ** 3 }}", "{{ 'a'[1:2] }}",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		out, err := Render(text, variables())
		if err != nil && out != "" || len(out) > maxOutput && IsTemplate(text) {
			t.Fatalf("got %d bytes and %v", len(out), err)
		}
	})
}
