package house

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEveryLawHasItsTests looks that docs/laws.md has every law and names tests that there are.
func TestEveryLawHasItsTests(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/laws.md")
	if err != nil {
		t.Fatal(err)
	}
	there := tests(t)
	laws := regexp.MustCompile(`(?m)^\| (\d+) \| (.*) \| (.*) \|$`).FindAllStringSubmatch(string(page), -1)
	if len(laws) < 14 {
		t.Errorf("docs/laws.md has %d laws, want at least 14", len(laws))
	}
	_, attacks, found := strings.Cut(string(page), "## Attacks that failed")
	rows := regexp.MustCompile(`(?m)^\| (.*) \| (.*) \| (.*) \| (.*) \|$`).FindAllStringSubmatch(attacks, -1)
	if !found || len(rows) < 2 {
		t.Error("docs/laws.md names no attack")
	}
	for _, row := range rows[min(1, len(rows)):] {
		named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(row[4], -1)
		if len(named) == 0 {
			t.Errorf("the attack %q has no test", row[1])
		}
		for _, n := range named {
			if !there[n[1]] {
				t.Errorf("the attack %q is to be stopped by %s, which is not there", row[1], n[1])
			}
		}
	}
	for _, law := range laws {
		named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(law[3], -1)
		if len(named) == 0 {
			t.Errorf("law %s names no test", law[1])
		}
		for _, n := range named {
			if !there[n[1]] {
				t.Errorf("law %s is to be held by %s, which is not there", law[1], n[1])
			}
		}
	}
}

// tests are the names of all test functions.
func tests(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir(filepath.Join("..", ".."), func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(p, "_test.go") {
			return err
		}
		text, err := os.ReadFile(p)
		for _, m := range function.FindAllStringSubmatch(string(text), -1) {
			out[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
