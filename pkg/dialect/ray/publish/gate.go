package publish

import (
	"fmt"
	"strings"

	"github.com/sluiceci/sluice/pkg/release"
)

// Pipeline is which of a project's pipelines a build belongs to.
type Pipeline string

// The pipelines.
const (
	Premerge   Pipeline = "premerge"
	Microcheck Pipeline = "microcheck"
	Postmerge  Pipeline = "postmerge"
	MacOS      Pipeline = "postmerge-macos"
	Release    Pipeline = "release"
	Bisect     Pipeline = "bisect"
)

// Build is what is known of a build.
type Build struct {
	Pipeline    Pipeline
	Branch      string
	PullRequest bool
	Fork        bool // the repository is not the project's own
	Nightly     bool
	Upload      bool // somebody asked for uploads
	Skip        bool // RAYCI_SKIP_UPLOAD
	Bisecting   bool
}

// Decision says whether something is done, and why.
type Decision struct {
	Do   bool
	Why  string
	Lost release.Class // of a thing that was to be done and cannot be; empty when not doing it is right
}

// Outcome is the outcome of a step that decided so and, if it does something, did it. A step that left out what it was
// to do has failed; one that was right to do nothing has no outcome, and is no success either.
func (d Decision) Outcome() release.Outcome {
	switch {
	case d.Do:
		return release.Success
	case d.Lost != "":
		return d.Lost.Outcome()
	default:
		return ""
	}
}

func no(format string, args ...any) Decision { return Decision{Why: fmt.Sprintf(format, args...)} }

func yes(format string, args ...any) Decision {
	return Decision{Do: true, Why: fmt.Sprintf(format, args...)}
}

// PushImages says whether images are pushed: by the pipeline after a merge, of release branches and of master's nightly
// build.
func PushImages(b Build) Decision {
	switch {
	case !b.Upload:
		return no("uploads are off")
	case b.PullRequest || b.Fork:
		return no("a pull request never publishes")
	case b.Pipeline != Postmerge:
		return no("pipeline %s pushes no images, %s does", b.Pipeline, Postmerge)
	case strings.HasPrefix(b.Branch, "releases/"):
		return yes("branch %s is a release branch", b.Branch)
	case b.Branch == "master" && b.Nightly:
		return yes("it is master's nightly build")
	case b.Branch == "master":
		return no("builds of master push images at night")
	default:
		return no("branch %s publishes no images", b.Branch)
	}
}

// Upload is where wheels and jars of a build go.
type Upload struct {
	Branch Decision // <branch>/<commit>/
	Latest Decision // latest/
}

// UploadArtifacts says where a build's wheels and jars go on Linux and Windows.
func UploadArtifacts(b Build) Upload {
	d := no("pipeline %s uploads nothing, %s does", b.Pipeline, Postmerge)
	switch {
	case b.Skip:
		d = no("somebody asked to skip uploads")
	case b.PullRequest || b.Fork:
		d = no("a pull request never publishes")
	case b.Pipeline == Postmerge:
		d = yes("pipeline %s uploads", b.Pipeline)
	}
	return latest(b, d)
}

// UploadMacOS says where a build's wheels and jars go on macOS, whose builds of any branch upload.
func UploadMacOS(b Build) Upload {
	d := yes("branch %s uploads", b.Branch)
	switch {
	case b.Skip:
		d = no("somebody asked to skip uploads")
	case b.PullRequest || b.Fork:
		d = no("a pull request never publishes")
	}
	return latest(b, d)
}

// latest adds the moving place, which is master's alone.
func latest(b Build, d Decision) Upload {
	u := Upload{Branch: d, Latest: d}
	if d.Do && b.Branch != "master" {
		u.Latest = no("latest/ is master's, not %s's", b.Branch)
	}
	return u
}

// DeployJars says whether jars are deployed, given the platforms whose native parts are there. On a branch that deploys,
// a platform that is missing is a failure: Ray's script skips the deployment then and succeeds.
func DeployJars(b Build, natives []string) Decision {
	switch {
	case b.PullRequest || b.Fork:
		return no("a pull request never publishes")
	case b.Branch != "master":
		return no("jars are deployed from master, not from %s", b.Branch)
	}
	for _, platform := range []string{"darwin", "linux"} {
		if !contains(natives, platform) {
			return Decision{Lost: release.ClassSetup, Why: fmt.Sprintf("the native parts of %s are missing; found those of %v", platform, natives)}
		}
	}
	return yes("all native parts are there")
}

func contains(list []string, word string) bool {
	for _, one := range list {
		if one == word {
			return true
		}
	}
	return false
}

// RecordResults says whether a build's test results are kept: of every build before a merge and of master's after it,
// never of a bisection, whose builds are of commits of their own choosing.
func RecordResults(b Build) Decision {
	switch {
	case b.Bisecting:
		return no("a bisection's results are about old commits")
	case b.Pipeline == Premerge:
		return yes("builds before a merge are recorded")
	case b.Pipeline == Postmerge && b.Branch == "master":
		return yes("builds of master are recorded")
	case b.Pipeline == Postmerge:
		return no("branch %s is not master", b.Branch)
	default:
		return no("pipeline %s is not recorded", b.Pipeline)
	}
}
