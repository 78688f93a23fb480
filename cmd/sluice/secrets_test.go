package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluiceci/sluice/pkg/access"
	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/client"
	"github.com/sluiceci/sluice/pkg/environment"
	"github.com/sluiceci/sluice/pkg/event"
	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/secret"
	"github.com/sluiceci/sluice/services/builder"
	"github.com/sluiceci/sluice/services/executor"
	"github.com/sluiceci/sluice/services/gateway"
	"github.com/sluiceci/sluice/services/publisher"
	"github.com/sluiceci/sluice/services/reporter"
	scheduler "github.com/sluiceci/sluice/services/test-scheduler"
)

// awkward has what shells, HTML, Python and JSON quote.
const awkward = `pa'ss"w&rd<9>\x/Q2`

// secretsOfAll are the values of the installation by name.
func secretsOfAll() map[string]string {
	return map[string]string{
		"AWKWARD": awkward, "PYPI_TOKEN": "pypi-upload-token-0001", "OTHER_KEY": "belongs-to-project-two", "HOOK": "hook-secret-00000001",
		"ADA_TOKEN": "adas-api-token-0000001", "BOB_TOKEN": "bobs-api-token-0000001",
	}
}

// vault is a platform with two projects, whose secrets are granted to some of their work.
type vault struct {
	*platform
	t     *testing.T
	repos map[string]string // directories by project
}

// newVault starts one, of an installation that a test may change before.
func newVault(t *testing.T, change ...func(*installation)) *vault {
	t.Helper()
	dir := t.TempDir()
	v := &vault{t: t, repos: map[string]string{"one": filepath.Join(dir, "one"), "two": filepath.Join(dir, "two")}}
	var lines string
	for name, value := range secretsOfAll() {
		lines += name + "=" + value + "\n"
	}
	must(t, os.WriteFile(filepath.Join(dir, "secrets"), []byte(lines), 0o600))
	in := &installation{
		Dir: filepath.Join(dir, "state"), Listen: "127.0.0.1:0", NATS: natsSide{Listen: "off"},
		Executors: []executor.Config{{Pool: "default", Slots: 4, MinFree: -1}}, Publisher: publisher.Config{Root: filepath.Join(dir, "published")},
		Gateway: gateway.Config{Tokens: []access.Static{{Owner: "ada", Secret: "ADA_TOKEN"}, {Owner: "bob", Secret: "BOB_TOKEN"}}},
		Secrets: secret.Config{Files: []string{filepath.Join(dir, "secrets")}, Grants: secret.Grants{
			{Names: []string{"AWKWARD"}, Projects: []string{"one"}, Environments: []string{"prod"}},
			{Names: []string{"PYPI_TOKEN"}, Projects: []string{"one"}, Targets: []string{"index"}},
			{Names: []string{"OTHER_KEY"}, Projects: []string{"two"}},
		}},
		Environments: environment.Rules{{
			Name: "prod", Projects: []string{"one"}, Refs: []string{"refs/heads/master"}, Reviewers: []string{"ada"}, Targets: []string{"index"},
		}},
	}
	for name, repo := range v.repos {
		must(t, os.MkdirAll(repo, 0o700))
		in.Projects = append(in.Projects, project{Project: gateway.Project{
			Name: name, Repo: "acme/" + name, CloneURL: "file://" + repo, Branches: []string{"none"}, Secrets: []string{"HOOK"},
		}})
	}
	for _, c := range change {
		c(in)
	}
	var err error
	v.platform, err = newPlatform(t.Context(), in, slog.New(slog.DiscardHandler),
		gateway.Name, builder.Name, scheduler.Name, executor.Name, publisher.Name, reporter.Name)
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- v.run(ctx) }()
	t.Cleanup(func() { cancel(); <-done; v.close() })
	return v
}

// push commits files to a project and announces the commit as the head of a branch.
func (v *vault) push(name, branch string, files map[string]string) release.RunID {
	v.t.Helper()
	repo := v.repos[name]
	for file, text := range files {
		must(v.t, os.WriteFile(filepath.Join(repo, file), []byte(text), 0o600))
	}
	head := commitAll(v.t, repo)
	if branch != "master" {
		gitOf(v.t, repo, "branch", "-f", branch, string(head))
	}
	c := release.Change{
		Kind: release.Push, Project: name, Repo: "acme/" + name, CloneURL: "file://" + repo, Ref: "refs/heads/" + branch, Branch: branch,
		Commit: head, Verified: "poll", At: time.Now().UTC(),
	}
	must(v.t, v.deps.Bus.Publish(v.t.Context(), event.Root(c.RunID(), v.deps.Source("test"), time.Now(), event.ChangeReceived{Change: c})))
	return c.RunID()
}

// gitOf runs git in a repository.
func gitOf(t *testing.T, repo string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", repo}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// until waits for a fact of a run: the newest of a type whose key begins so.
func (v *vault) until(run release.RunID, typ event.Type, key string, found func(event.Payload) bool) event.Payload {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.t.Context(), 2*time.Minute)
	defer cancel()
	types := []event.Type{typ}
	for _, end := range []event.Type{event.TypeRunRejected, event.TypeRunFinished} {
		if end != typ {
			types = append(types, end)
		}
	}
	f, err := v.deps.Bus.Follow(ctx, bus.Following{Name: "test", Run: string(run), Types: types})
	must(v.t, err)
	defer f.Close()
	for {
		batch, err := f.Next(ctx, time.Second)
		if err != nil {
			v.t.Fatalf("waiting for %s %s of %s: %v", typ, key, run, err)
		}
		for _, e := range batch.Events {
			if e.Type == typ && strings.HasPrefix(e.Key, key) && (found == nil || found(e.Data)) {
				return e.Data
			}
			if e.Type == event.TypeRunRejected {
				v.t.Fatalf("waiting for %s: %+v", typ, e.Data)
			}
		}
	}
}

// log reads the log of an attempt that has ended.
func (v *vault) log(run release.RunID, task string, person string) string {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), http.MethodGet, fmt.Sprintf("%s/api/v1/runs/%s/tasks/%s/log", v.in.PublicURL, run, task), nil)
	must(v.t, err)
	r.Header.Set("Authorization", "Bearer "+secretsOfAll()[person])
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		var text bytes.Buffer
		answer, err := http.DefaultClient.Do(r)
		must(v.t, err)
		_, err = text.ReadFrom(answer.Body)
		must(v.t, err)
		must(v.t, answer.Body.Close())
		if answer.StatusCode == http.StatusOK && strings.Contains(text.String(), "the end") {
			return text.String()
		}
		if time.Now().After(end) {
			v.t.Fatalf("the log of %s is %d:\n%s", task, answer.StatusCode, text.String())
		}
	}
}

// sluice runs a client command as somebody.
func (v *vault) sluice(person string, args ...string) ran {
	v.t.Setenv("SLUICE_SERVER", v.in.PublicURL)
	v.t.Setenv("SLUICE_TOKEN", secretsOfAll()[person])
	return sluice(v.t, args...)
}

// TestSecretsThroughAPlatform: what definitions of all kinds get of an installation's secrets.
func TestSecretsThroughAPlatform(t *testing.T) {
	v := newVault(t)
	t.Run("a branch that names every secret gets none", v.branchGetsNothing)
	t.Run("a protected environment waits for its reviewers, and what it is given is masked", v.environmentWaits)
	t.Run("another project's upload token", v.uploadTokenOfOthers)
	t.Run("tokens and the audit on the command line", v.tokensAndAudit)
}

// branchGetsNothing is a push to a branch that does not release.
func (v *vault) branchGetsNothing(t *testing.T) {
	definition := "project: one\ntriggers: {push: {branches: [\"**\"]}}\nenvironments: {prod: {vars: {A: b}}}\nbuilds:\n"
	for name := range secretsOfAll() {
		definition += fmt.Sprintf("  grab-%s: {secrets: [%s], run: 'echo \"$%s\" | rev'}\n", strings.ToLower(strings.ReplaceAll(name, "_", "-")), name, name)
	}
	definition += "  in-prod: {environment: prod, secrets: [AWKWARD], run: 'echo \"$AWKWARD\" | rev'}\n"
	run := v.push("one", "feature", map[string]string{definitionName: definition})
	for name := range secretsOfAll() {
		task := "grab-" + strings.ToLower(strings.ReplaceAll(name, "_", "-"))
		got := v.until(run, event.TypeTaskFinished, "default."+task+".", nil).(event.TaskFinished)
		if got.Class != release.ClassConfig || !strings.Contains(got.Reason, "cannot give secret "+name+" to task "+task) || got.LogLines > 0 {
			t.Errorf("%s ended with %s: %s, %d lines", task, got.Class, got.Reason, got.LogLines)
		}
	}
	ended := v.until(run, event.TypeTaskConcluded, "in-prod.", nil).(event.TaskConcluded)
	if ended.Class != release.ClassConfig || ended.Attempts != 0 || !strings.Contains(ended.Reason, "environment prod is for refs refs/heads/master, this run is of refs/heads/feature") {
		t.Errorf("in prod: %+v", ended)
	}
}

// shown prints a secret as tools do.
const shown = `import os, json, html
s = os.environ["AWKWARD"]
print("plain", s)
print("twice", json.dumps(json.dumps({"k": s})))
print("html", html.escape(s))
print("repr", repr(s), repr([s]))
`

// forms are how the secret must not stand in a log.
func forms() map[string]string {
	quoted := strconv.Quote(awkward)
	return map[string]string{
		"plain": awkward, "html": html.EscapeString(awkward), "repr": `pa\'ss"w&rd<9>\\x/Q2`, "json": quoted[1 : len(quoted)-1],
		"bash": `pa'\''ss"w&rd<9>\x/Q2`, "tail": `w&rd<9>`, "html's tail": "w&amp;rd", "base64": base64.StdEncoding.EncodeToString([]byte(awkward)),
	}
}

func (v *vault) environmentWaits(t *testing.T) {
	run := v.push("one", "master", map[string]string{
		"p.py": shown, "x.sh": "set -x\ncurl() { :; }\ncurl -u \"user:$AWKWARD\"\n", "widget-1.0-py3-none-any.whl": wheel(t),
		definitionName: `project: one
environments: {prod: {vars: {WHERE: prod}}}
builds:
  wheel: {run: "true", outputs: {wheel: "*.whl"}}
  show: {environment: prod, secrets: [AWKWARD], run: "python3 p.py; bash x.sh; echo the end"}
gate: {require: [builds]}
publish: {index: {kind: pypi-index, artifacts: [wheel], directory: index}}
`,
	})
	v.until(run, event.TypeTaskFinished, "default.wheel.", nil)
	v.whyBecomes(t, run, "show", "it waits for environment prod: 0 of 1 approvals by reviewers (ada)")
	if got := v.sluice("BOB_TOKEN", "approve", string(run), "--environment", "prod"); got.code == 0 || !strings.Contains(got.talk, "not among its reviewers") {
		t.Fatalf("an operator who is no reviewer: exit %d\n%s%s", got.code, got.out, got.talk)
	}
	forged := event.EnvironmentApproved{Environment: "prod", Reviewer: "token:bob", By: "ada"}
	must(t, v.bus(gateway.Name).Publish(t.Context(), event.Root(run, v.deps.Source("test"), time.Now(), forged)))
	if got := v.sluice("ADA_TOKEN", "approve", string(run), "--environment", "prod"); got.code != 0 {
		t.Fatalf("a reviewer: exit %d\n%s%s", got.code, got.out, got.talk)
	}
	v.until(run, event.TypeTaskDispatched, "default.show.", func(p event.Payload) bool { return p.(event.TaskDispatched).Environment == "prod" })
	log := v.log(run, "show", "ADA_TOKEN")
	for name, form := range forms() {
		if strings.Contains(log, form) {
			t.Errorf("the secret is legible (%s):\n%s", name, log)
		}
	}
	if strings.Count(log, "***") < 6 {
		t.Errorf("the log is masked in fewer places than it shows the secret in:\n%s", log)
	}

	v.until(run, event.TypeCandidateAssembled, "", nil)
	v.whyBecomes(t, run, "", "environment prod: 0 of 1 approvals by reviewers (ada) of this candidate")
	if got := v.sluice("ADA_TOKEN", "status", string(run)); !strings.Contains(got.out, "environment prod") {
		t.Errorf("status does not say what the gate waits for:\n%s", got.out)
	}
	v.approvesOnThePage(t, run, "prod")
	v.until(run, event.TypeReleasePublished, "", nil)
}

// approvesOnThePage is what a browser does: it signs in, finds the button on the run's page, and presses it. Another site's page
// cannot press it, and who is no reviewer is refused although they see it.
func (v *vault) approvesOnThePage(t *testing.T, run release.RunID, environment string) {
	t.Helper()
	action := fmt.Sprintf("/api/v1/runs/%s/environments/%s/approve", run, environment)
	for _, c := range []struct {
		person, from string
		status       int
	}{{"ADA_TOKEN", "cross-site", http.StatusForbidden}, {"BOB_TOKEN", "same-origin", http.StatusForbidden}, {"ADA_TOKEN", "same-origin", http.StatusAccepted}} {
		jar, err := cookiejar.New(nil)
		must(t, err)
		browser := &http.Client{Jar: jar}
		send := func(method, path, from string, form url.Values) (int, string) {
			r, err := http.NewRequestWithContext(t.Context(), method, v.in.PublicURL+path, strings.NewReader(form.Encode()))
			must(t, err)
			r.Header.Set("Sec-Fetch-Site", from)
			if form != nil {
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			}
			answer, err := browser.Do(r)
			must(t, err)
			text, err := io.ReadAll(answer.Body)
			must(t, errors.Join(err, answer.Body.Close()))
			return answer.StatusCode, string(text)
		}
		send(http.MethodPost, "/login", "same-origin", url.Values{"token": {secretsOfAll()[c.person]}})
		if status, page := send(http.MethodGet, "/runs/"+string(run), "same-origin", nil); status != http.StatusOK || !strings.Contains(page, `action="`+action+`"`) {
			t.Fatalf("%s finds no button on the page (%d):\n%s", c.person, status, page)
		}
		if status, said := send(http.MethodPost, action, c.from, nil); status != c.status {
			t.Fatalf("%s presses it from %s and is answered %d %s, expected %d", c.person, c.from, status, said, c.status)
		}
	}
}

// whyBecomes asks until the answer has a text.
func (v *vault) whyBecomes(t *testing.T, run release.RunID, task release.TaskID, want string) {
	t.Helper()
	c, err := client.New(client.Connection{URL: v.in.PublicURL, Token: secretsOfAll()["ADA_TOKEN"]})
	must(t, err)
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		got, err := c.Why(t.Context(), run, task)
		if err == nil && strings.Contains(got.Reason, want) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("why %s/%s: %+v, %v; expected %q", run, task, got, err, want)
		}
	}
}

// uploadTokenOfOthers is a release of project two to a server of its own choice, with the upload token of project one.
func (v *vault) uploadTokenOfOthers(t *testing.T) {
	var asked atomic.Int32
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(thief.Close)
	run := v.push("two", "master", map[string]string{
		"widget-1.0-py3-none-any.whl": wheel(t),
		definitionName: `project: one
builds: {wheel: {run: "true", outputs: {wheel: "*.whl"}}}
gate: {require: [builds]}
publish: {index: {kind: pypi, artifacts: [wheel], url: "` + thief.URL + `/legacy/", index: "` + thief.URL + `/simple/", username: __token__, password: $PYPI_TOKEN}}
`,
	})
	failed := v.until(run, event.TypePublicationFailed, "", nil).(event.PublicationFailed)
	if failed.Fault != "denied" || !strings.Contains(failed.Reason, "cannot give secret PYPI_TOKEN to target index") || !strings.Contains(failed.Reason, "for another project") {
		t.Errorf("refused with %+v", failed)
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("the server that the definition names was asked %d times", n)
	}
}

// TestCredentialsOfServicesAreGrantedToNobody: an installation that grants one does not start.
func TestCredentialsOfServicesAreGrantedToNobody(t *testing.T) {
	t.Parallel()
	for name, what := range map[string]string{"HOOK": "a webhook secret of project one", "ADA_TOKEN": "the API token of ada"} {
		in := &installation{
			Dir: t.TempDir(), Listen: "127.0.0.1:0", NATS: natsSide{Listen: "off"},
			Gateway:  gateway.Config{Tokens: []access.Static{{Owner: "ada", Secret: "ADA_TOKEN"}}},
			Projects: []project{{Project: gateway.Project{Name: "one", Repo: "acme/one", CloneURL: "file:///nowhere", Secrets: []string{"HOOK"}}}},
			Secrets:  secret.Config{Grants: secret.Grants{{Names: []string{name}, Projects: []string{"one"}}}},
		}
		p, err := newPlatform(t.Context(), in, slog.New(slog.DiscardHandler))
		if err == nil {
			p.close()
		}
		if err == nil || !strings.Contains(err.Error(), name+" is "+what+", and no definition may have it") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// wheel is the smallest one.
func wheel(t *testing.T) string {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for name, text := range map[string]string{
		"widget-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: widget\nVersion: 1.0\n",
		"widget-1.0.dist-info/WHEEL":    "Wheel-Version: 1.0\nTag: py3-none-any\n",
		"widget-1.0.dist-info/RECORD":   "",
	} {
		w, err := z.Create(name)
		must(t, err)
		_, err = w.Write([]byte(text))
		must(t, err)
	}
	must(t, z.Close())
	return out.String()
}

// TestRunGivesOnlyNamedSecrets: a checkout asks, whoever runs it decides.
func TestRunGivesOnlyNamedSecrets(t *testing.T) {
	dir := defined(t, "project: p\nbuilds:\n  a: {secrets: [LOCAL_KEY], run: 'echo \"it is $LOCAL_KEY\"; echo \"$LOCAL_KEY\" | rev; exit 3'}\ngate: {require: [builds]}\n")
	t.Setenv("LOCAL_KEY", "local-key-0001")
	if got := sluice(t, "run", dir); got.code != 2 || !strings.Contains(got.out, "cannot give secret LOCAL_KEY to task a") {
		t.Errorf("without --secret: exit %d\n%s%s", got.code, got.out, got.talk)
	}
	got := sluice(t, "run", dir, "--secret", "LOCAL_KEY")
	masked := func(got ran) bool { // the log of what failed is printed: the value was there, and is told only backwards
		return got.code == 1 && strings.Contains(got.out, "it is ***") && strings.Contains(got.out, "1000-yek-lacol") && !strings.Contains(got.out+got.talk, "local-key-0001")
	}
	if !masked(got) {
		t.Errorf("with --secret: exit %d\n%s%s", got.code, got.out, got.talk)
	}
	file := filepath.Join(t.TempDir(), "secrets")
	must(t, os.WriteFile(file, []byte("LOCAL_KEY=local-key-0001\n"), 0o600))
	if got := sluice(t, "run", dir, "--secret-file", file); !masked(got) {
		t.Errorf("with --secret-file: exit %d\n%s%s", got.code, got.out, got.talk)
	}
}

// TestPlanTellsOfGrants: what an installation would do is said before anything runs.
func TestPlanTellsOfGrants(t *testing.T) {
	t.Parallel()
	dir := defined(t, `project: one
environments: {prod: {vars: {A: b}}}
builds:
  a: {secrets: [HF_TOKEN], run: "true"}
  b: {secrets: [PYPI_TOKEN], run: "true"}
  c: {environment: prod, run: "true"}
gate: {require: [builds]}
`)
	config := filepath.Join(t.TempDir(), "installation.yaml")
	must(t, os.WriteFile(config, []byte(`projects: [{name: one, repo: acme/one, clone_url: "file:///nowhere"}]
environments: [{name: prod, projects: [one], refs: [refs/heads/master], reviewers: [ada]}]
secrets:
  grants:
    - {names: [HF_TOKEN], projects: [one], kinds: [build]}
    - {names: [PYPI_TOKEN], projects: [one], targets: [pypi]}
`), 0o600))
	got := sluice(t, "plan", dir, "--config", config, "--event", "push", "--branch", "master")
	said := strings.Join(strings.Fields(got.out+got.talk), " ")
	for _, want := range []string{
		"task a: grant 1 of the installation gives secret HF_TOKEN", "task b: secret PYPI_TOKEN is not given",
		"task c: waits until 1 of the reviewers of environment prod (ada) have approved",
	} {
		if got.code != 0 || !strings.Contains(said, want) {
			t.Errorf("exit %d, %q is not in\n%s%s", got.code, want, got.out, got.talk)
		}
	}
}
