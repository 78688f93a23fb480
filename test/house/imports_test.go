// Package house holds the code to ARCHITECTURE.md: who imports whom.
package house

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const module = "github.com/sluiceci/sluice/"

// rule is a line of the table in ARCHITECTURE.md.
type rule struct {
	room string
	may  []string
}

// rules reads the import table, so that what is written is what is enforced.
func rules(t *testing.T) []rule {
	t.Helper()
	text, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "\n## Who imports whom\n")
	if !found {
		t.Fatal("ARCHITECTURE.md has no section \"Who imports whom\"")
	}
	line := regexp.MustCompile("(?m)^\\| `([^`]+)` \\|([^|]*)\\|")
	code := regexp.MustCompile("`([^`]+)`")
	var out []rule
	for _, m := range line.FindAllStringSubmatch(table, -1) {
		r := rule{room: m[1]}
		for _, c := range code.FindAllStringSubmatch(m[2], -1) {
			r.may = append(r.may, c[1])
		}
		out = append(out, r)
	}
	if len(out) < 10 {
		t.Fatalf("found %d rooms in ARCHITECTURE.md's import table, expected all of them", len(out))
	}
	return out
}

// TestImportTable holds every file to the table: a room imports only the rooms that its line names.
func TestImportTable(t *testing.T) {
	t.Parallel()
	table := rules(t)
	for file, imports := range files(t) {
		room := path.Dir(file)
		r, ok := roomOf(table, room)
		if !ok {
			t.Errorf("%s: its folder %s is not in ARCHITECTURE.md's import table; add a line", file, room)
			continue
		}
		for _, imported := range imports {
			if !allowed(table, r, room, imported) {
				t.Errorf("%s imports %s: ARCHITECTURE.md lets %s import only %v", file, imported, r.room, r.may)
			}
		}
	}
}

// TestServicesDoNotImportEachOther is the rule that nothing may loosen.
func TestServicesDoNotImportEachOther(t *testing.T) {
	t.Parallel()
	for file, imports := range files(t) {
		if !strings.HasPrefix(file, "services/") {
			continue
		}
		own := strings.Join(strings.Split(file, "/")[:2], "/")
		for _, imported := range imports {
			if strings.HasPrefix(imported, "services/") && imported != own && !strings.HasPrefix(imported, own+"/") {
				t.Errorf("%s imports %s: services speak by events only", file, imported)
			}
		}
	}
}

// TestClientsStayInOneRoom keeps third-party clients where their room is.
func TestClientsStayInOneRoom(t *testing.T) {
	t.Parallel()
	rooms := map[string][]string{
		"github.com/nats-io/":                    {"pkg/bus"},
		"github.com/aws/":                        {"pkg/blob", "services/artifact-exporter"},
		"github.com/jackc/":                      {"pkg/store"},
		"modernc.org/sqlite":                     {"pkg/store"},
		"github.com/google/go-containerregistry": {"services/publisher", "pkg/world", "pkg/stamp"},
		"github.com/goccy/go-yaml":               {"pkg/definition", "pkg/dialect", "cmd/sluice"},
		"github.com/nikolalohinski/gonja":        {"pkg/dialect"},
		"github.com/moby/moby":                   {"pkg/driver"},
		"golang.org/x/crypto/ssh":                {"pkg/driver"},
		"github.com/google/cel-go":               {"pkg/definition"},
		"github.com/drone/go-scm":                {"pkg/forge"},
		"github.com/coreos/go-oidc":              {"pkg/access"},
		"golang.org/x/oauth2":                    {"pkg/access"},
		"github.com/spf13/cobra":                 {"cmd/sluice"},
		"os/exec":                                {"pkg/git", "pkg/driver", "pkg/planner", "pkg/world", "pkg/blob/blobtest", "pkg/store/storetest", "cmd/sluice", "pkg/secret"},
	}
	each(t, func(file string, imports []string) {
		for _, imported := range imports {
			for client, homes := range rooms {
				if strings.HasPrefix(imported, client) && !within(file, homes) {
					t.Errorf("%s imports %s, which stays in %v", file, imported, homes)
				}
			}
		}
	})
}

// TestCoreHasNoIO keeps the packages that decide free of the world: no files, no network, no clock of their own.
func TestCoreHasNoIO(t *testing.T) {
	t.Parallel()
	banned := []string{"os", "os/exec", "net", "net/http", "io/ioutil", "database/sql", "math/rand", "math/rand/v2", "log", "log/slog", "context"}
	each(t, func(file string, imports []string) {
		if !within(file, []string{"pkg/release", "pkg/event", "pkg/schedule", "pkg/plan", "pkg/lease", "pkg/directive", "pkg/dialect"}) {
			return
		}
		for _, imported := range imports {
			for _, b := range banned {
				if imported == b {
					t.Errorf("%s imports %s: this package decides without I/O", file, imported)
				}
			}
		}
	})
}

func within(file string, rooms []string) bool {
	for _, r := range rooms {
		if strings.HasPrefix(file, r+"/") {
			return true
		}
	}
	return false
}

func roomOf(table []rule, room string) (rule, bool) {
	best, found := rule{}, false
	for _, r := range table {
		if (room == r.room || strings.HasPrefix(room, r.room+"/")) && len(r.room) >= len(best.room) {
			best, found = r, true
		}
	}
	return best, found
}

func allowed(table []rule, r rule, room, imported string) bool {
	if imported == room || strings.HasPrefix(imported, r.room+"/") || imported == r.room {
		return true
	}
	for _, m := range r.may {
		if m == "*" || imported == m || strings.HasPrefix(imported, m+"/") {
			return true
		}
	}
	return false
}

// files maps each product file to the rooms of this module that it imports.
func files(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	each(t, func(file string, imports []string) {
		for _, i := range imports {
			if own, ok := strings.CutPrefix(i, module); ok {
				out[file] = append(out[file], own)
			}
		}
	})
	return out
}

// each calls fn with every file of the product that is no test, and what it imports.
func each(t *testing.T, fn func(file string, imports []string)) {
	t.Helper()
	for _, top := range []string{"cmd", "pkg", "services"} {
		root := filepath.Join("..", "..", top)
		err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
				return err
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ImportsOnly)
			if err != nil {
				return err
			}
			var imports []string
			for _, i := range parsed.Imports {
				imports = append(imports, strings.Trim(i.Path.Value, `"`))
			}
			rel, err := filepath.Rel(filepath.Join("..", ".."), p)
			fn(filepath.ToSlash(rel), imports)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
