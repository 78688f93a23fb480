package definition_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceci/sluice/pkg/definition"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/plan/show"
	"github.com/sluiceci/sluice/pkg/release"
)

func updating() bool {
	f := flag.Lookup("update")
	return f != nil && f.Value.String() == "true"
}

func TestMain(m *testing.M) {
	flag.Bool("update", false, "write the golden files and docs/definition.md anew")
	flag.Parse()
	os.Exit(m.Run())
}

const commit = "4f2a9c1d0123456789abcdef0123456789abcdef"

// request reads the lines "#? key=value" of a case: what its definition is resolved for.
func request(t *testing.T, text []byte) definition.Request {
	t.Helper()
	r := definition.Request{
		Change: release.Change{Kind: release.Push, Repo: "acme/demo", Branch: "master", Commit: commit}, Trust: release.TrustTrusted,
	}
	for line := range strings.Lines(string(text)) {
		rest, ok := strings.CutPrefix(line, "#? ")
		if !ok {
			continue
		}
		key, value, _ := strings.Cut(strings.TrimSpace(rest), "=")
		switch key {
		case "event":
			r.Change.Kind = release.ChangeKind(value)
		case "branch":
			r.Change.Branch = value
		case "ref":
			r.Change.Ref = value
		case "title":
			r.Change.Title = value
		case "changed":
			r.Changed = append(r.Changed, value)
		case "preset":
			r.Presets = append(r.Presets, value)
		case "set":
			r.Set = append(r.Set, value)
		case "env":
			r.Environment = value
		case "select":
			r.Select = append(r.Select, value)
		case "format": // of the golden file
		case "skip":
			r.Skip = append(r.Skip, value)
		case "param":
			name, value, _ := strings.Cut(value, "=")
			if r.Change.Parameters == nil {
				r.Change.Parameters = map[string]string{}
			}
			r.Change.Parameters[name] = value
		default:
			t.Fatalf("unknown key %q in the case", key)
		}
	}
	if r.Change.Ref == "" {
		r.Change.Ref = "refs/heads/" + r.Change.Branch
	}
	return r
}

// resolved is the plan of a text, or its problems, as one golden text.
func resolved(t *testing.T, name string, text []byte) (golden string, p *plan.Plan) {
	t.Helper()
	def, err := definition.Load(t.Context(), name, text, options())
	if err != nil {
		return "cannot parse\n" + err.Error() + "\n", nil
	}
	req := request(t, text)
	starts, why := definition.Triggered(def, req.Change)
	header := "starts no run: " + why + "\n"
	if starts {
		header = "starts a run: " + why + "\n"
	}
	p, err = definition.Resolve(def, req)
	if err != nil {
		return header + "cannot resolve\n" + err.Error() + "\n", nil
	}
	var b bytes.Buffer
	if bytes.Contains(text, []byte("#? format=table\n")) {
		show.Table(&b, p)
		return header + b.String(), p
	}
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(p); err != nil {
		t.Fatal(err)
	}
	return header + b.String(), p
}

func cases(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) < 80 {
		t.Fatalf("found %d cases in testdata (%v), expected at least 80", len(files), err)
	}
	return files
}

// TestGolden resolves every case and compares the plan, or the problems as a person reads them, with its golden file.
func TestGolden(t *testing.T) {
	for _, file := range cases(t) {
		name := filepath.Base(file)
		t.Run(strings.TrimSuffix(name, ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got, _ := resolved(t, name, text)
			compareGolden(t, strings.TrimSuffix(file, ".yaml")+".golden", got)
		})
	}
}

func compareGolden(t *testing.T, file, got string) {
	t.Helper()
	if updating() {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; write it with go test -update", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got), write it anew with go test -update if that is right:\n%s", file, diff)
	}
}
