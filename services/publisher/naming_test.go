package publisher

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	ggcrregistry "github.com/google/go-containerregistry/pkg/registry"

	"github.com/sluiceci/sluice/pkg/definition"
	"github.com/sluiceci/sluice/pkg/definition/tree"
	"github.com/sluiceci/sluice/pkg/dialect/ray"
	"github.com/sluiceci/sluice/pkg/dialect/ray/images"
	raypublish "github.com/sluiceci/sluice/pkg/dialect/ray/publish"
	raywheels "github.com/sluiceci/sluice/pkg/dialect/ray/wheels"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/plan"
	"github.com/sluiceci/sluice/pkg/release"
)

// both reads the example and, beside it, the delivered files of Ray that it includes.
type both []tree.Dir

func (b both) Glob(ctx context.Context, repo definition.Repo, glob string) ([]string, error) {
	var out []string
	for _, dir := range b {
		found, err := dir.Glob(ctx, repo, glob)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

func (b both) Read(ctx context.Context, repo definition.Repo, name string, limit int64) (text []byte, err error) {
	for _, dir := range b {
		if text, err = dir.Read(ctx, repo, name, limit); err == nil {
			return text, nil
		}
	}
	return nil, err
}

// rayExample is examples/ray as it is.
func rayExample(t *testing.T) *definition.Definition {
	t.Helper()
	root := filepath.Join("..", "..", "examples", "ray")
	text, err := os.ReadFile(filepath.Join(root, "sluice.yaml"))
	check(t, err)
	targets := map[string][]definition.TargetOption{}
	for _, kind := range Kinds() {
		for _, o := range kind.Options {
			targets[kind.Name] = append(targets[kind.Name], definition.TargetOption{Name: o.Name, Required: o.Required, Secret: o.Secret})
		}
	}
	def, err := definition.Load(t.Context(), "sluice.yaml", text, definition.Options{
		Loader:   both{{Root: root}, {Root: filepath.Join("..", "..", "test", "data", "ray", "2024-11")}},
		Dialects: map[string]plan.Dialect{"ray": ray.Dialect{}}, Targets: targets,
	})
	check(t, err)
	return def
}

const rayCommit = "123456789012345678901234567890123456abcd"

// raySource is a change of a branch as the gateway tells it.
func raySource(kind release.ChangeKind, branch, frequency string) release.Change {
	c := release.Change{
		Kind: kind, Project: "rayish", Repo: "ray-project/rayish", Ref: "refs/heads/" + branch, Branch: branch, Commit: rayCommit,
		Verified: "signature", At: time.Date(2024, 11, 5, 3, 0, 0, 0, time.UTC),
	}
	if frequency != "" {
		c.Parameters = map[string]string{"frequency": frequency}
	}
	if kind == release.Schedule {
		c.Parameters["schedule"] = frequency
	}
	return c
}

func rayPlan(t *testing.T, def *definition.Definition, c release.Change) *plan.Plan {
	t.Helper()
	p, err := definition.Resolve(def, definition.Request{Change: c})
	check(t, err)
	for _, target := range p.Targets {
		check(t, Check(target))
	}
	return p
}

func offered(p *plan.Plan) string {
	var out []string
	for _, t := range p.Targets {
		out = append(out, t.Name)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// TestRayIsPublishedByItsRules holds the targets that examples/ray offers to each change against the decisions of Ray's rules.
func TestRayIsPublishedByItsRules(t *testing.T) {
	t.Parallel()
	def := rayExample(t)
	for _, c := range []struct {
		change release.Change
		want   string
	}{
		{raySource(release.Schedule, "master", "nightly"), "images jars"},
		{raySource(release.Manual, "master", "nightly"), "images jars"},
		{raySource(release.Schedule, "master", "weekly"), "jars"},
		{raySource(release.Push, "master", ""), "jars"},
		{raySource(release.Push, "releases/2.40.0", ""), "images production test-index"},
		{raySource(release.Push, "topic", ""), ""},
		{raySource(release.Manual, "topic", "nightly"), ""},
		{raySource(release.PullRequest, "master", ""), ""},
		{raySource(release.PullRequest, "releases/2.40.0", ""), ""},
	} {
		p := rayPlan(t, def, c.change)
		name := fmt.Sprintf("%s of %s %v", c.change.Kind, c.change.Branch, c.change.Parameters)
		if got := offered(p); got != c.want {
			t.Errorf("%s offers %q, want %q", name, got, c.want)
		}
		build := raypublish.Build{
			Pipeline: raypublish.Postmerge, Branch: c.change.Branch, PullRequest: c.change.Kind == release.PullRequest, Upload: true,
			Nightly: c.change.Parameters["frequency"] == "nightly",
		}
		for target, rule := range map[string]raypublish.Decision{
			"images": raypublish.PushImages(build), "jars": raypublish.DeployJars(build, []string{"darwin", "linux"}),
		} {
			if got := strings.Contains(offered(p), target); got != rule.Do {
				t.Errorf("%s offers %s: %v, where Ray's rule says %v: %s", name, target, got, rule.Do, rule.Why)
			}
		}
	}
}

// TestRayIsWhole: what both indexes get are the forty wheels and no other, the gate demands the test that counts them, a JAR is
// not joined without the natives of both systems, and images are Ray's whole matrix.
func TestRayIsWhole(t *testing.T) {
	t.Parallel()
	p := rayPlan(t, rayExample(t), raySource(release.Push, "releases/2.40.0", ""))
	var files []string
	shapes := map[string]int{}
	natives := 0
	for _, task := range p.Tasks {
		switch task.Job {
		case "wheel":
			tag := "cp" + strings.ReplaceAll(task.Matrix["python"], ".", "")
			for _, product := range []string{"ray", "ray_cpp"} {
				files = append(files, fmt.Sprintf("%s-2.40.0-%s-%s-%s.whl", product, tag, tag, task.Matrix["platform"]))
			}
		case "image", "image-ml":
			suffixes, err := images.Release2024().Suffixes(rayImage(task.Matrix))
			check(t, err)
			shapes[task.Matrix["kind"]] += len(suffixes)
		case "multiplatform-jar":
			for _, in := range task.Inputs {
				natives += len(in.From)
			}
		}
	}
	check(t, raywheels.Release2024().Complete("2.40.0", files))
	if shapes["ray"] != 70 || shapes["ray-ml"] != 16 {
		t.Errorf("the images have %v tags, want 70 of ray and 16 of ray-ml", shapes)
	}
	if natives != 2 || !slices.Contains(p.Gate.Tests, "complete") || !p.Gate.Builds {
		t.Errorf("a JAR of %d natives, want 2; the gate demands %d tests", natives, len(p.Gate.Tests))
	}
	for _, name := range []string{"test-index", "production"} {
		i := slices.IndexFunc(p.Targets, func(t plan.Target) bool { return t.Name == name })
		if !slices.Equal(p.Targets[i].Select, []string{"wheel"}) {
			t.Errorf("%s selects %v", name, p.Targets[i].Select)
		}
	}
}

func rayImage(m map[string]string) images.Image {
	return images.Image{Type: m["kind"], Python: m["python"], Platform: m["base"], Arch: m["arch"]}
}

// TestRayPromotesTestedWheels: no wheel reaches the production index before the test index and the images were verified.
func TestRayPromotesTestedWheels(t *testing.T) {
	t.Parallel()
	p := rayPlan(t, rayExample(t), raySource(release.Push, "releases/2.40.0", ""))
	planned := event.RunPlanned{Change: p.Change, Plan: "sha256:plan", Release: p.Release}
	for _, target := range p.Targets {
		planned.Targets = append(planned.Targets, event.TargetName{Name: target.Name, Kind: target.Kind})
	}
	s := newSaga()
	s.apply(fact(planned))
	s.apply(fact(openedFact()))
	var order []string
	for range 100 {
		for _, said := range s.decide() {
			s.apply(fact(said))
			if step, is := said.(event.PublicationRequested); is {
				order = append(order, step.Target+" "+string(step.State))
				s.apply(fact(event.PublicationAdvanced{Target: step.Target, Kind: step.Kind, State: step.State, Round: step.Round}))
			}
		}
	}
	last := order[len(order)-2:]
	if !s.published || !slices.Equal(last, []string{"production committed", "production verified"}) ||
		slices.Index(order, "test-index verified") > slices.Index(order, "production committed") {
		t.Errorf("published %v in the order %q", s.published, order)
	}
}

// TestRayTagsAreThoseOfTheRule publishes the images of a nightly and of a release to a registry, and compares every tag there
// with the set that Ray's rule gives; a nightly after it moves what may move, and nothing else.
func TestRayTagsAreThoseOfTheRule(t *testing.T) {
	t.Parallel()
	registry := httptest.NewServer(ggcrregistry.New(ggcrregistry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(registry.Close)
	def, matrix := rayExample(t), images.Release2024()
	want := map[string][]string{}
	expect := func(versions ...string) {
		for _, kind := range []string{"ray", "ray-ml"} {
			for _, version := range versions {
				want[kind] = append(want[kind], matrix.All(kind, version)...)
			}
			slices.Sort(want[kind])
			want[kind] = slices.Compact(want[kind])
			if diff := cmp.Diff(want[kind], registryTags(t, registry.URL, kind)); diff != "" {
				t.Errorf("tags of %s (-rule +registry):\n%s", kind, diff)
			}
		}
	}
	nightly := raySource(release.Schedule, "master", "nightly")
	publishImages(t, def, nightly, registry.URL, "")
	expect("nightly.241105.123456", "nightly")
	before := named(t, registry.URL, "ray:nightly-py310-cpu")
	publishImages(t, def, raySource(release.Push, "releases/2.40.0", ""), registry.URL, "")
	expect("2.40.0.123456")
	nightly.At, nightly.Commit = nightly.At.Add(24*time.Hour), release.Commit(strings.Repeat("cd", 20))
	publishImages(t, def, nightly, registry.URL, "3.10")
	if got := named(t, registry.URL, "ray:nightly.241105.123456-py310-cpu"); got != before {
		t.Errorf("the first night's tag names %s now, want %s", got, before)
	}
	if got, want := named(t, registry.URL, "ray:nightly-py310-cpu"), named(t, registry.URL, "ray:nightly.241106.cdcdcd-py310-cpu"); got != want || got == before {
		t.Errorf("nightly names %s, want the second night's %s and no more %s", got, want, before)
	}
}

// publishImages publishes what the example's image builds leave for a change, of one Python or of all.
func publishImages(t *testing.T, def *definition.Definition, c release.Change, registry, python string) {
	t.Helper()
	p := rayPlan(t, def, c)
	stored := map[release.Digest][]byte{}
	var artifacts []release.Artifact
	for _, task := range p.Tasks {
		if !strings.HasPrefix(task.Job, "image") || python != "" && task.Matrix["python"] != python {
			continue
		}
		b := imageTar(t, string(task.ID)+string(c.Commit), false)
		d := release.DigestOf(b)
		stored[d] = b
		artifacts = append(artifacts, release.Artifact{
			Name: string(task.ID) + ".tar", Type: "image", Job: task.Job, Task: task.ID, Matrix: task.Matrix, Digest: d, Size: int64(len(b)),
		})
	}
	i := slices.IndexFunc(p.Targets, func(t plan.Target) bool { return t.Name == "images" })
	target, err := Open(p.Targets[i], Setup{Temp: t.TempDir()}, func(string) (string, error) { return strings.TrimPrefix(registry, "http://"), nil })
	check(t, err)
	candidate := release.NewCandidate(c.RunID(), c.Commit, artifacts)
	items, err := Select(candidate, p.Targets[i], func(_ context.Context, d release.Digest) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(stored[d])), nil
	})
	check(t, err)
	r := Release{Run: c.RunID(), Project: c.Project, Commit: c.Commit, Branch: c.Branch, Change: c, Candidate: candidate, Items: items}
	check(t, target.Stage(t.Context(), r))
	check(t, target.Commit(t.Context(), r))
}

func registryTags(t *testing.T, registry, kind string) []string {
	t.Helper()
	text, _ := fetched(t, registry+"/v2/rayproject/"+kind+"/tags/list?n=10000")
	var page struct{ Tags []string }
	check(t, json.Unmarshal(text, &page))
	slices.Sort(page.Tags)
	return page.Tags
}

// named is the digest that a tag names.
func named(t *testing.T, registry, image string) release.Digest {
	t.Helper()
	kind, tag, _ := strings.Cut(image, ":")
	text, ok := fetched(t, registry+"/v2/rayproject/"+kind+"/manifests/"+tag)
	if !ok {
		t.Fatalf("%s is not there", image)
	}
	return release.DigestOf(text)
}

func fetched(t *testing.T, url string) ([]byte, bool) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	check(t, err)
	response, err := http.DefaultClient.Do(request)
	check(t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	check(t, err)
	return text, response.StatusCode == http.StatusOK
}
