package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceci/sluice/pkg/release"
)

func installationOf(t *testing.T, text string) (*installation, error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "installation.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return readInstallation(name)
}

// TestMisspeltTrustIsRefused: a word that nobody knows must not silently let everybody in, nor require nothing.
func TestMisspeltTrustIsRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"pools: [{name: a, accepts: [trust]}]":                          `accepts of pool a has "trust", expected release, trusted or untrusted`,
		"pools: [{name: a}, {name: a}]":                                 `the name "a" is there twice`,
		"pools: [{accepts: [release]}]":                                 "or is none",
		"executors: [{pool: a, accepts: [all]}]":                        `an executor of pool a has "all"`,
		"providers: [{name: metal, accepts: [Release]}]":                `provider metal has "Release"`,
		"projects: [{name: p, pull_requests: {untrusted: no}}]":         `pull_requests.untrusted of project p is "no", expected ask, run or never`,
		"projects: [{name: p, approvals: -1}]":                          "expected 0 or more",
		"projects: [{name: p, gate: {require: [builds, test.stable]}}]": `has "test.stable", expected builds, tests, tests.stable or tests.NAME`,
		"untrusted: {images: [\"a[\"]}":                                 `untrusted.images has "a["`,
	} {
		if _, err := installationOf(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gives %v, expected %q", text, err, want)
		}
	}
}

// TestExecutorsNarrowWhatTheirPoolAccepts: an executor of the file takes away, and never adds; the local driver without a
// sandbox accepts nothing untrusted unless the file says so; a provider of which nothing is said lends to no stranger.
func TestExecutorsNarrowWhatTheirPoolAccepts(t *testing.T) {
	t.Parallel()
	in, err := installationOf(t, `
pools:
  - {name: open, accepts: [release, trusted, untrusted]}
  - {name: kept, accepts: [release]}
  - {name: remote}
executors:
  - {pool: open}
  - {pool: kept, accepts: [release, trusted, untrusted]}
  - {pool: boxed, driver: {kind: container}}
  - {pool: plain}
providers: [{name: metal, places: [{name: a}]}, {name: lab, places: [{name: a}], accepts: [release]}]
`)
	if err != nil {
		t.Fatal(err)
	}
	in.share()
	all, own := release.Trusts(), []release.Trust{release.TrustRelease, release.TrustTrusted}
	for pool, want := range map[string][]release.Trust{"open": all, "kept": own[:1], "remote": own, "boxed": all, "plain": own} {
		if got := in.Scheduler.Accepts[pool]; !slices.Equal(got, want) || !slices.Equal(in.Builder.Accepts.Pools[pool], want) {
			t.Errorf("pool %s accepts %v, expected %v", pool, got, want)
		}
	}
	for provider, want := range map[string][]release.Trust{"metal": own, "lab": own[:1]} {
		if got := in.Scheduler.Lends[provider]; !slices.Equal(got, want) || !slices.Equal(in.Builder.Accepts.Providers[provider], want) {
			t.Errorf("provider %s lends to %v, expected %v", provider, got, want)
		}
	}
}

// FuzzInstallation feeds texts to what reads the installation's file: each is an installation whose pieces can be asked for, or
// an error that names the file.
func FuzzInstallation(f *testing.F) {
	f.Add("pools: [{name: open, accepts: [release]}]\nexecutors: [{pool: open, driver: {kind: container}}]\nproviders: [{name: lab, places: [{name: a}]}]")
	f.Add("nats: {urls: [nats://a:4222], creds: keys, tls: {ca: a.pem}}\nsecrets: {providers: [{kind: file, path: s}], grants: [{names: [A], projects: ['*']}]}")
	f.Add("projects: [{name: p, repo: a/b, forge: gitea, release_refs: [refs/heads/main], gate: {require: [tests]}}]")
	f.Add("a: &a [*a]")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<14 {
			return
		}
		in, err := parseInstallation("sluice.yaml", []byte(text))
		if err != nil {
			if !strings.Contains(err.Error(), "sluice.yaml") {
				t.Errorf("%v does not name the file", err)
			}
			return
		}
		in.share()
		in.credentials()
		in.audience("publisher")
		in.grants()
		in.private()
		in.bareExecutors(nil)
	})
}
