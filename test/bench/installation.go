package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sluiceci/sluice/pkg/loopback"
)

// configure writes the file of the installation and keeps a port for it until the benchmark ends.
func (p *sluice) configure() (string, error) {
	address, _, err := loopback.Reserve()
	if err != nil {
		return "", err
	}
	p.url = "http://" + address
	if err := os.WriteFile(p.secrets(), []byte("HOOK="+secret+"\n"), 0o600); err != nil {
		return "", err
	}
	return p.write("installation.yaml", "listen: 127.0.0.1:0", p.executors)
}

// out is where tasks write what is measured.
func (p *sluice) out() string { return filepath.Join(p.dir, "out") }

func (p *sluice) secrets() string { return filepath.Join(p.dir, "secrets") }

// write writes the file of an installation.
func (p *sluice) write(name, nats, executors string) (string, error) {
	if err := os.MkdirAll(p.out(), 0o777); err != nil {
		return "", err
	}
	if err := os.Chmod(p.out(), 0o777); err != nil { //nolint:gosec // tasks write here as other users; nobody else sees what it lies in
		return "", err
	}
	shown := fmt.Sprintf("{driver: {local: {binds: [{path: %s}, {path: %s, writable: true}]}}, ", filepath.Join(filepath.Dir(p.dir), "probe"), p.out())
	executors = strings.Replace(executors, "{", shown, 1)
	file := filepath.Join(p.dir, name)
	return file, os.WriteFile(file, fmt.Appendf(nil, `
nats: {%s}
blobs: file://%s/blobs
secrets: [%s]
projects:
  - {name: bench, forge: gitea, repo: %s, clone_url: "file://%s", branches: [none], secrets: [HOOK]}
executors: [%s]
`, nats, p.dir, p.secrets(), repo, p.bare, executors), 0o600)
}
