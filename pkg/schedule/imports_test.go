package schedule

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestCoreIsPure reads this package's own files: what they import, and that none reads a clock.
func TestCoreIsPure(t *testing.T) {
	t.Parallel()
	allowed := map[string]bool{
		"cmp": true, "container/heap": true, "fmt": true, "maps": true, "math": true, "slices": true, "strings": true, "time": true,
		"github.com/sluiceci/sluice/pkg/event": true, "github.com/sluiceci/sluice/pkg/release": true,
		"github.com/sluiceci/sluice/pkg/lease": true, "github.com/sluiceci/sluice/pkg/environment": true, "strconv": true, "iter": true,
	}
	for _, file := range sources(t) {
		for _, i := range file.Imports {
			if name, _ := strconv.Unquote(i.Path.Value); !allowed[name] {
				t.Errorf("%s imports %s: the core decides without it", file.Name, name)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && isClock(s) {
				t.Errorf("the core uses time.%s: it is told what time it is", s.Sel.Name)
			}
			return true
		})
	}
}

func isClock(s *ast.SelectorExpr) bool {
	x, ok := s.X.(*ast.Ident)
	if !ok || x.Name != "time" {
		return false
	}
	switch s.Sel.Name {
	case "Now", "Since", "Until", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker", "Sleep":
		return true
	}
	return false
}

func sources(t *testing.T) []*ast.File {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var out []*ast.File
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, file)
	}
	if len(out) < 5 {
		t.Fatalf("found %d files of the core", len(out))
	}
	return out
}
