package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const rayRules = "../../pkg/dialect/ray/rules/testdata/"

func TestRayRules(t *testing.T) {
	t.Parallel()
	real2025 := "../../test/data/ray/2025-08/ci/pipeline/test_rules.txt"
	bad := filepath.Join(t.TempDir(), "bad.rules.txt")
	must(t, os.WriteFile(bad, []byte("! a\nx/\n@ b\n"), 0o600))
	for _, c := range []struct {
		line      string
		code      int
		out, says string
	}{
		{rayRules + "2024-11.rules.txt " + rayRules + "always.rules.txt --changed doc/x.md --changed java/x.java", 0, "java\nlint\n", "2024-11.rules.txt:"},
		{rayRules + "2024-11.rules.txt --branch master", 0, "*\n", "everything runs on branch master"},
		{rayRules + "2024-11.rules.txt --all", 0, "*\n", "asked for"},
		{rayRules + "prose.rules.txt --changed doc/a.md --json", 0, "", ""},
		{rayRules + "2024-11.rules.txt " + rayRules + "prose.rules.txt", 0, "", "39 of 39 paths"},
		{real2025, 0, "", "can never match: src/ at line"},
		{real2025 + " --changed src/x.cc", 0, "core_cpp\ncpp\ndashboard\njava\nlinux_wheels\nmacos_wheels\npython\nrelease_tests\n", "test_rules.txt:"},
		{bad, 1, "", `bad.rules.txt:3: tag "b" is not declared`},
		{bad + ".none", 1, "", "cannot read"},
		{"", 64, "", "usage: sluice ray rules"},
	} {
		got := sluice(t, append([]string{"ray", "rules"}, strings.Fields(c.line)...)...)
		if got.code != c.code || c.out != "" && got.out != c.out || !strings.Contains(got.talk, c.says) {
			t.Errorf("%s: exit %d, printed %q, said %q; want %d, %q, %q", c.line, got.code, got.out, got.talk, c.code, c.out, c.says)
		}
	}
}

// TestRayRulesSpecificationFails: a rule that does something else than what is specified is a failure.
func TestRayRulesSpecificationFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "a.rules.txt"), []byte("x/\n@ a\n;\n"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "a.rules.test.txt"), []byte("x/1: a\nx/2: b\n"), 0o600))
	got := sluice(t, "ray", "rules", filepath.Join(dir, "a.rules.txt"))
	if got.code != 1 || !strings.Contains(got.out, `a.rules.test.txt:2: x/2 is to emit "b"`) || !strings.Contains(got.talk, "1 of 2 paths") {
		t.Errorf("exit %d, printed %q, said %q", got.code, got.out, got.talk)
	}
}
