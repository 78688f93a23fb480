package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sluiceci/sluice/pkg/dialect/ray/wheels"
)

const rayWheelFile = "ray-3.0.0.dev0-cp39-cp39-manylinux2014_x86_64.whl"

const rayWheelTests = `- name: sample
  group: g
  working_dir: dir
  frequency: nightly
  team: core
  cluster:
    byod: {}
    cluster_compute: compute.yaml
  run:
    timeout: 100
    script: test -f "$SLUICE_INPUTS/ray-wheel/` + rayWheelFile + `" && test "$RAY_COMMIT $RAY_BRANCH $RAY_VERSION" = "$(git rev-parse HEAD) master 3.0.0.dev0"
`

// wheelHouse is Ray's repository with its release tests, and a server on which wheels appear.
type wheelHouse struct {
	dir, url, commit string

	mu    sync.Mutex
	files map[string][]byte
	asked map[string]int
	after int // questions until a file that is there is shown
}

// newWheelHouse makes the repository; the include of its definition has the options that are given.
func newWheelHouse(t *testing.T, options string) *wheelHouse {
	t.Helper()
	h := &wheelHouse{dir: t.TempDir(), files: map[string][]byte{}, asked: map[string]int{}}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	h.url = server.URL
	for name, text := range map[string]string{
		"sluice.yaml": "project: p\ninclude: [{ray: release/tests.yaml, options: " + options + "}]\n" +
			"environments: {aws: {}}\npools: [{name: any}]\ngate: {require: [builds, tests]}\n",
		"release/tests.yaml": rayWheelTests, "release/dir/compute.yaml": "head_node_type: {instance_type: m5.xlarge}\n",
		"python/ray/__init__.py": "__version__ = \"3.0.0.dev0\"\n",
	} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(h.dir, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o600))
	}
	for _, args := range [][]string{{"init", "-q", "-b", "master"}, {"add", "."}, {"-c", "user.name=A", "-c", "user.email=a@b", "commit", "-qm", "x"}} {
		out, err := exec.Command("git", append([]string{"-C", h.dir}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	out, err := exec.Command("git", "-C", h.dir, "rev-parse", "HEAD").Output()
	must(t, err)
	h.commit = strings.TrimSpace(string(out))
	return h
}

func (h *wheelHouse) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked[r.URL.Path]++
	body, there := h.files[r.URL.Path]
	if !there || h.asked[r.URL.Path] <= h.after {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	_, _ = w.Write(body)
}

// put lays the wheel of the commit on the server, with a commit in it.
func (h *wheelHouse) put(t *testing.T, carries string) {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	f, err := z.Create("ray/_version.py")
	must(t, err)
	_, err = fmt.Fprintf(f, "version = \"3.0.0.dev0\"\ncommit = \"%s\"\n", carries)
	must(t, err)
	must(t, z.Close())
	h.files["/B/master/"+h.commit+"/"+rayWheelFile] = b.Bytes()
}

// flags say where the house is.
func (h *wheelHouse) flags() []string {
	return []string{"--wheels-at", h.url + "/B", "--pull-requests-at", h.url + "/F", "--mirror", wheels.Main + "=file://" + h.dir}
}

// config is an installation's file that says where the house is.
func (h *wheelHouse) config(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "installation.yaml")
	must(t, os.WriteFile(name, []byte(fmt.Sprintf("ray: {wheels: %q, pull_requests: %q, repositories: {%q: %q}}\n",
		h.url+"/B", h.url+"/F", wheels.Main, "file://"+h.dir)), 0o600))
	return name
}

// TestRayWheels: what is asked for is resolved with git and HTTP, waited for, and a wait that is over has code 30.
func TestRayWheels(t *testing.T) {
	t.Parallel()
	h := newWheelHouse(t, "{}")
	h.put(t, h.commit)
	h.after = 3
	want := h.url + "/B/master/" + h.commit + "/" + rayWheelFile
	got := sluice(t, append([]string{"ray", "wheels", h.commit, "--every", "10ms"}, h.flags()...)...)
	if got.code != 0 || got.out != want+"\n" {
		t.Errorf("H11, in time: exit %d, printed %q, said %q; want %s", got.code, got.out, got.talk, want)
	}
	got = sluice(t, append([]string{"ray", "wheels", h.commit, "--every", "10ms", "--wait", "50ms", "--python", "3.10"}, h.flags()...)...)
	if got.code != 30 || !strings.Contains(got.talk, "did not come within 50ms") {
		t.Errorf("H11, too late: exit %d, printed %q, said %q", got.code, got.out, got.talk)
	}
	got = sluice(t, append([]string{"ray", "wheels", "master", "--json"}, h.flags()...)...)
	var found wheels.Found
	if err := json.Unmarshal([]byte(got.out), &found); err != nil || got.code != 0 || string(found.Commit) != h.commit || found.Version != "3.0.0.dev0" || found.Branch != "master" {
		t.Errorf("H8: exit %d, printed %q (%v), said %q", got.code, got.out, err, got.talk)
	}
	if got = sluice(t, append([]string{"ray", "wheels", "none"}, h.flags()...)...); got.code == 0 || !strings.Contains(got.talk, "has no such branch") {
		t.Errorf("no such branch: exit %d, said %q", got.code, got.talk)
	}
	if got = sluice(t, "ray", "wheels", h.commit, "--mirror", "x"); got.code != 64 {
		t.Errorf("a bad mirror: exit %d, said %q", got.code, got.talk)
	}
}

// TestImportRayWheels: the wheels under test are tasks that fetch, and the tests need them.
func TestImportRayWheels(t *testing.T) {
	t.Parallel()
	h := newWheelHouse(t, "{}")
	args := append([]string{"import", "ray", filepath.Join(h.dir, "release/tests.yaml"), "--json", "--wheels", h.commit}, h.flags()...)
	got := sluice(t, args...)
	var plan struct {
		Tasks []struct {
			ID        string            `json:"id"`
			Kind      string            `json:"kind"`
			Pool      string            `json:"pool"`
			Needs     []string          `json:"needs"`
			Variables map[string]string `json:"variables"`
			Fetch     struct{ URL, Commit string }
		} `json:"tasks"`
	}
	if err := json.Unmarshal([]byte(got.out), &plan); err != nil || got.code != 0 || len(plan.Tasks) != 2 {
		t.Fatalf("exit %d, printed %q (%v), said %q", got.code, got.out, err, got.talk)
	}
	wheel, test := plan.Tasks[0], plan.Tasks[1]
	if wheel.ID != "ray-wheel-3_9" || wheel.Kind != "build" || wheel.Pool != "fetch" || wheel.Fetch.Commit != h.commit ||
		wheel.Fetch.URL != h.url+"/B/master/"+h.commit+"/"+rayWheelFile {
		t.Errorf("fetched by %+v", wheel)
	}
	if len(test.Needs) != 1 || test.Needs[0] != wheel.ID || test.Variables["RAY_COMMIT"] != h.commit ||
		test.Variables["RAY_BRANCH"] != "master" || test.Variables["RAY_VERSION"] != "3.0.0.dev0" || test.Variables["RAY_WHEELS"] != wheel.Fetch.URL {
		t.Errorf("tested by %+v", test)
	}
}

// TestRunOfRayWheels runs a definition that includes Ray's tests: the wheel is found by its branch, fetched, looked into and
// laid where its test finds it. One that carries another commit is tested by nobody.
func TestRunOfRayWheels(t *testing.T) {
	t.Parallel()
	h := newWheelHouse(t, "{wheels: master}")
	h.put(t, h.commit)
	got := sluice(t, "run", h.dir, "--config", h.config(t))
	if got.code != 0 || !strings.Contains(got.out, "✓ ray-wheel (3.9)") || !strings.Contains(got.out, "✓ sample") {
		t.Errorf("exit %d:\n%s%s", got.code, got.out, got.talk)
	}
	other := strings.Repeat("ab", 20)
	h.mu.Lock()
	h.put(t, other)
	h.mu.Unlock()
	got = sluice(t, "run", h.dir, "--config", h.config(t))
	if got.code == 0 || strings.Contains(got.out, "✓ sample") || !strings.Contains(got.out, other) || !strings.Contains(got.out, h.commit) {
		t.Errorf("another commit in the wheel: exit %d:\n%s%s", got.code, got.out, got.talk)
	}
}
