package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	giteaURL = "http://127.0.0.1:24300"
	giteaAPI = giteaURL + "/api/v1"
	password = "Correct-Horse-8"
)

// gitea is a forge that nobody here wrote, with a repository acme/widget: acme owns it, dev writes, guest only reads.
type gitea struct {
	dir    string
	tokens map[string]string // by person
}

func newGitea(t *testing.T) gitea {
	t.Helper()
	g := gitea{dir: t.TempDir(), tokens: map[string]string{}}
	built := tool(t, "SLUICE_GITEA", "scripts/install-gitea")
	config := filepath.Join(g.dir, "app.ini")
	write(t, config, fmt.Sprintf(`I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
WORK_PATH = %[1]s
[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = 24300
ROOT_URL = %[2]s/
STATIC_ROOT_PATH = %[3]s
DISABLE_SSH = true
[database]
DB_TYPE = sqlite3
PATH = %[1]s/gitea.db
[security]
INSTALL_LOCK = true
ALLOWED_HOST_LIST = loopback
[log]
LEVEL = warn
[service]
DISABLE_REGISTRATION = true
`, g.dir, giteaURL, built))
	admin := func(args ...string) string {
		return strings.TrimSpace(run(t, g.dir, filepath.Join(built, "gitea"), append([]string{"--config", config}, args...)...))
	}
	admin("migrate")
	for _, person := range []string{"acme", "dev", "guest"} {
		admin("admin", "user", "create", "--username", person, "--password", password, "--email", person+"@example.org",
			"--must-change-password=false", "--admin="+fmt.Sprint(person == "acme"))
		token := admin("admin", "user", "generate-access-token", "--username", person, "--scopes", "all", "--raw")
		g.tokens[person] = token[strings.LastIndexByte(token, '\n')+1:]
	}
	serve(t, g.dir, nil, filepath.Join(built, "gitea"), "--config", config, "web")
	within(t, "gitea answers", func() bool { return answers(giteaAPI + "/version") })
	return g
}

// answers reports whether a server answers 200.
func answers(url string) bool {
	response, err := http.Get(url)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// serve runs a program until the test ends; what it said is shown when the test has failed.
func serve(t *testing.T, dir string, env []string, name string, args ...string) {
	t.Helper()
	log, err := os.CreateTemp(t.TempDir(), "log")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, append(os.Environ(), env...), log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // it is ended here
		if text, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("%s said:\n%s", filepath.Base(name), tail(string(text)))
		}
		_ = log.Close()
	})
}

// within waits until something holds.
func within(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("waited two minutes in vain: %s", what)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// call asks Gitea something as a person; out may be nil.
func (g gitea) call(t *testing.T, person, method, path string, in, out any) {
	t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, giteaAPI+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "token "+g.tokens[person])
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= 300 {
		t.Fatalf("%s %s as %s: %d %s %v", method, path, person, response.StatusCode, text, err)
	}
	if out == nil {
		return
	}
	if err := json.Unmarshal(text, out); err != nil {
		t.Fatalf("%s %s: %v in %s", method, path, err, text)
	}
}

// repository makes acme/widget, where dev may write, with a webhook.
func (g gitea) repository(t *testing.T, hook, secret string) {
	t.Helper()
	g.call(t, "acme", "POST", "/user/repos", map[string]any{"name": "widget", "default_branch": "master"}, nil)
	g.call(t, "acme", "PUT", "/repos/acme/widget/collaborators/dev", map[string]any{"permission": "write"}, nil)
	g.call(t, "acme", "POST", "/repos/acme/widget/hooks", map[string]any{
		"type": "gitea", "active": true, "events": []string{"push", "pull_request", "pull_request_comment"},
		"config": map[string]string{"url": hook, "content_type": "json", "secret": secret},
	}, nil)
}

// push commits everything in a clone and pushes it to a branch as a person. It returns the commit.
func (g gitea) push(t *testing.T, dir, person, branch, title string) string {
	t.Helper()
	run(t, dir, "git", "add", "-A")
	run(t, dir, "git", "-c", "user.name="+person, "-c", "user.email="+person+"@example.org", "commit", "--allow-empty", "-qm", title)
	run(t, dir, "git", "push", "-q", strings.Replace(giteaURL, "//", "//"+person+":"+password+"@", 1)+"/acme/widget.git", "HEAD:"+branch)
	return strings.TrimSpace(run(t, dir, "git", "rev-parse", "HEAD"))
}

// status is the state of one context of a commit, and how it is described.
func (g gitea) status(t *testing.T, commit, context string) (state, text string) {
	t.Helper()
	var all struct {
		Statuses []struct{ Status, Context, Description string }
	}
	g.call(t, "acme", "GET", "/repos/acme/widget/commits/"+commit+"/status", nil, &all)
	for _, s := range all.Statuses {
		if s.Context == context {
			return s.Status, s.Description
		}
	}
	return "", ""
}

// comments are the bodies of all comments of a pull request, the oldest first.
func (g gitea) comments(t *testing.T, number int) (bodies []string) {
	t.Helper()
	var all []struct{ Body string }
	g.call(t, "acme", "GET", fmt.Sprintf("/repos/acme/widget/issues/%d/comments", number), nil, &all)
	for _, c := range all {
		bodies = append(bodies, c.Body)
	}
	return bodies
}

// ask comments as a person, and returns Sluice's answer.
func (g gitea) ask(t *testing.T, person string, number int, text string) string {
	t.Helper()
	before := len(g.comments(t, number))
	g.call(t, person, "POST", fmt.Sprintf("/repos/acme/widget/issues/%d/comments", number), map[string]string{"body": text}, nil)
	var all []string
	within(t, "an answer to "+text, func() bool {
		all = g.comments(t, number)
		return len(all) > before+1
	})
	if len(all) > before+2 {
		t.Errorf("%q was answered %d times:\n%s", text, len(all)-before-1, strings.Join(all[before+1:], "\n---\n"))
	}
	return all[before+1]
}
