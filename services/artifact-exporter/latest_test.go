package exporter

import (
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

func TestMayLead(t *testing.T) {
	policy := release.ReleasePolicy{Branch: "master", Also: []string{"releases/*"}, Tags: []string{"v*"}}
	for name, test := range map[string]struct {
		change release.Change
		policy release.ReleasePolicy
		leads  bool
		fault  fault.Kind
	}{
		"push to master":           {release.Change{Kind: release.Push, Branch: "master"}, policy, true, ""},
		"manual run of master":     {release.Change{Kind: release.Manual, Branch: "master"}, policy, true, ""},
		"another release branch":   {release.Change{Kind: release.Push, Branch: "releases/1"}, policy, false, ""},
		"tag":                      {release.Change{Kind: release.Tag, Ref: "refs/tags/v1"}, policy, false, ""},
		"pull request to master":   {release.Change{Kind: release.PullRequest, Branch: "master", Number: 1}, policy, false, fault.Denied},
		"fork":                     {release.Change{Kind: release.Push, Branch: "master", Fork: true}, policy, false, fault.Denied},
		"nightly":                  {release.Change{Kind: release.Schedule, Branch: "master"}, policy, false, fault.Denied},
		"comment":                  {release.Change{Kind: release.Comment, Branch: "master"}, policy, false, fault.Denied},
		"branch":                   {release.Change{Kind: release.Push, Branch: "feature"}, policy, false, fault.Denied},
		"no branch":                {release.Change{Kind: release.Push}, policy, false, fault.Denied},
		"no branch and no policy":  {release.Change{Kind: release.Push}, release.ReleasePolicy{}, false, fault.Denied},
		"manual run of a branch":   {release.Change{Kind: release.Manual, Branch: "feature"}, policy, false, fault.Denied},
		"tag that does not match":  {release.Change{Kind: release.Tag, Ref: "refs/tags/x"}, policy, false, fault.Denied},
		"master, without a policy": {release.Change{Kind: release.Push, Branch: "master"}, release.ReleasePolicy{}, false, fault.Denied},
	} {
		leads, why, err := mayLead(&run{planned: event.RunPlanned{Change: test.change, Release: test.policy, Trust: release.TrustRelease}})
		if leads != test.leads || fault.Of(err) != test.fault {
			t.Errorf("%s: mayLead = %t, %q, %v; want %t and an error of kind %q", name, leads, why, err, test.leads, test.fault)
		}
		for _, trust := range []release.Trust{"", release.TrustUntrusted, release.TrustTrusted} {
			leads, _, err := mayLead(&run{planned: event.RunPlanned{Change: test.change, Release: test.policy, Trust: trust}})
			if leads || !fault.Is(err, fault.Denied) {
				t.Errorf("%s at trust %q: mayLead = %t, %v; want a refusal", name, trust, leads, err)
			}
		}
	}
}

func TestReplaces(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	m := manifest{Project: "p", Repo: "r", Commit: commitA, Planned: at, Pushed: 7}
	for name, test := range map[string]struct {
		now   func(*manifest)
		yes   bool
		fault fault.Kind
	}{
		"itself":          {func(*manifest) {}, true, ""},
		"an earlier one":  {func(n *manifest) { n.Pushed, n.Planned = 6, at.Add(time.Hour) }, true, ""},
		"a later one":     {func(n *manifest) { n.Pushed, n.Planned = 8, at.Add(-time.Hour) }, false, ""},
		"another project": {func(n *manifest) { n.Project = "q" }, false, fault.Conflict},
		"another repo":    {func(n *manifest) { n.Repo = "s" }, false, fault.Conflict},
	} {
		now := m
		test.now(&now)
		text, err := document(now)
		if err != nil {
			t.Fatal(err)
		}
		yes, why, err := replaces(latestFolder, m, text)
		if yes != test.yes || fault.Of(err) != test.fault {
			t.Errorf("%s: replaces = %t, %q, %v; want %t and an error of kind %q", name, yes, why, err, test.yes, test.fault)
		}
	}
	if yes, _, err := replaces(latestFolder, m, nil); !yes || err != nil {
		t.Errorf("nothing: replaces = %t, %v; want true", yes, err)
	}
	if yes, _, err := replaces(latestFolder, m, []byte("<html>")); yes || !fault.Is(err, fault.Conflict) {
		t.Errorf("what is no manifest: replaces = %t, %v; want kind conflict", yes, err)
	}
}
