package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/dialect/ray/images"
	"github.com/sluiceci/sluice/pkg/dialect/ray/wheels"
	outside "github.com/sluiceci/sluice/pkg/world"
)

// proveNightly looks at what a nightly of master leaves: images under moving and dated tags, a JAR, and no wheel in any index.
func (w *world) proveNightly(ctx context.Context, s *sluice, run, commit string) error {
	var d struct {
		Run struct {
			Received time.Time `json:"received_at"`
		} `json:"run"`
	}
	if err := s.get(ctx, "/runs/"+run, &d); err != nil {
		return err
	}
	date := d.Run.Received.UTC().Format("060102")
	if err := w.tagged(ctx, commit, "nightly."+date+"."+commit[:6], "nightly"); err != nil {
		return err
	}
	if n := len(w.PyPI.Uploads()); n > 0 {
		return fmt.Errorf("the nightly published %d wheels", n)
	}
	if _, err := sh(ctx, w.dir, "python3", "-c", "import sys,zipfile\n"+
		"names=zipfile.ZipFile(sys.argv[1]).namelist()\n"+
		"assert 'native/linux/libcore.txt' in names and 'native/darwin/libcore.txt' in names, names", w.jar(commit)); err != nil {
		return err
	}
	say("   a JAR with the natives of both systems; no wheel in any index")
	return w.recorded(ctx, s, run, commit)
}

// recorded reads the records of a run's tests where they are kept: of each attempt one, with Ray's fields.
func (w *world) recorded(ctx context.Context, s *sluice, run, commit string) error {
	d, err := s.detail(ctx, run)
	if err != nil {
		return err
	}
	attempts := 0
	for _, t := range d.Tasks {
		if t.Kind == "test" && t.Name != "complete" && !strings.HasPrefix(t.Name, "test-wheels") {
			attempts += len(t.Attempts)
		}
	}
	tars, err := w.exported(ctx, commit, attempts)
	if err != nil {
		return err
	}
	statuses := map[string]int{}
	for _, file := range tars {
		status, err := w.status(ctx, file)
		if err != nil {
			return err
		}
		statuses[status]++
	}
	if statuses["success"] != 141 || statuses["transient_infra_error"] != 1 || statuses["error"] < 2 {
		return fmt.Errorf("the records of the nightly say %v, want 141 successes, one transient fault of the infrastructure and two errors", statuses)
	}
	say("   a record of each of %d attempts is in the exports, %d of them errors of tests, one the infrastructure's", attempts, statuses["error"])
	return nil
}

// exported waits until what all attempts of a run of a commit left is exported.
func (w *world) exported(ctx context.Context, commit string, want int) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		var tars []string
		for _, run := range []string{"", "runs/*/"} { // another run of the commit may have been planned before
			found, err := filepath.Glob(w.Path("exports/master/" + commit + "/" + run + "results/*/*.artifacts.tar"))
			if err != nil {
				return nil, err
			}
			tars = append(tars, found...)
		}
		if len(tars) == want {
			return tars, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%d attempts left something in the exports, want %d", len(tars), want)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// status is that of a record, which has what Ray's has.
func (w *world) status(ctx context.Context, file string) (string, error) {
	text, err := sh(ctx, w.dir, "tar", "-xOf", file, "result.json")
	if err != nil {
		return "", err
	}
	var r struct {
		Status  string          `json:"status"`
		Code    *int            `json:"return_code"`
		Results *map[string]any `json:"results"`
		Logs    *string         `json:"last_logs"`
		Tags    struct {
			Env string `json:"env"`
		} `json:"extra_tags"`
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil || r.Code == nil || r.Results == nil || r.Logs == nil || r.Tags.Env == "" {
		return "", fmt.Errorf("the record %s is %s: %w", file, text, err)
	}
	return r.Status, nil
}

// jar is where the JAR of a commit is served from.
func (w *world) jar(commit string) string {
	return w.Path(fmt.Sprintf("published/maven/io/ray/ray-runtime/2.0.0-%s/ray-runtime-2.0.0-%s.jar", commit[:8], commit[:8]))
}

// tagged compares the tags of the registry with those that Ray's rule gives to these versions, and pulls some.
func (w *world) tagged(ctx context.Context, commit string, versions ...string) error {
	count := 0
	for _, kind := range []string{"ray", "ray-ml"} {
		there, err := w.tags(ctx, kind)
		if err != nil {
			return err
		}
		for _, version := range versions {
			want := images.Release2024().All(kind, version)
			got := slices.DeleteFunc(slices.Clone(there), func(tag string) bool { return tag != version && !strings.HasPrefix(tag, version+"-") })
			if !slices.Equal(got, want) {
				return fmt.Errorf("%s has %d tags of %s, want the %d of the rule: %q and %q", kind, len(got), version, len(want), got, want)
			}
			count += len(want)
		}
	}
	for _, tag := range []string{"ray:%s-py39-cpu", "ray:%s", "ray:%s-gpu", "ray:%s-aarch64", "ray-ml:%s-py39", "ray-ml:%s"} {
		image := strings.TrimPrefix(w.URL("registry"), "http://") + "/rayproject/" + fmt.Sprintf(tag, versions[len(versions)-1])
		if _, got, err := outside.PullImage(ctx, image); err != nil || got != commit {
			return fmt.Errorf("pulled commit %q as %s, want %s: %w", got, image, commit, err)
		}
	}
	say("   46 images under exactly the %d tags of Ray's rule for %s", count, strings.Join(versions, " and "))
	return nil
}

// tags lists those of a repository.
func (w *world) tags(ctx context.Context, kind string) ([]string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.URL("registry")+"/v2/rayproject/"+kind+"/tags/list?n=10000", nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	var page struct{ Tags []string }
	err = json.NewDecoder(response.Body).Decode(&page)
	slices.Sort(page.Tags)
	return page.Tags, err
}

// whole holds the wheels of an index against the forty of a release.
func whole(uploads map[string]int, commit string) error {
	number, err := strconv.ParseUint(commit[:9], 16, 64)
	if err != nil {
		return err
	}
	var files []string
	for file := range uploads {
		files = append(files, file)
	}
	return wheels.Release2024().Complete(fmt.Sprintf("3.0.0.dev%d", number), files)
}

// prove looks at what users can get, as they would.
func (w *world) prove(ctx context.Context, commit string) error {
	uploads := w.PyPI.Uploads()
	for file, n := range uploads {
		if n != 1 {
			return fmt.Errorf("%s was published %d times, want once", file, n)
		}
	}
	if err := whole(uploads, commit); err != nil {
		return err
	}
	say("   40 wheels in the production index, each uploaded once")
	if err := w.tagged(ctx, commit, strings.TrimPrefix(releaseBranch, "releases/")+"."+commit[:6]); err != nil {
		return err
	}
	if _, err := os.Stat(w.jar(commit)); err == nil {
		return fmt.Errorf("a JAR of %s was deployed, which is master's to do", releaseBranch)
	}
	return w.install(ctx, commit)
}

// install installs both products from both indexes with the pip of this machine, where it is one of the release's Pythons.
func (w *world) install(ctx context.Context, commit string) error {
	for _, version := range []string{"3.9", "3.10", "3.11", "3.12"} {
		python, err := exec.LookPath("python" + version)
		if err == nil { // a shim may stand for a Python that is not chosen
			_, err = sh(ctx, w.dir, python, "-m", "pip", "--version")
		}
		if err != nil {
			continue
		}
		for _, index := range []string{w.URL("files") + "/index/simple/", w.URL("pypi") + "/simple/"} {
			dir, err := os.MkdirTemp(w.dir, "user-")
			if err != nil {
				return err
			}
			got, err := outside.PipInstall(ctx, python, index, dir, "import ray, ray_cpp; print(ray.__commit__)", "--pre", "ray", "ray_cpp")
			if err != nil || got != commit {
				return fmt.Errorf("pip of Python %s installed commit %q from %s, want %s: %w", version, got, index, commit, err)
			}
		}
		say("   pip install ray ray_cpp with Python %s, from the test index and from production", version)
		return nil
	}
	say("   – no Python from 3.9 to 3.12 here: pip was left out")
	return nil
}
