package directive

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// grammar are the cases of the language: a name, and a comment.
func grammar() [][2]string {
	many := strings.Repeat("/test a\n", maxDirectives+2)
	return [][2]string{
		{"no directive", "Looks good to me."},
		{"empty", ""},
		{"everything", "/test"},
		{"a job", "/test smoke"},
		{"a job and presets", "/test smoke light scale"},
		{"a job, presets and settings", "/test smoke light tests.gpu=2 a=b"},
		{"settings without a job", "/test tests.gpu=2"},
		{"several jobs", "/test smoke\n/test wheel light"},
		{"a quoted name", `/test "wheel (3.12, linux)"`},
		{"single quotes", `/skip 'wheel (3.1?, *)' jar`},
		{"a value with spaces", `/test smoke "title=two words"`},
		{"capitals", "/TEST smoke\n/Skip jar"},
		{"among talk", "Please look.\n\n/test smoke\n\nThanks!"},
		{"CRLF", "/test smoke\r\n/skip jar\r\n"},
		{"tabs and no-break spaces", "/test\tsmoke\u00a0light"},
		{"indented a little", "   /test smoke"},
		{"indented code", "    /test smoke\n\t/test smoke"},
		{"a fence", "```\n/test smoke\n```\n/test wheel"},
		{"a fence with a language", "~~~sh\n/test smoke\n```\n/test smoke\n~~~\n/test wheel"},
		{"a fence within a longer one", "````\n```\n/test a\n```\n/test b\n````\n/test c"},
		{"a fence that is never closed", "```\n/test smoke"},
		{"code that is no fence", "``` x ```\n/test smoke"},
		{"a quote", "> /test smoke\n/test wheel"},
		{"a list", "- /test smoke\n* /test smoke\n1. /test smoke"},
		{"within a line", "You can say /test smoke, or `/test`."},
		{"an HTML comment", "<!-- /test a\n/test b\n-->\n/test c"},
		{"a one-line HTML comment", "<!-- x -->\n/test c <!-- y\n/test d -->"},
		{"a path", "/usr/bin/env is missing\n/etc\n//test\n/* test */\n/1"},
		{"a byte order mark", "\ufeff/test smoke"},
		{"a setting", "/var tests.gpu: 2"},
		{"a setting with an equals sign", "/var tests.gpu = 2"},
		{"a list as a value", "/var tests.gpu: [2, 4]"},
		{"a value with a colon", "/var url: https://x.test/?a=b"},
		{"a bracketed path", `/var tests["a.b"].c[0]: x`},
		{"a setting without a value", "/var tests.gpu:"},
		{"a setting without a colon", "/var tests.gpu 2"},
		{"a setting that is no path", "/var 1 2: 3\n/var : 3"},
		{"skip", "/skip jar wheel-*"},
		{"skip nothing", "/skip"},
		{"an empty glob", `/only ""`},
		{"only", "/only smoke\n/skip jar"},
		{"presets", "/preset light scale"},
		{"no preset", "/preset"},
		{"a preset that is no name", "/preset light *"},
		{"an environment", "/env staging"},
		{"two environments", "/env staging prod"},
		{"two environments in two lines", "/env staging\n/env prod"},
		{"cancel", "/cancel"},
		{"cancel with a reason", "/cancel   it is   too slow"},
		{"hold", "/hold wait for the docs"},
		{"approve", "/approve"},
		{"resume", "/resume"},
		{"resume with something", "/resume now"},
		{"hold and resume", "/hold\n/resume"},
		{"retry", "/retry"},
		{"help", "/help"},
		{"a typing error", "/tset smoke"},
		{"another typing error", "/aprove"},
		{"a word of somebody else's", "/lgtm"},
		{"a colon after the verb", "/test: smoke"},
		{"letters of another script", "/тест"},
		{"a quote that is never closed", `/test "smoke`},
		{"a quote within a word", `/test smo"ke"`},
		{"something after a quote", `/test "smoke"x`},
		{"no UTF-8", "/test a\xffb"},
		{"a zero-width space", "/test smo\u200bke"},
		{"a zero-width space in the verb", "/te\u200bst smoke"},
		{"text that runs backwards", "/hold \u202etxt"},
		{"an escape", "/hold \x1b[31mred"},
		{"a long line", "/hold " + strings.Repeat("x", maxLine)},
		{"too many directives", many},
		{"too large", strings.Repeat("x\n", maxSize)},
		{"several mistakes", "/tset a\n\n/var b\n  /env a b\n/skip\n/test fine"},
		{"columns in characters", `/hold ok` + "\n" + `/test "é" "é" "x`},
		{"a mention", "/hold @team see <b>#1</b> [x](http://x)"},
	}
}

// told is what Parse says of a comment, as text.
func told(text string) string {
	commands, err := Parse(text)
	var b strings.Builder
	for _, c := range commands {
		fmt.Fprintf(&b, "%d:%d %s\n", c.Line, c.Column, c)
	}
	var problems Errors
	if errors.As(err, &problems) {
		for _, p := range problems {
			fmt.Fprintf(&b, "! %s\n", p)
		}
	}
	fmt.Fprintf(&b, "ours: %v\n", Ours(commands, problems))
	if err == nil && commands.Plans() {
		fmt.Fprintf(&b, "wish: %+v\n", commands.Wish())
	}
	return b.String()
}

func TestGrammar(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	cases := grammar()
	if len(cases) < 40 {
		t.Fatalf("%d cases", len(cases))
	}
	for _, c := range cases {
		shown := fmt.Sprintf("%q", c[1])
		if len(shown) > 200 {
			shown = fmt.Sprintf("%s… (%d bytes)", shown[:60], len(c[1]))
		}
		fmt.Fprintf(&b, "== %s\n%s\n%s\n", c[0], shown, told(c[1]))
		if stripped := Strip(c[1]); told(stripped) != told(c[1]) {
			t.Errorf("%s: without its talk it says\n%s\nexpected\n%s", c[0], told(stripped), told(c[1]))
		}
	}
	golden(t, "grammar.golden", b.String())
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		have, expected := strings.Split(got, "\n"), strings.Split(string(want), "\n")
		for i := range min(len(have), len(expected)) {
			if have[i] != expected[i] {
				t.Fatalf("%s:%d: found %q, expected %q; if it is right, write it anew with -update", file, i+1, have[i], expected[i])
			}
		}
		t.Fatalf("%s has %d lines, expected %d", file, len(have), len(expected))
	}
}

// TestPermissions shows the whole table: who may say what.
func TestPermissions(t *testing.T) {
	t.Parallel()
	want := map[Permission][]Verb{
		None:  {},
		Read:  {Help},
		Write: {Test, Only, Skip, Preset, Var, Env, Cancel, Retry, Permit, Help},
		Admin: {Test, Only, Skip, Preset, Var, Env, Cancel, Retry, Permit, Hold, Approve, Resume, Help},
		"odd": {},
	}
	for permission, verbs := range want {
		for _, rule := range Table() {
			refused := Commands{{Verb: rule.Verb}}.Refused(permission)
			if may := len(refused) == 0; may != slices.Contains(verbs, rule.Verb) {
				t.Errorf("with permission %q /%s is allowed: %v", permission, rule.Verb, may)
			}
		}
	}
	if len(Commands{{Verb: "unheard"}}.Refused(Admin)) != 1 {
		t.Error("a verb that is not in the table is allowed")
	}
}

// FuzzParse: whatever was read has one canonical form, and the comment without its talk says the same.
func FuzzParse(f *testing.F) {
	for _, c := range grammar() {
		f.Add(c[1])
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) <= maxSize && told(Strip(text)) != told(text) {
			t.Fatalf("without its talk it says\n%s\nexpected\n%s", told(Strip(text)), told(text))
		}
		commands, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(commands.String())
		if err != nil || again.String() != commands.String() || fmt.Sprint(again.Wish()) != fmt.Sprint(commands.Wish()) {
			t.Fatalf("%q is written as %q, which is read as %q, %v", text, commands, again, err)
		}
	})
}
