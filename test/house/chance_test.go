package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTestsDependOnNoChance: a test gives the same answer every time. Properties run with the seed of test/property, and
// what else is random has a generator with a seed.
func TestTestsDependOnNoChance(t *testing.T) {
	t.Parallel()
	for _, top := range []string{"cmd", "pkg", "services", "test"} {
		err := filepath.WalkDir(filepath.Join("..", "..", top), func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(p, ".go") || strings.HasSuffix(filepath.Dir(p), "test/property") {
				return err
			}
			for _, found := range chances(t, p) {
				t.Errorf("%s: %s", p, found)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// chances lists what makes a file's results a matter of luck.
func chances(t *testing.T, file string) (out []string) {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	imports := map[string]string{} // by the name that the file uses
	for _, i := range tree.Imports {
		switch path := strings.Trim(i.Path.Value, `"`); path {
		case "pgregory.net/rapid":
			imports["rapid"] = path
		case "math/rand", "math/rand/v2":
			if strings.HasSuffix(file, "_test.go") {
				imports["rand"] = path
			}
		}
	}
	seeded := []string{"New", "NewPCG", "NewChaCha8", "NewZipf", "Rand", "PCG", "ChaCha8", "Source"}
	ast.Inspect(tree, func(n ast.Node) bool {
		use, is := n.(*ast.SelectorExpr)
		if !is {
			return true
		}
		from, is := use.X.(*ast.Ident)
		switch {
		case !is:
		case imports[from.Name] == "pgregory.net/rapid" && (use.Sel.Name == "Check" || use.Sel.Name == "MakeCheck"):
			out = append(out, "rapid."+use.Sel.Name+" draws a random seed: call property.Check of test/property")
		case from.Name == "rand" && imports["rand"] != "" && !slices.Contains(seeded, use.Sel.Name):
			out = append(out, "rand."+use.Sel.Name+" has no seed: make a generator with rand.New(rand.NewPCG(…))")
		}
		return true
	})
	return out
}
