package main

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/access"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/service"
	"github.com/sluiceci/sluice/services/gateway"
	"github.com/sluiceci/sluice/services/reporter"
)

// TestMatrixIsDocumented asks every route as every role, of one project and of all, and holds docs/access.md to the answers:
// a route that lets in somebody else shows as a difference of that page.
func TestMatrixIsDocumented(t *testing.T) {
	t.Parallel()
	matrix := matrixOf(t)
	text, err := os.ReadFile("../../docs/access.md")
	must(t, err)
	marks := regexp.MustCompile(`(?s)<!-- matrix -->\n.*<!-- /matrix -->`)
	want := marks.ReplaceAllLiteralString(string(text), "<!-- matrix -->\n"+matrix+"<!-- /matrix -->")
	if os.Getenv("SLUICE_UPDATE") == "1" {
		must(t, os.WriteFile("../../docs/access.md", []byte(want), 0o600))
		return
	}
	if want != string(text) {
		t.Errorf("docs/access.md does not tell who may do what; run make generate, and look at the difference:\n%s", matrix)
	}
}

func matrixOf(t *testing.T) string {
	t.Helper()
	server, err := bus.Embed(bus.ServerOptions{Dir: t.TempDir(), NoSync: true})
	must(t, err)
	t.Cleanup(server.Close)
	b, err := server.Connect(t.Context(), bus.Options{})
	must(t, err)
	t.Cleanup(b.Close)
	change := release.Change{Kind: release.Push, Project: "one", Repo: "acme/one"}
	must(t, b.Publish(t.Context(), event.Root("run-one", "/gateway/test", time.Now(), event.ChangeReceived{Change: change})))
	var static []access.Static
	names := []string{""}
	for _, projects := range []string{"one", access.All} {
		for _, role := range []access.Role{access.Viewer, access.Developer, access.Maintainer, access.Operator} {
			name := role.String()
			if projects == access.All {
				name += " of all"
			}
			names = append(names, name)
			static = append(static, access.Static{Owner: name, Secret: name, Role: role, Projects: []string{projects}})
		}
	}
	deps := service.Deps{Bus: b, Log: slog.New(slog.DiscardHandler), Now: time.Now, Instance: "test", Secret: func(name string) (string, error) { return name, nil }}
	deps.Gate, err = access.New(access.Options{
		Config: access.Config{Anonymous: &[]string{}}, Static: static, Listen: "127.0.0.1:80", PublicURL: "http://127.0.0.1", Secret: deps.Secret,
		Bus: b, Log: deps.Log, Now: time.Now, Source: "/gateway/test",
	})
	must(t, err)
	g, err := gateway.New(gateway.Config{}, deps, nil)
	must(t, err)
	r, err := reporter.New(reporter.Config{Database: "sqlite://" + t.TempDir() + "/x.db"}, deps)
	must(t, err)
	var rows []string
	for _, e := range slices.Concat(g.HTTP, r.HTTP) {
		row := fmt.Sprintf("| `%s` |", e.Pattern)
		for _, name := range names {
			row += " " + allowed(deps.Gate, e, name) + " |"
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b string) int {
		return strings.Compare(routeOf(a)+a, routeOf(b)+b)
	})
	return "| route | nobody | " + strings.Join(names[1:], " | ") + " |\n|---" + strings.Repeat("|---", len(names)) + "|\n" + strings.Join(rows, "\n") + "\n"
}

func routeOf(row string) string { _, p, _ := strings.Cut(row, " /"); return p }

// allowed asks a route as somebody: does the gate let them through?
func allowed(gate *access.Gate, e service.Endpoint, as string) string {
	method, pattern, _ := strings.Cut(e.Pattern, " ")
	mux := http.NewServeMux()
	through := false
	mux.Handle(e.Pattern, gate.Protect(e.Rule, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { through = true })))
	target := strings.NewReplacer("{run}", "run-one", "{$}", "").Replace(pattern)
	r := httptest.NewRequest(method, regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(target, "x"), nil)
	if as != "" {
		r.Header.Set("Authorization", "Bearer "+as)
	}
	mux.ServeHTTP(httptest.NewRecorder(), r)
	if through {
		return "yes"
	}
	return "–"
}
