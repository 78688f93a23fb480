package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/services/builder"
)

// checkTrust refuses words that say nothing: a level of trust that is misspelt would keep everybody out or, in a list of what
// is required, require nothing.
func (in *installation) checkTrust() error {
	named := map[string]bool{}
	for _, p := range in.Pools {
		if !release.Token(p.Name) || named[p.Name] {
			return fault.New(fault.Invalid, "pools: the name %q is there twice or is none: expected letters, digits, - and _", p.Name)
		}
		named[p.Name] = true
		if err := checkAccepts("pool "+p.Name, p.Accepts); err != nil {
			return err
		}
	}
	for _, e := range in.Executors {
		if err := checkAccepts("an executor of pool "+e.Pool, e.Accepts); err != nil {
			return err
		}
	}
	for _, p := range in.Providers {
		if err := checkAccepts("provider "+p.Name, p.Accepts); err != nil {
			return err
		}
	}
	for _, p := range in.Projects {
		if err := p.checkTrust(); err != nil {
			return err
		}
	}
	return checkUntrusted(in.Untrusted)
}

func checkAccepts(of string, levels []release.Trust) error {
	for _, level := range levels {
		if !slices.Contains(release.Trusts(), level) {
			return fault.New(fault.Invalid, "accepts of %s has %q, expected release, trusted or untrusted", of, level)
		}
	}
	return nil
}

func (p project) checkTrust() error {
	policies := []builder.Policy{"", builder.Ask, builder.Run, builder.Never}
	if !slices.Contains(policies, p.PullRequests.Untrusted) {
		return fault.New(fault.Invalid, "pull_requests.untrusted of project %s is %q, expected ask, run or never", p.Name, p.PullRequests.Untrusted)
	}
	if p.Approvals < 0 {
		return fault.New(fault.Invalid, "approvals of project %s is %d, expected 0 or more", p.Name, p.Approvals)
	}
	for _, require := range p.Gate.Require {
		test, named := strings.CutPrefix(require, "tests.")
		if require != "builds" && require != "tests" && (!named || test == "") {
			return fault.New(fault.Invalid, "gate.require of project %s has %q, expected builds, tests, tests.stable or tests.NAME", p.Name, require)
		}
	}
	return nil
}

func checkUntrusted(u builder.Untrusted) error {
	for key, globs := range map[string][]string{
		"pools": u.Pools, "images": u.Images, "networks": u.Networks, "providers": u.Providers, "environments": u.Environments, "includes": u.Includes,
	} {
		for _, glob := range globs {
			if glob == "" || !doublestar.ValidatePattern(glob) {
				return fmt.Errorf("untrusted.%s has %q, which is no glob: close every [ and {, or escape it with a backslash", key, glob)
			}
		}
	}
	return nil
}
