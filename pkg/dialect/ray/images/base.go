package images

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
)

// TestBuild is what the CI says about the images that a test is to run in.
type TestBuild struct {
	Tag          string // RAY_IMAGE_TAG: the tag itself
	CommitToTest string
	Commit       string // that the CI has checked out
	Branch       string
	PullRequest  string
}

// Base is the image that a test runs in, or that its own is made from: "ray:123456-py39-cpu". A test of type gpu runs in
// ray-ml, every other in ray.
func (b TestBuild) Base(kind, python string) (string, error) {
	repo := "ray"
	if kind == "gpu" {
		repo = "ray-ml"
	}
	if b.Tag != "" {
		return repo + ":" + b.Tag, nil
	}
	versions, err := Build{Commit: cmp.Or(b.CommitToTest, b.Commit), Branch: unmoving(b.Branch), PullRequest: b.PullRequest}.Versions()
	if err != nil {
		return "", err
	}
	return repo + ":" + versions[0] + pythonPart(python) + "-" + kind, nil
}

// unmoving keeps the branches that name a version.
func unmoving(branch string) string {
	if strings.HasPrefix(branch, "releases/") {
		return branch
	}
	return ""
}

// CommitInImage is the commit that an image is to carry: what somebody wants in it, else what is to be tested, else what
// is checked out. "" means that there is none to compare with, which Check refuses.
func CommitInImage(want, toTest, checkedOut string) string { return cmp.Or(want, toTest, checkedOut) }

// Check holds the commit that an image says against the one that it is to carry. An image that was named by its tag is
// taken as it is.
func Check(image, expected, found string, named bool) error {
	switch {
	case named:
		return nil
	case expected == "":
		return fault.New(fault.Invalid, "cannot check image %s: no commit is expected in it", image)
	case expected != found:
		return fault.New(fault.Invalid, "cannot use image %s: it carries commit %q, expected %s", image, found, expected)
	}
	return nil
}

// Distinct lists images once each, in the order in which they are first named: what there is to build.
func Distinct(images []string) []string {
	var out []string
	for _, i := range images {
		if !slices.Contains(out, i) {
			out = append(out, i)
		}
	}
	return out
}
