package main

import (
	"strings"
	"testing"
)

// TestReviewersMustBeSomebody: a misspelt reviewer is told at the start, and everybody who is misspelt at once.
func TestReviewersMustBeSomebody(t *testing.T) {
	t.Parallel()
	in, err := installationOf(t, `
projects: [{name: one, repo: acme/one, clone_url: "file:///nowhere"}]
gateway: {tokens: [{owner: ada, secret: ADA_TOKEN}]}
access: {forge: {kind: gitea, base_url: "https://git.example.com", client_id: x, client_secret: Y}}
environments: [{name: prod, projects: [one], reviewers: [ada, "token:ada2", adda, "github:ada", "gitea:bob", "oidc:4711"]}]
`)
	if err != nil {
		t.Fatal(err)
	}
	err = in.checkSecrets()
	if err == nil {
		t.Fatal("reviewers that nobody is are taken")
	}
	for _, want := range []string{`reviewer "token:ada2" of environment prod`, `no token of gateway.tokens has the owner "adda"; the owners are: ada`, `nobody signs in with "github" here; expected one of token, gitea`, `nobody signs in with "oidc"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), `"ada" of`) || strings.Contains(err.Error(), "gitea:bob") {
		t.Errorf("somebody who can review is refused:\n%v", err)
	}
}
