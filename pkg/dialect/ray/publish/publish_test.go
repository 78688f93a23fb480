package publish

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

const sha = "0123456789abcdef0123456789abcdef01234567"

// TestPushImages is I13 and I14.
func TestPushImages(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		build Build
		want  bool
	}{
		"I13 a release branch":        {Build{Pipeline: Postmerge, Branch: "releases/1.0.0", Upload: true}, true},
		"I13 nightly of master":       {Build{Pipeline: Postmerge, Branch: "master", Nightly: true, Upload: true}, true},
		"I13 another pipeline":        {Build{Pipeline: Premerge, Branch: "master", Nightly: true, Upload: true}, false},
		"I13 non-release/1.2.3":       {Build{Pipeline: Postmerge, Branch: "non-release/1.2.3", Upload: true}, false},
		"I13 branch 123 at night":     {Build{Pipeline: Postmerge, Branch: "123", Nightly: true, Upload: true}, false},
		"I13 uploads are off":         {Build{Pipeline: Postmerge, Branch: "releases/1.0.0"}, false},
		"I13 off at night":            {Build{Pipeline: Postmerge, Branch: "master", Nightly: true}, false},
		"I14 master by day":           {Build{Pipeline: Postmerge, Branch: "master", Upload: true}, false},
		"a pull request into release": {Build{Pipeline: Postmerge, Branch: "releases/1.0.0", Upload: true, PullRequest: true}, false},
		"a fork":                      {Build{Pipeline: Postmerge, Branch: "master", Nightly: true, Upload: true, Fork: true}, false},
	} {
		if got := PushImages(c.build); got.Do != c.want || got.Why == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestUploads is I15 and I16.
func TestUploads(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		got            Upload
		branch, latest bool
	}{
		"I15 master":         {UploadArtifacts(Build{Pipeline: Postmerge, Branch: "master"}), true, true},
		"I15 another branch": {UploadArtifacts(Build{Pipeline: Postmerge, Branch: "releases/2.9.0"}), true, false},
		"I15 premerge":       {UploadArtifacts(Build{Pipeline: Premerge, Branch: "master"}), false, false},
		"I15 skipped":        {UploadArtifacts(Build{Pipeline: Postmerge, Branch: "master", Skip: true}), false, false},
		"I15 a pull request": {UploadArtifacts(Build{Pipeline: Postmerge, Branch: "master", PullRequest: true}), false, false},
		"I16 a pull request": {UploadMacOS(Build{Branch: "wip", PullRequest: true}), false, false},
		"I16 a branch":       {UploadMacOS(Build{Branch: "wip"}), true, false},
		"I16 master":         {UploadMacOS(Build{Branch: "master"}), true, true},
		"I16 skipped":        {UploadMacOS(Build{Branch: "master", Skip: true}), false, false},
	} {
		if c.got.Branch.Do != c.branch || c.got.Latest.Do != c.latest {
			t.Errorf("%s: %+v", name, c.got)
		}
	}
}

// TestI17DeployJars: who may not deploy does not, and that is no success; who is to and cannot has failed.
func TestI17DeployJars(t *testing.T) {
	t.Parallel()
	both := []string{"linux", "darwin"}
	for name, c := range map[string]struct {
		build   Build
		natives []string
		want    release.Outcome
	}{
		"a pull request":           {Build{Branch: "master", PullRequest: true}, both, ""},
		"a fork":                   {Build{Branch: "master", Fork: true}, both, ""},
		"another branch":           {Build{Branch: "releases/2.9.0"}, both, ""},
		"master":                   {Build{Branch: "master"}, both, release.Success},
		"master, linux is missing": {Build{Branch: "master"}, []string{"darwin"}, release.Error},
		"master, none":             {Build{Branch: "master"}, nil, release.Error},
	} {
		if got := DeployJars(c.build, c.natives); got.Outcome() != c.want || got.Why == "" {
			t.Errorf("%s: %+v, outcome %q", name, got, got.Outcome())
		}
	}
}

// TestI20RecordResults says whose test results are kept.
func TestI20RecordResults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		build Build
		want  bool
	}{
		"master after a merge":         {Build{Pipeline: Postmerge, Branch: "master"}, true},
		"another branch after a merge": {Build{Pipeline: Postmerge, Branch: "wip"}, false},
		"any branch before":            {Build{Pipeline: Premerge, Branch: "wip"}, true},
		"an unknown pipeline":          {Build{Pipeline: "x", Branch: "master"}, false},
		"a bisection":                  {Build{Pipeline: Postmerge, Branch: "master", Bisecting: true}, false},
	} {
		if got := RecordResults(c.build); got.Do != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestLayout(t *testing.T) {
	t.Parallel()
	p := Place{Branch: "releases/2.9.0", Commit: sha, OS: "linux", Job: "j1"}
	for destination, want := range map[string]string{
		"wheels": "latest/f", "branch_wheels": "releases/2.9.0/" + sha + "/f", "jars": "jars/latest/linux/f",
		"branch_jars": "jars/releases/2.9.0/" + sha + "/linux/f", "logs": "bazel_events/releases/2.9.0/" + sha + "/j1/f",
	} {
		if got, err := p.Path(destination, "f"); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", destination, got, err, want)
		}
	}
	for _, bad := range []struct {
		place             Place
		destination, file string
	}{
		{p, "docker_login", "f"},
		{p, "wheels", ""},
		{p, "wheels", "a/b"},
		{p, "wheels", ".."},
		{Place{}, "branch_wheels", "f"},
		{Place{Branch: "../x", Commit: sha}, "branch_wheels", "f"},
		{Place{Branch: "/x", Commit: sha}, "branch_wheels", "f"},
		{Place{Branch: "a/../../b", Commit: sha}, "branch_wheels", "f"},
		{Place{Branch: "b", Commit: sha}, "branch_jars", "f"},
	} {
		if got, err := bad.place.Path(bad.destination, bad.file); err == nil {
			t.Errorf("%+v goes to %s", bad, got)
		}
	}
}

// TestI21WheelSteps are the commands of a build.
func TestI21WheelSteps(t *testing.T) {
	t.Parallel()
	got, err := WheelSteps("3.10", "optimized")
	if err != nil || !slices.Equal(got, []string{"./ci/build/build-manylinux-ray.sh", "./ci/build/build-manylinux-wheel.sh cp310-cp310", "chown -R 2000:100 /artifact-mount"}) {
		t.Errorf("%q, %v", got, err)
	}
	got, err = WheelSteps("3.9", "debug")
	if err != nil || len(got) != 4 || got[0] != "export RAY_DEBUG_BUILD=debug" || !strings.HasSuffix(got[2], " cp39-cp39") {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := WheelSteps("3.9", "fast"); err == nil {
		t.Error("there are fast builds")
	}
}

// TestI22Bump changes three files and every pom, and nothing else.
func TestI22Bump(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"ci/ray_ci/utils.py": "RAY_VERSION = \"3.0.0.dev0\"", "python/ray/_version.py": "version = \"3.0.0.dev0\"", "src/ray/common/constants.h": "kRayVersion = \"3.0.0.dev0\"",
		"java/pom.xml": "<version>2.0.0-SNAPSHOT</version>", "java/api/pom_template.xml": "2.0.0-SNAPSHOT 2.0.0-SNAPSHOT",
		"java/x/pom.xml": "no version of ours", "README.rst": "3.0.0.dev0 2.0.0-SNAPSHOT", "java/pom.xml.bak": "2.0.0-SNAPSHOT",
	}
	got, err := Bump(files, Master(), Versions{"2.3.3", "2.3.3"})
	if err != nil || len(got) != 5 {
		t.Fatalf("%d files changed, %v", len(got), err)
	}
	for name, text := range got {
		if strings.Contains(text, "dev0") || strings.Contains(text, "SNAPSHOT") || !strings.Contains(text, "2.3.3") || !Bumped(name) {
			t.Errorf("%s is %q", name, text)
		}
	}
	if Bumped("README.rst") || Bumped("java/pom.xml.bak") {
		t.Error("a page holds the version")
	}
	for name := range got {
		if isPOM(name) {
			continue
		}
		without := map[string]string{}
		for k, v := range files {
			if k != name {
				without[k] = v
			}
		}
		if _, err := Bump(without, Master(), Versions{"2.3.3", "2.3.3"}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
	if _, err := Bump(files, Versions{"1.0", "1.0"}, Versions{"2.3.3", "2.3.3"}); err == nil {
		t.Error("a version that nothing holds is changed")
	}
	if _, err := Bump(files, Master(), Versions{"3.1.0.dev0", "x"}); err == nil {
		t.Error("a release is called dev0")
	}
}

func TestUploaded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status, try int
		want        fault.Kind
	}{
		{200, 1, ""},
		{204, 5, ""},
		{500, 1, fault.Transient},
		{503, 4, fault.Transient},
		{503, 5, fault.Invalid},
		{403, 1, fault.Denied},
		{404, 1, fault.Invalid},
		{301, 1, fault.Invalid},
		{0, 1, fault.Invalid},
	} {
		if got := fault.Of(Uploaded(c.status, c.try)); got != c.want {
			t.Errorf("%d at try %d: %q, want %q", c.status, c.try, got, c.want)
		}
	}
}
