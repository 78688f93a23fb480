package faults

import (
	"fmt"
	"os"
	"path/filepath"
)

// operator is the token of olga, who may do everything.
const operator = "olga-may-do-everything"

// configure writes the file of the installation, which every service reads.
func (s *surroundings) configure() {
	s.t.Helper()
	secrets := filepath.Join(s.dir, "secrets")
	s.makeGround()
	for file, text := range map[string]string{
		secrets: "PYPI_TOKEN=upload-token\nHOOK=hook-secret\nFORGE=forge-token\nSIBLINGS=the-key-of-the-siblings\nOPERATOR=" + operator + "\n",
		s.config: fmt.Sprintf(`
blobs: file://%[1]s/blobs
secrets: {files: [%[2]s], grants: [{names: [PYPI_TOKEN], projects: [tiny], targets: ["*"]}]}
projects:
  - {name: tiny, forge: gitea, repo: %[3]s, clone_url: "%[4]s", branches: [master, "releases/*"], release_refs: [refs/heads/master, "refs/heads/releases/*"], secrets: [HOOK], base_url: "%[5]s", token: FORGE}
gateway: {poll: 1s, tokens: [{owner: olga, secret: OPERATOR}]}
services: {gateway: "http://%[6]s", reporter: "http://%[7]s", key: SIBLINGS}
publisher: {root: %[1]s}
executors: [{pool: default, slots: 2, drain: 2s, min_free: 16777216, driver: {local: {binds: [{path: %[1]s/ground, writable: true}]}}}]
artifact_exporter: {destinations: [{name: exports, url: "file://%[1]s/exports"}]}
`, s.dir, secrets, repo, s.forge.CloneURL(repo), s.forge.URL(), s.gateway, s.reporter),
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
}

// ground is what commands see of this machine beside their own files: it stands for machines that are leased.
func (s *surroundings) ground() string { return filepath.Join(s.dir, "ground") }

func (s *surroundings) makeGround() {
	s.t.Helper()
	err := os.Mkdir(s.ground(), 0o777)
	if err == nil {
		err = os.Chmod(s.ground(), 0o777) // every attempt may be another user
	}
	if err != nil {
		s.t.Fatal(err)
	}
}
