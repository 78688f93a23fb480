package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"

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
	Dir       string   `yaml:"dir"`        // of everything that this process keeps; ".sluice" when empty
	Listen    string   `yaml:"listen"`     // of the HTTP side, "127.0.0.1:8030" when empty
	PublicURL string   `yaml:"public_url"` // as forges and people reach it; "http://" + listen when empty
	Blobs     string   `yaml:"blobs"`      // "file:///…" or "s3://bucket/prefix?endpoint=…"; a folder of dir when empty
	Secrets   []string `yaml:"secrets"`    // files of NAME=value lines
	NATS      natsSide `yaml:"nats"`

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
}

// project is a repository that Sluice serves: what the gateway and the reporter each need to know of it.
type project struct {
	gateway.Project `yaml:",inline"`
	CloneToken      string   `yaml:"clone_token"`  // name of the secret that git shows to clone_url; public without it
	ReleaseRefs     []string `yaml:"release_refs"` // globs of full refs that may publish; [refs/heads/master] when empty
	BaseURL         string   `yaml:"base_url"`     // of the forge's API; statuses and answers to comments go there
	Token           string   `yaml:"token"`        // name of the secret that is shown there; without it no status is set and comments do nothing

	Health *reporter.Health `yaml:"health"` // of its tests on the release branch; without it nobody looks at it
}

// share gives each service its part of what is said once.
func (in *installation) share() {
	in.Scheduler.Providers = in.Providers
	in.Reporter.PublicURL = in.PublicURL
	if in.Reporter.Database == "" {
		in.Reporter.Database = "sqlite://" + filepath.Join(in.Dir, "reporter.db")
	}
	if in.Publisher.Root == "" { // A definition must not write wherever the publisher can.
		in.Publisher.Root = filepath.Join(in.Dir, "published")
	}
	in.Builder.Releases = map[string][]string{}
	for _, p := range in.Projects {
		if len(p.ReleaseRefs) == 0 {
			p.ReleaseRefs = []string{"refs/heads/master"}
		}
		in.Builder.Releases[p.Repo] = p.ReleaseRefs
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
	URL      string `yaml:"url"`       // of an external server; empty embeds one (`sluice up` only)
	Listen   string `yaml:"listen"`    // of the embedded one, "127.0.0.1:4222" when empty; "off" opens no socket
	Token    string `yaml:"token"`     // name of a secret; the embedded server makes one when empty
	Replicas int    `yaml:"replicas"`  // of each stream
	MaxBytes int64  `yaml:"max_bytes"` // of the stream of facts; 0 is without a limit
}

// readInstallation reads the file, or gives the defaults when the name is empty.
func readInstallation(name string) (*installation, error) {
	in := &installation{}
	if name == "" {
		return in, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("cannot read the installation's file: %w", err)
	}
	if err := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(in); err != nil {
		return nil, fmt.Errorf("cannot read %s: %s", name, yaml.FormatError(err, false, true))
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
	return os.MkdirAll(in.Dir, 0o700)
}

// at notes where the process listens, which port 0 leaves open until then.
func (in *installation) at(address string) {
	in.Listen = address
	if in.PublicURL == "" {
		in.PublicURL = "http://" + address
	}
}

// secrets are the named values of an installation. Only what its files name can be asked for: a definition cannot reach
// the process's environment.
type secrets map[string]string

func readSecrets(files []string) (secrets, error) {
	out := secrets{}
	var problems []error
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			problems = append(problems, fmt.Errorf("cannot read secrets: %w", err))
			continue
		}
		problems = append(problems, out.parse(name, text)...)
	}
	return out, errors.Join(problems...)
}

func (s secrets) parse(file string, text []byte) (problems []error) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok || strings.TrimSpace(name) == "" {
			problems = append(problems, fmt.Errorf("%s:%d: expected NAME=value, a comment or an empty line", file, n))
			continue
		}
		s[strings.TrimSpace(name)] = value
	}
	return problems
}

// get looks a value up. The error names what is missing, never a value.
func (s secrets) get(name string) (string, error) {
	value, ok := s[name]
	if !ok {
		return "", fmt.Errorf("there is no secret or variable %q in the installation; add it to a file named under \"secrets\": %w",
			name, fs.ErrNotExist)
	}
	return value, nil
}
