package images

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/await"
)

const (
	sha  = "123456789012345678901234567890123456abcd"
	cuda = "cu12.1.1-cudnn8"
)

func tags(t *testing.T, i Image, b Build) []string {
	t.Helper()
	got, err := Release2024().Tags(i, b)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestBaseImages is I1 to I3.
func TestBaseImages(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		build        TestBuild
		kind, python string
		want         string
	}{
		"I1":                {TestBuild{Commit: "1234567890", Branch: "master"}, "cpu", "3.9", "ray:123456-py39-cpu"},
		"I1 gpu":            {TestBuild{Commit: "1234567890", Branch: "master"}, "gpu", "3.9", "ray-ml:123456-py39-gpu"},
		"I2":                {TestBuild{Commit: "1234567890", Branch: "releases/1.0.0"}, "cpu", "3.9", "ray:1.0.0.123456-py39-cpu"},
		"I2 pull request":   {TestBuild{Commit: "1234567890", Branch: "releases/1.0.0", PullRequest: "123"}, "cpu", "3.9", "ray:pr-123.123456-py39-cpu"},
		"I2 tag":            {TestBuild{Tag: "my_tag", Commit: "x"}, "cpu", "3.9", "ray:my_tag"},
		"I3":                {TestBuild{CommitToTest: "abcdefabcdef", Commit: "1234567890"}, "cu121", "3.11", "ray:abcdef-py311-cu121"},
		"no commit":         {TestBuild{}, "cpu", "3.9", ""},
		"no nightly either": {TestBuild{Commit: "1234567890", Branch: "wip"}, "cpu", "3.9", "ray:123456-py39-cpu"},
	} {
		if got, err := c.build.Base(c.kind, c.python); got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
}

// TestI5Distinct builds each image once, in the order in which it is first named.
func TestI5Distinct(t *testing.T) {
	t.Parallel()
	if got := Distinct([]string{"a", "b", "c", "a", "d", "e", "f"}); strings.Join(got, "") != "abcdef" {
		t.Errorf("%q", got)
	}
}

// TestI6CommitInImage chooses the commit that an image is to carry, and holds the image to it.
func TestI6CommitInImage(t *testing.T) {
	t.Parallel()
	if a, b, c := CommitInImage("abc", "def", "987"), CommitInImage("", "", "987"), CommitInImage("", "", ""); a != "abc" || b != "987" || c != "" {
		t.Errorf("%q %q %q", a, b, c)
	}
	for name, c := range map[string]struct {
		expected, found string
		named, ok       bool
	}{
		"equal": {"abc", "abc", false, true}, "other": {"abc", "def", false, false}, "none found": {"abc", "", false, false},
		"none expected": {"", "", false, false}, "named by its tag": {"", "def", true, true},
	} {
		if err := Check("i", c.expected, c.found, c.named); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTags is I7 to I12.
func TestTags(t *testing.T) {
	t.Parallel()
	master := Build{Commit: sha, Branch: "master"}
	ray := func(python, platform, arch string) Image { return Image{"ray", python, platform, arch} }
	for name, c := range map[string]struct {
		image Image
		build Build
		want  string
	}{
		"I7": {ray("3.9", "cpu", "x86_64"), master, "123456-py39-cpu 123456-cpu 123456-py39 123456"},
		"I8": {
			ray("3.9", "cpu", "x86_64"),
			Build{Commit: sha, Branch: "master", Nightly: "241105"},
			"nightly.241105.123456-py39-cpu nightly.241105.123456-cpu nightly.241105.123456-py39 nightly.241105.123456 nightly-py39-cpu nightly-cpu nightly-py39 nightly",
		},
		"I9":         {ray("3.9", cuda, "x86_64"), master, "123456-py39-cu121 123456-cu121 123456-py39-gpu 123456-gpu"},
		"I9 3.11":    {ray("3.11", "cpu", "x86_64"), master, "123456-py311-cpu 123456-py311"},
		"I10":        {Image{"ray-ml", "3.9", cuda, "x86_64"}, master, "123456-py39-cu121 123456-cu121 123456-py39-gpu 123456-gpu 123456-py39 123456"},
		"I10 cpu":    {Image{"ray-ml", "3.9", "cpu", "x86_64"}, master, "123456-py39-cpu 123456-cpu"},
		"I11":        {ray("3.9", "cpu", "aarch64"), master, "123456-py39-cpu-aarch64 123456-cpu-aarch64 123456-py39-aarch64 123456-aarch64"},
		"I12":        {ray("3.9", "cpu", "x86_64"), Build{Commit: sha, Branch: "releases/2.9.0"}, "2.9.0.123456-py39-cpu 2.9.0.123456-cpu 2.9.0.123456-py39 2.9.0.123456"},
		"PR":         {ray("3.11", "cpu", "x86_64"), Build{Commit: sha, Branch: "master", PullRequest: "7", Nightly: "241105"}, "pr-7.123456-py311-cpu pr-7.123456-py311"},
		"no nightly": {ray("3.11", "cpu", "x86_64"), Build{Commit: sha, Branch: "wip", Nightly: "241105"}, "123456-py311-cpu 123456-py311"},
	} {
		got := tags(t, c.image, c.build)
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestCanonicalTagsAreTheirOwn: no two images of a build share their first tag, and none of the tags of one Python is
// another's.
func TestCanonicalTagsAreTheirOwn(t *testing.T) {
	t.Parallel()
	for _, m := range Release2024().Types {
		seen := map[string]Image{}
		for _, i := range m.images() {
			for _, tag := range tags(t, i, Build{Commit: sha, Branch: "master"}) {
				if other, ok := seen[tag]; ok {
					t.Errorf("%v and %v both have tag %s", i, other, tag)
				}
				seen[tag] = i
			}
		}
	}
}

// TestNightlyCheck: what a check of a nightly looks at.
func TestNightlyCheck(t *testing.T) {
	t.Parallel()
	m := Release2024()
	ray, ml := m.All("ray", "nightly"), m.All("ray-ml", "nightly")
	if len(ray) != 70 || len(ml) != 16 || !slices.Contains(ray, "nightly") || !slices.Contains(ml, "nightly-py310-gpu") || len(m.All("x", "y")) != 0 {
		t.Errorf("%d and %d tags", len(ray), len(ml))
	}
}

func TestImagesThatAreNotBuilt(t *testing.T) {
	t.Parallel()
	for _, i := range []Image{
		{"ray", "3.8", "cpu", "x86_64"},
		{"ray", "3.9", "cu10", "x86_64"},
		{"ray", "3.9", "cpu", "riscv"},
		{"ray-ml", "3.12", "cpu", "x86_64"},
		{"ray-ml", "3.9", "cpu", "aarch64"},
		{"other", "3.9", "cpu", "x86_64"},
	} {
		if got, err := Release2024().Tags(i, Build{Commit: sha}); err == nil {
			t.Errorf("%v has tags %q", i, got)
		}
	}
	if _, err := Release2024().Tags(Image{"ray", "3.9", "cpu", "x86_64"}, Build{Commit: "12345"}); err == nil {
		t.Error("a commit of 5 digits has tags")
	}
}

// TestReleaseTags is I18 and I19.
func TestReleaseTags(t *testing.T) {
	t.Parallel()
	for tag, version := range map[string]string{
		"2.0.0": "2.0.0", "2.0.0rc0": "2.0.0rc0", "2.0.0-py38-cu123": "2.0.0", "2.0.0.post1": "2.0.0.post1", "2.0.0.post1-py39": "2.0.0.post1",
	} {
		if !IsReleaseTag(tag, []string{version}) || !IsReleaseTag(tag, nil) {
			t.Errorf("I18: %s is no release tag", tag)
		}
		if IsReleaseTag(tag, []string{"1.0.0"}) {
			t.Errorf("I18: %s is a release tag of 1.0.0", tag)
		}
	}
	for _, tag := range []string{"2.0.0.1", "2.0.0.1r", "a.1.c", "1.a.b", "2.0.0.a1s2d3", "latest", "nightly", "2.0", "", "2.0.0.123456-py39"} {
		if IsReleaseTag(tag, nil) {
			t.Errorf("I19: %s is a release tag", tag)
		}
	}
	if IsReleaseTag("2.0.0rc0", []string{"2.0.0"}) {
		t.Error("I19: a candidate is a release")
	}
}

// TestShapes is I23, and pinning by it.
func TestShapes(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"repo:pr-1.abc-py310-cpu-dead": "repo:<id>-py310-cpu-dead", "h:5000/a/repo:x-py39": "h:5000/a/repo:<id>-py39", "repo:latest": "repo:<id>",
		"repo:py310-cpu": "repo:<id>-py310-cpu",
	} {
		if got, err := Shape(in); err != nil || got != want {
			t.Errorf("I23 %s: %s, %v; want %s", in, got, err, want)
		}
	}
	for _, bad := range []string{"repo", "h:5000/repo", "repo:", ""} {
		if _, err := Shape(bad); err == nil || !strings.Contains(err.Error(), "missing ':<tag>'") {
			t.Errorf("I23 %q: %v", bad, err)
		}
	}
	wanted := map[string]string{"a": "r:1-py39-cpu", "b": "r:1-py39-cpu", "c": "r:1-py39-gpu"}
	got, err := Pin([]string{"r:9-py39-cpu"}, wanted)
	if err != nil || len(got) != 2 || got["a"] != "r:9-py39-cpu" || got["b"] != "r:9-py39-cpu" {
		t.Errorf("%v, %v", got, err)
	}
	_, err = Pin([]string{"r:9-py39-cpu", "r:8-py39-cpu", "r", "r:1-py312-cpu"}, wanted)
	for _, says := range []string{"are both", "missing ':<tag>'", "is of no test"} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v does not say %q", err, says)
		}
	}
	if _, err := Pin(nil, wanted); err == nil {
		t.Error("nothing is pinned")
	}
}

func TestWait(t *testing.T) {
	t.Parallel()
	began := time.Date(2024, 11, 1, 0, 0, 0, 0, time.UTC)
	w := Wait{Began: began, Limit: WaitLimit, Want: []string{"a", "b"}, Have: map[string]bool{"a": true}}
	if step, err := w.Next(began.Add(time.Hour)); err != nil || step.Do != await.Again || step.After != 30*time.Second {
		t.Errorf("%+v, %v", step, err)
	}
	w.Have["b"] = true
	if step, err := w.Next(began.Add(3 * time.Hour)); err != nil || step.Do != await.Found {
		t.Errorf("%+v, %v", step, err)
	}
}

func FuzzShape(f *testing.F) {
	f.Add("repo:pr-1.abc-py310-cpu-dead")
	f.Fuzz(func(t *testing.T, uri string) {
		shape, err := Shape(uri)
		if err == nil && !strings.Contains(shape, ":<id>") {
			t.Errorf("%q has shape %q", uri, shape)
		}
		IsReleaseTag(uri, nil)
	})
}
