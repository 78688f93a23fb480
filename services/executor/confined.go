package executor

import (
	"slices"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/sluiceci/sluice/pkg/release"
)

// Untrusted is what tasks of untrusted changes may have here: globs, where ** matches across slashes. What is not listed
// they may not.
type Untrusted struct {
	Images   []string
	Networks []string
}

// checkConfined refuses what the builder should not have planned for an untrusted change. An executor believes no plan on
// which strangers have had an influence.
func (a *attempt) checkConfined() error {
	if a.plan.Trust.Covers(release.TrustTrusted) {
		return nil
	}
	may := a.e.config.Untrusted
	if image := a.task.Image; image != "" && !listed(may.Images, image) {
		return fail(release.ClassConfig, "cannot run an untrusted change in the image %s: it is not in untrusted.images of this executor's installation", image)
	}
	if network := a.task.Network; network != "" && network != "none" && !listed(may.Networks, network) {
		return fail(release.ClassConfig, "cannot give an untrusted change the network %q: it is not in untrusted.networks of this executor's installation", network)
	}
	return nil
}

func listed(globs []string, name string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool {
		ok, err := doublestar.Match(glob, name)
		return ok && err == nil
	})
}
