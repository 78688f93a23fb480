package wheelfind

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/dialect/ray/outcome"
	"github.com/sluiceci/sluice/pkg/dialect/ray/wheels"
	"github.com/sluiceci/sluice/pkg/fetch"
	"github.com/sluiceci/sluice/pkg/git"
	"github.com/sluiceci/sluice/pkg/release"
)

// house is a repository of Ray's kind, one of a fork, and a server of wheels.
type house struct {
	t       *testing.T
	server  string
	commits map[string][]string // by branch, newest first
	finder  Finder
	there   map[string]bool // paths that the server has
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{t: t, commits: map[string][]string{}, there: map[string]bool{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/latest/"):
			http.Redirect(w, r, "/B/master/"+h.commits["master"][1]+strings.TrimPrefix(r.URL.Path, "/latest"), http.StatusFound)
		case !h.there[r.URL.Path]:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	h.server = server.URL
	main, fork := h.repository("main", "master", "releases/2.9.0", "wip"), h.repository("fork", "feat", "dev", "master")
	cache, err := git.New(t.TempDir(), git.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h.finder = Finder{Git: cache, HTTP: fetch.New(fetch.Rules{Private: true}, nil), Config: Config{
		Wheels: h.server + "/B/", PullRequests: h.server + "/F", Repositories: map[string]string{
			wheels.Main: main, "https://github.com/user/ray.git": fork, "https://github.com/user/ray-fork.git": fork,
			"https://host.test/repo.git": fork,
		},
	}}
	return h
}

// repository makes a repository with three commits on each branch, and returns its URL.
func (h *house) repository(name string, branches ...string) string {
	h.t.Helper()
	dir := h.t.TempDir()
	run := func(args ...string) string {
		out, err := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=Ada", "-c", "user.email=a@example.com"}, args...)...).CombinedOutput()
		if err != nil {
			h.t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("init", "-q", "--initial-branch="+branches[0])
	if err := os.MkdirAll(filepath.Join(dir, "python/ray"), 0o755); err != nil {
		h.t.Fatal(err)
	}
	for file, text := range map[string]string{"__init__.py": "from ray._version import version\n", "_version.py": "version = \"3.0.0.dev0\"\n"} {
		if err := os.WriteFile(filepath.Join(dir, "python/ray", file), []byte(text), 0o644); err != nil {
			h.t.Fatal(err)
		}
	}
	run("add", "-A")
	for i, branch := range branches {
		if i > 0 {
			run("checkout", "-q", "-b", branch)
		}
		for range 3 {
			run("commit", "-q", "--allow-empty", "-m", name+" "+branch)
		}
		key := branch
		if name == "fork" {
			key = "user:" + branch
		}
		h.commits[key] = strings.Fields(run("rev-list", "--max-count=3", "HEAD"))
	}
	return "file://" + dir
}

const file39 = "ray-3.0.0.dev0-cp39-cp39-manylinux2014_x86_64.whl"

func (h *house) main(branch, commit string) string {
	return "/B/" + branch + "/" + commit + "/" + file39
}
func (h *house) fork(commit string) string { return "/F/" + commit + "/tmp/artifacts/.whl/" + file39 }

// TestVectorsOverGitAndHTTP is H1 to H14 again, with a repository that git reads and a server that is asked.
func TestVectorsOverGitAndHTTP(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	c0, c1, feat := h.commits["master"][0], h.commits["master"][1], h.commits["user:feat"][0]
	h.there[h.main("master", c1)], h.there[h.fork(h.commits["user:dev"][2])] = true, true
	h.there["/B/master/"+c1+"/ray-3.0-cp38-cp38-manylinux2014_x86_64.whl"] = true
	for name, c := range map[string]struct {
		spec   string
		ci     wheels.CI
		want   string // path of the wheel
		commit string
	}{
		"H2":            {"", wheels.CI{Commit: c0}, h.main("master", c0), c0},
		"H3":            {"", wheels.CI{Commit: h.commits["releases/2.9.0"][0], Branch: "releases/2.9.0"}, h.main("releases/2.9.0", h.commits["releases/2.9.0"][0]), h.commits["releases/2.9.0"][0]},
		"H4":            {"", wheels.CI{Commit: feat, Branch: "user:feat"}, h.fork(feat), feat},
		"H4 named":      {"", wheels.CI{Commit: feat, Branch: "user:feat", PullRequestRepo: "user/ray-fork"}, h.fork(feat), feat},
		"H5":            {"", wheels.CI{Commit: "HEAD", Branch: "wip"}, h.main("wip", h.commits["wip"][0]), h.commits["wip"][0]},
		"H6":            {c0, wheels.CI{}, h.main("master", c0), c0},
		"H6 in a build": {c0, wheels.CI{Branch: "wip"}, h.main("wip", c0), c0},
		"H7":            {"user:" + feat, wheels.CI{}, h.fork(feat), feat},
		"H8":            {"master", wheels.CI{}, h.main("master", c1), c1},
		"H9":            {"user:dev", wheels.CI{}, h.fork(h.commits["user:dev"][2]), h.commits["user:dev"][2]},
		"H9 main":       {"ray-project:master", wheels.CI{}, h.main("master", c1), c1},
		"H10 (differs)": {"https://host.test/repo.git:dev", wheels.CI{}, h.fork(h.commits["user:dev"][2]), h.commits["user:dev"][2]},
		"H12":           {h.server + "/B/master/" + c1 + "/ray-3.0-cp38-cp38-manylinux2014_x86_64.whl", wheels.CI{}, "/B/master/" + c1 + "/ray-3.0-cp39-cp39-manylinux2014_x86_64.whl", c1},
		"H13":           {h.server + "/unknown.whl", wheels.CI{}, "/unknown.whl", ""},
		"H14":           {h.server + "/latest/" + file39, wheels.CI{}, h.main("master", c1), c1},
	} {
		got, err := h.finder.Find(t.Context(), wheels.Wanted{Spec: c.spec, CI: c.ci, Pythons: []string{"3.9"}})
		if err != nil || len(got.Wheels) != 1 || got.Wheels[0].URL != h.server+c.want || got.Commit != release.Commit(c.commit) {
			t.Errorf("%s: %+v, %v; want %s of %s", name, got, err, c.want, c.commit)
			continue
		}
		if (name == "H13") != (len(got.Warnings) == 1) {
			t.Errorf("%s: warnings %q", name, got.Warnings)
		}
		if back, err := wheels.ParseFound(got.Answer()); err != nil || back.Answer() != got.Answer() {
			t.Errorf("%s: answered %s, read as %+v (%v)", name, got.Answer(), back, err)
		}
	}
}

// TestWhatIsNotFound has H1 and H8's other half.
func TestWhatIsNotFound(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for _, c := range []struct{ name, spec, want string }{
		{"H1", "", "none are named and the CI names no commit"},
		{"H8", "wip", "none of its last"},
		{"a branch that is not there", "nothing", "has no such branch"},
		{"a repository that nobody allows", "https://internal.test/secret.git:main", "names it neither in builder.includes"},
		{"a fork of another name", "https://github.com/acme/secret.git:main", "names it neither in builder.includes"},
	} {
		_, err := h.finder.Find(t.Context(), wheels.Wanted{Spec: c.spec, Pythons: []string{"3.9"}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v (code %d), want %q", c.name, err, outcome.CodeOf(err), c.want)
		}
	}
}
