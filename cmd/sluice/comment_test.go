package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/forge/forgetest"
	"github.com/sluiceci/sluice/pkg/secret"
	"github.com/sluiceci/sluice/services/builder"
	"github.com/sluiceci/sluice/services/gateway"
	"github.com/sluiceci/sluice/services/reporter"
)

const commented = `project: widget
triggers: {comment: true}
settings: {size: 1}
builds:
  wheel: {env: {SIZE: "{{ settings.size }}"}, run: make "$SIZE", outputs: {wheel: "*.whl"}}
tests:
  smoke: {needs: [wheel], run: make smoke}
  slow: {needs: [wheel], run: make slow}
`

// repository is a git repository of one commit; it returns the commit.
func repository(t *testing.T, dir string) string {
	t.Helper()
	git := func(args ...string) string {
		c := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=Ada", "-c", "user.email=a@example.org"}, args...)...)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q", "--initial-branch=feature")
	must(t, os.WriteFile(filepath.Join(dir, definitionName), []byte(commented), 0o600))
	git("add", "-A")
	git("commit", "-q", "-m", "x")
	git("update-ref", "refs/pull/1/head", "HEAD")
	return git("rev-parse", "HEAD")
}

// TestACommentIsAnsweredOnTheForge follows a comment from the forge's webhook through gateway, builder and reporter to
// the answer on the forge.
func TestACommentIsAnsweredOnTheForge(t *testing.T) {
	t.Parallel()
	repo, dir := t.TempDir(), t.TempDir()
	head := repository(t, repo)
	f, stop := forgetest.Start("acme/widget")
	t.Cleanup(stop)
	f.Put(forgetest.Pull{Number: 1, Head: head, Branch: "feature", From: "acme/widget", Into: "master", Author: "dev"})
	f.Allow("dev", "write")
	f.Allow("eve", "read")
	secrets := filepath.Join(dir, "secrets")
	must(t, os.WriteFile(secrets, []byte("HOOK=s3cr3t\nFORGE="+forgetest.Token+"\n"), 0o600))
	in := &installation{Dir: filepath.Join(dir, "state"), Listen: "127.0.0.1:0", Secrets: secret.Config{Files: []string{secrets}}, NATS: natsSide{Listen: "off"}, Projects: []project{{
		Project: gateway.Project{Name: "widget", Forge: "gitea", Repo: "acme/widget", CloneURL: "file://" + repo, Branches: []string{"none"}, Secrets: []string{"HOOK"}},
		BaseURL: f.URL, Token: "FORGE",
	}}}
	p, err := newPlatform(t.Context(), in, slog.New(slog.DiscardHandler), gateway.Name, builder.Name, reporter.Name)
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.run(ctx) }()
	t.Cleanup(func() { cancel(); <-done; p.close() })

	say(t, in.PublicURL, head, 1, "dev", "/test smoke size=3\n/skip slow")
	say(t, in.PublicURL, head, 2, "eve", "/test")
	say(t, in.PublicURL, head, 3, "dev", "/test nothing")
	var all string
	for end := time.Now().Add(30 * time.Second); len(f.Comments(1)) < 3; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after 30s the forge has the answers %q", f.Comments(1))
		}
	}
	all = strings.Join(f.Comments(1), "\n")
	for _, want := range []string{
		"A run is planned for commit `" + head[:8] + "`: 2 tasks, 1 left out", "- `slow`: `skipped by /skip slow`", "[Run " + head[:8],
		"`/test` needs write", "/test nothing: no task has such an id or name",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("the answers are\n%s\nexpected %q in them", all, want)
		}
	}
}

// say delivers a comment as Gitea does.
func say(t *testing.T, url, head string, id int, author, text string) {
	t.Helper()
	body := fmt.Appendf(nil, `{"action":"created","issue":{"number":1,"pull_request":{}},"pull_request":{"number":1,"head":{"sha":%q}},
		"repository":{"full_name":"acme/widget"},"comment":{"id":%d,"body":%q,"user":{"login":%q}}}`, head, id, text, author)
	mac := hmac.New(sha256.New, []byte("s3cr3t"))
	mac.Write(body)
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/hooks/gitea", bytes.NewReader(body))
		must(t, err)
		r.Header.Set("X-Gitea-Event", "issue_comment")
		r.Header.Set("X-Gitea-Signature", hex.EncodeToString(mac.Sum(nil)))
		answer, err := http.DefaultClient.Do(r)
		var said []byte
		if err == nil {
			said, err = io.ReadAll(answer.Body)
			_ = answer.Body.Close()
		}
		if err == nil && answer.StatusCode == http.StatusAccepted && bytes.Contains(said, []byte(`"event"`)) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the comment %q is answered with %s, %v", text, said, err)
		}
	}
}
