package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/environment"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/idtoken"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/service"
	"github.com/sluiceci/sluice/services/builder"
	"github.com/sluiceci/sluice/services/executor"
	"github.com/sluiceci/sluice/services/gateway"
	scheduler "github.com/sluiceci/sluice/services/test-scheduler"
)

const identified = `project: widget
triggers: {push: {branches: ["**"]}}
gate: {require: [builds]}
environments: {prod: {vars: {WHERE: prod}}}
builds:
  deploy:
    environment: prod
    id_tokens: {CLOUD: {aud: "https://cloud.test"}, VAULT: {aud: [vault-a, vault-b]}}
    timeout: 10m
    run: |
      for token in "$CLOUD" "$VAULT"; do printf %s "$token" | rev; echo; done
      sleep 1000
`

// TestIdentityTokens follows tokens from the definition to whoever checks them, with a library that knows nothing of Sluice.
func TestIdentityTokens(t *testing.T) {
	t.Parallel()
	repo, dir := t.TempDir(), t.TempDir()
	must(t, os.WriteFile(filepath.Join(repo, definitionName), []byte(identified), 0o600))
	head := commitAll(t, repo)
	in := &installation{Dir: filepath.Join(dir, "state"), Listen: "127.0.0.1:0", NATS: natsSide{Listen: "off"}, Projects: []project{{
		Project: gateway.Project{Name: "widget", Repo: "acme/widget", CloneURL: "file://" + repo, Branches: []string{"none"}},
	}}}
	in.Executors = []executor.Config{{Pool: "default", Slots: 2, MinFree: -1}, {Pool: "other", Slots: 1, MinFree: -1}}
	in.Environments = environment.Rules{{Name: "prod", Projects: []string{"widget"}}} // else the claim would be left out
	p, err := newPlatform(t.Context(), in, slog.New(slog.DiscardHandler), gateway.Name, builder.Name, scheduler.Name, executor.Name)
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.run(ctx) }()
	t.Cleanup(func() { cancel(); <-done; p.close() })

	change := release.Change{
		Kind: release.Push, Project: "widget", Repo: "acme/widget", CloneURL: "file://" + repo, Ref: "refs/heads/master", Branch: "master",
		Commit: head, Verified: "poll", At: time.Now().UTC(),
	}
	must(t, p.deps.Bus.Publish(t.Context(), event.Root(change.RunID(), p.deps.Source("test"), time.Now(), event.ChangeReceived{Change: change})))
	t.Cleanup(func() {
		for _, typ := range []event.Type{event.TypeRunRejected, event.TypeRunPlanned, event.TypeChangeIgnored, event.TypeTaskFinished} {
			if e, err := p.deps.Bus.Get(context.Background(), typ.FilterRun(change.RunID())); err == nil && t.Failed() {
				t.Logf("%s: %+v", typ, e.Data)
			}
		}
	})
	tokens := tokensOf(t, p, change.RunID())

	provider, err := oidc.NewProvider(t.Context(), in.PublicURL)
	must(t, err)
	for i, aud := range []string{"https://cloud.test", "vault-b"} {
		token, err := provider.Verifier(&oidc.Config{ClientID: aud}).Verify(t.Context(), tokens[i])
		must(t, err)
		var c idtoken.Claims
		must(t, token.Claims(&c))
		want := idtoken.Claims{
			Project: "widget", Repo: "acme/widget", Ref: "refs/heads/master", RefType: "branch", Commit: head, Event: "push", Run: change.RunID(),
			Task: "deploy", Attempt: "1", Kind: "build", Environment: "prod", Pool: "default", Trust: release.TrustRelease,
		}
		if c != want || token.Subject != "project:widget:ref_type:branch:ref:master" {
			t.Errorf("subject %s, claims\n%+v, expected\n%+v", token.Subject, c, want)
		}
		if life := token.Expiry.Sub(token.IssuedAt); life != 15*time.Minute {
			t.Errorf("it lives %s", life)
		}
	}
	if _, err := provider.Verifier(&oidc.Config{ClientID: "somebody else"}).Verify(t.Context(), tokens[0]); err == nil {
		t.Error("somebody else believes the token")
	}
	refuseQuestions(t, p, change.RunID())
}

// refuseQuestions asks for tokens as nobody may.
func refuseQuestions(t *testing.T, p *platform, run release.RunID) {
	t.Helper()
	right := idtoken.Question{Run: run, Task: "deploy", Attempt: 1, Executor: p.deps.Instance, Name: "CLOUD"}
	ask := func(pool string, change func(*idtoken.Question)) error {
		q := right
		change(&q)
		_, err := bus.AskAs[idtoken.Question, idtoken.Answer](t.Context(), p.bus(service.PoolIdentity(pool)), idtoken.Topic, pool, q)
		return err
	}
	must(t, ask("default", func(*idtoken.Question) {}))
	for name, err := range map[string]error{
		"was not given to pool other":     ask("other", func(*idtoken.Question) {}),
		"did not start it":                ask("default", func(q *idtoken.Question) { q.Executor = "another" }),
		"it was not given to pool":        ask("default", func(q *idtoken.Question) { q.Attempt = 2 }),
		"asks for none named SOMETHING":   ask("default", func(q *idtoken.Question) { q.Name = "SOMETHING" }),
		"it was not given to pool defaul": ask("default", func(q *idtoken.Question) { q.Run = "4f2a9c1d-other" }),
	} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("expected %q, got %v", name, err)
		}
	}
	cancel := event.RunCancelRequested{Request: "enough", By: "test"}
	must(t, p.bus(gateway.Name).Publish(t.Context(), event.Root(run, p.deps.Source("test"), time.Now(), cancel)))
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		err := ask("default", func(*idtoken.Question) {})
		if err != nil && strings.Contains(err.Error(), "it has ended") {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("a task that has ended gets a token: %v", err)
		}
	}
}

// commitAll makes a repository of a directory and returns its commit.
func commitAll(t *testing.T, dir string) release.Commit {
	t.Helper()
	var out []byte
	for _, args := range [][]string{{"init", "-q", "--initial-branch=master"}, {"add", "-A"}, {"commit", "-q", "-m", "x"}, {"rev-parse", "HEAD"}} {
		var err error
		c := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=Ada", "-c", "user.email=a@example.org"}, args...)...)
		if out, err = c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return release.Commit(strings.TrimSpace(string(out)))
}

// tokensOf reads the tokens from the log, where the task writes them backwards: as they are they would be masked.
func tokensOf(t *testing.T, p *platform, run release.RunID) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var text []byte
	key := p.onlooker
	onlooker, err := p.server.Connect(ctx, bus.Options{Identity: service.Onlooker, Key: &key, Onlooker: true})
	must(t, err)
	t.Cleanup(onlooker.Close)
	err = onlooker.FollowLog(ctx, "default", run, "deploy", 1, func(c bus.LogChunk) bool {
		text = append(text, c.Data...)
		return bytes.Count(text, []byte("\n")) < 2 && !c.Last
	})
	tokens := strings.Fields(string(text))
	if err != nil || len(tokens) != 2 {
		t.Fatalf("the log is %q, %v", text, err)
	}
	for _, token := range tokens {
		letters := []byte(token)
		slices.Reverse(letters)
		tokens = append(tokens[1:], string(letters))
	}
	return tokens
}

// TestDiscovery is the documents as they are published.
func TestDiscovery(t *testing.T) {
	keys, err := idtoken.OpenKeys(filepath.Join(t.TempDir(), "keys"), 48*time.Hour)
	must(t, err)
	set, err := keys.Set(time.Now())
	must(t, err)
	text, err := json.Marshal(set)
	must(t, err)
	if strings.Contains(string(text), `"d":`) || !strings.Contains(string(text), `"alg":"ES256"`) {
		t.Errorf("published: %s", text)
	}
}
