package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// configure writes the file of the installation and chooses a free address.
func (p *sluice) configure() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("cannot listen on loopback: %w", err)
	}
	p.url = "http://" + l.Addr().String()
	if err := l.Close(); err != nil {
		return "", err
	}
	secrets, file := filepath.Join(p.dir, "secrets"), filepath.Join(p.dir, "installation.yaml")
	if err := os.WriteFile(secrets, []byte("HOOK="+secret+"\n"), 0o600); err != nil {
		return "", err
	}
	return file, os.WriteFile(file, fmt.Appendf(nil, `
nats: {listen: "127.0.0.1:0"}
secrets: [%s]
projects:
  - {name: bench, forge: gitea, repo: %s, clone_url: "file://%s", branches: [none], secrets: [HOOK]}
executors: [{pool: default, slots: %d}]
`, secrets, repo, p.bare, slots), 0o600)
}
