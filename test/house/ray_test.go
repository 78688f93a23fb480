package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestEveryVectorOfRayHasATest looks that each number of the list of vectors begins a text of a test of the dialect, or the
// name of one; and that no such text has a number which the list has not.
func TestEveryVectorOfRayHasATest(t *testing.T) {
	t.Parallel()
	vectors, found := rayVectors(t), rayNumbers(t)
	if len(vectors) != 124+5 {
		t.Errorf("the list has %d vectors, want 124 and 5 tables", len(vectors))
	}
	for number := range vectors {
		if len(found[number]) == 0 {
			t.Errorf("vector %s is in no test: let the text that names its case begin with %q", number, number)
		}
	}
	for number, files := range found {
		if !vectors[number] {
			t.Errorf("%s names vector %s, which test/data/ray/vectors.tsv has not", files[0], number)
		}
	}
}

// TestEveryDefectOfRayHasATest looks that docs/dialects/ray.md tells of all 24 known defects what ours does instead, and names
// a test that is there and has the defect's number.
func TestEveryDefectOfRayHasATest(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/dialects/ray.md")
	if err != nil {
		t.Fatal(err)
	}
	there, told := tests(t), map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\| (\d+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$`).FindAllStringSubmatch(string(page), -1) {
		told[row[1]] = true
		number, _ := strconv.Atoi(row[1])
		named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(row[4], -1)
		if len(named) == 0 {
			t.Errorf("defect %d names no test", number)
		}
		for _, n := range named {
			if !there[n[1]] || !strings.HasPrefix(n[1], "TestDefect"+twoDigits(number)) {
				t.Errorf("defect %d is to be shown by %s, which is not there or has another number", number, n[1])
			}
		}
	}
	for number := 1; number <= 24; number++ {
		if !told[strconv.Itoa(number)] {
			t.Errorf("docs/dialects/ray.md does not tell of defect %d", number)
		}
	}
}

func twoDigits(n int) string { return string([]byte{byte('0' + n/10%10), byte('0' + n%10)}) }

// rayVectors are the numbers of the list.
func rayVectors(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("../data/ray/vectors.tsv")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		switch {
		case strings.HasPrefix(line, "#"):
		case len(fields) != 3 || out[fields[0]]:
			t.Errorf("%q is no vector, or there twice: expected a number, what is given, what comes of it", line)
		default:
			out[fields[0]] = true
		}
	}
	return out
}

var (
	rayText = regexp.MustCompile(`^([PVFREWHI][1-9][0-9]?|2\.(?:[1-9]|1[01]))(?:$|[^0-9A-Za-z.])`)
	rayName = regexp.MustCompile(`^Test([PVFREWHI][1-9][0-9]?)(?:$|[A-Z])`)
)

// rayNumbers finds the numbers of vectors in the texts and names of the dialect's tests, with the files that have them.
func rayNumbers(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, file := range rayTests(t) {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		note := func(form *regexp.Regexp, text string) {
			if m := form.FindStringSubmatch(text); m != nil {
				out[m[1]] = append(out[m[1]], file)
			}
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				note(rayName, n.Name.Name)
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
					note(rayText, text)
				}
			}
			return true
		})
	}
	return out
}

// rayTests are the files that test the dialect: its own, those of its commands, and of how it waits.
func rayTests(t *testing.T) []string {
	t.Helper()
	out, err := filepath.Glob("../../cmd/sluice/*ray*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	out = append(out, "../../pkg/await/await_test.go")
	err = filepath.WalkDir("../../pkg/dialect/ray", func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(p, "_test.go") {
			out = append(out, p)
		}
		return err
	})
	if err != nil || len(out) < 20 {
		t.Fatalf("found %d files of tests: %v", len(out), err)
	}
	return out
}
