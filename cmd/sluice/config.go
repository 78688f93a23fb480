package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"github.com/goccy/go-yaml"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/environment"
	"github.com/sluiceci/sluice/pkg/secret"
	"github.com/sluiceci/sluice/pkg/wheelfind"
	exporter "github.com/sluiceci/sluice/services/artifact-exporter"
	"github.com/sluiceci/sluice/services/builder"
	"github.com/sluiceci/sluice/services/executor"
	"github.com/sluiceci/sluice/services/gateway"
	"github.com/sluiceci/sluice/services/publisher"
	"github.com/sluiceci/sluice/services/reporter"
	scheduler "github.com/sluiceci/sluice/services/test-scheduler"
)

// installation is the file that says where a Sluice runs and what it serves: docs/operate/installation.md. Every
// service decodes a section of its own.
type installation struct {
	Dir       string        `yaml:"dir"`        // of everything that this process keeps; ".sluice" when empty
	Listen    string        `yaml:"listen"`     // of the HTTP side, "127.0.0.1:8030" when empty
	PublicURL string        `yaml:"public_url"` // as forges and people reach it; "http://" + listen when empty
	Blobs     string        `yaml:"blobs"`      // "file:///…" or "s3://bucket/prefix?endpoint=…"; a folder of dir when empty
	Secrets   secret.Config `yaml:"secrets"`    // stores of values, and who gets them
	NATS      natsSide      `yaml:"nats"`

	busOf func(identity string) *bus.Bus // of this process; nil while nothing runs

	WebSide `yaml:",inline"`

	Projects []project `yaml:"projects"`

	Gateway   gateway.Config    `yaml:"gateway"`
	Builder   builder.Config    `yaml:"builder"`
	Ray       wheelfind.Config  `yaml:"ray"` // where the wheels under test are
	Scheduler scheduler.Config  `yaml:"test_scheduler"`
	Executors []executor.Config `yaml:"executors"` // one pool member each; one of pool "default" when empty
	Exporter  exporter.Config   `yaml:"artifact_exporter"`
	Publisher publisher.Config  `yaml:"publisher"`
	Reporter  reporter.Config   `yaml:"reporter"`

	Providers []scheduler.Provider `yaml:"providers"` // of places that attempts lease

	Pools     []poolRule        `yaml:"pools"`     // which changes they take
	Untrusted builder.Untrusted `yaml:"untrusted"` // what definitions of untrusted changes may name

	Environments environment.Rules `yaml:"environments"` // protected: who may use them, and who approves that
}

// project is a repository that Sluice serves: what the gateway and the reporter each need to know of it.
type project struct {
	gateway.Project `yaml:",inline"`
	CloneToken      string   `yaml:"clone_token"`  // name of the secret that git shows to clone_url; public without it
	ReleaseRefs     []string `yaml:"release_refs"` // globs of full refs that may publish; [refs/heads/master] when empty
	BaseURL         string   `yaml:"base_url"`     // of the forge's API; statuses and answers to comments go there
	Token           string   `yaml:"token"`        // name of the secret that is shown there; without it no status is set and comments do nothing

	Approvals    int32        `yaml:"approvals"`     // people who must approve a release, at least, whatever a definition says
	Gate         gateRule     `yaml:"gate"`          // what the gate requires beside what a definition requires
	PullRequests pullRequests `yaml:"pull_requests"` // what becomes of untrusted changes

	Health *reporter.Health `yaml:"health"` // of its tests on the release branch; without it nobody looks at it
}

// share gives each service its part of what is said once.
func (in *installation) share() {
	in.Scheduler.Providers = in.Providers
	in.Scheduler.Environments, in.Publisher.Environments = in.Environments, in.Environments
	in.Gateway.Environments, in.Builder.Environments = in.Environments, in.Environments
	in.Reporter.PublicURL = in.PublicURL
	tokens := &in.Gateway.IDTokens
	tokens.Issuer = cmp.Or(tokens.Issuer, in.PublicURL)
	tokens.Keys = cmp.Or(tokens.Keys, filepath.Join(in.Dir, "identity"))
	if in.Reporter.Database == "" {
		in.Reporter.Database = "sqlite://" + filepath.Join(in.Dir, "reporter.db")
	}
	if in.Publisher.Root == "" { // A definition must not write wherever the publisher can.
		in.Publisher.Root = filepath.Join(in.Dir, "published")
	}
	in.shareTrust()
	in.Builder.Projects = map[string]builder.Project{}
	for _, p := range in.Projects {
		if len(p.ReleaseRefs) == 0 {
			p.ReleaseRefs = []string{"refs/heads/master"}
		}
		if len(p.Branches) == 0 {
			p.Branches = []string{"master"}
		}
		in.Builder.Projects[p.Repo] = builder.Project{
			Name: p.Name, Forge: p.Forge, BaseURL: p.BaseURL, Token: p.Token, Branches: p.Branches, ReleaseRefs: p.ReleaseRefs,
			Approvals: p.Approvals, Require: p.Gate.Require, Policy: p.PullRequests.Untrusted,
		}
		p.Project.BaseURL, p.Project.Token = p.BaseURL, p.Token
		in.Gateway.Projects = append(in.Gateway.Projects, p.Project)
		if p.Token != "" || p.Health != nil {
			told := reporter.Project{Name: p.Name, Repo: p.Repo, BaseURL: p.BaseURL, Token: p.Token, Health: p.Health}
			if p.Token != "" {
				told.Forge = p.Forge
			}
			in.Reporter.Projects = append(in.Reporter.Projects, told)
		}
	}
}

// natsSide says where the bus is.
type natsSide struct {
	URL      string   `yaml:"url"`       // of an external server; none embeds one (`sluice up` only)
	URLs     []string `yaml:"urls"`      // of the servers of an external cluster
	Creds    string   `yaml:"creds"`     // file of the identity's key or JWT credentials, or a directory of <identity>.nk
	TLS      bus.TLS  `yaml:"tls"`       // of the connections to an external server
	Listen   string   `yaml:"listen"`    // of the embedded one, for other processes; it opens no socket when empty
	Pools    []string `yaml:"pools"`     // whose executors run in other processes
	Replicas int      `yaml:"replicas"`  // of each stream
	MaxBytes int64    `yaml:"max_bytes"` // of the stream of facts; 0 is without a limit
}

// readInstallation reads the file, or gives the defaults when the name is empty.
func readInstallation(name string) (*installation, error) {
	if name == "" {
		return &installation{}, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("cannot read the installation's file: %w", err)
	}
	return parseInstallation(name, text)
}

// parseInstallation reads the file's text and refuses what contradicts itself.
func parseInstallation(name string, text []byte) (*installation, error) {
	in := &installation{}
	if err := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(in); err != nil {
		return nil, fmt.Errorf("cannot read %s: %s", name, yaml.FormatError(err, false, true))
	}
	if err := in.checkTrust(); err != nil {
		return nil, fmt.Errorf("cannot use %s: %w", name, err)
	}
	return in, nil
}

// defaults fills what the file left out.
func (in *installation) defaults() error {
	if in.Dir == "" {
		in.Dir = ".sluice"
	}
	dir, err := filepath.Abs(in.Dir)
	if err != nil {
		return fmt.Errorf("cannot use directory %s: %w", in.Dir, err)
	}
	in.Dir = dir
	if in.Listen == "" {
		in.Listen = "127.0.0.1:8030"
	}
	if in.Blobs == "" {
		in.Blobs = "file://" + filepath.Join(in.Dir, "blobs")
	}
	return makeStateDir(in.Dir)
}

// at notes where the process listens, which port 0 leaves open until then.
func (in *installation) at(address string) {
	in.Listen = address
	if in.PublicURL == "" {
		in.PublicURL = "http://" + address
	}
}
