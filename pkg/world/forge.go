package world

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const zeros = "0000000000000000000000000000000000000000"

// Forge is a git server that announces pushes and pull requests as Gitea does, and takes commit statuses.
type Forge struct {
	dir    string
	url    string
	secret string
	hook   string // where webhooks go; empty sends none

	mu       sync.Mutex
	statuses map[string][]Status // by commit
	pulls    map[string]any      // by "owner/name#1"
	answers  map[string]int      // by commit: the status that its push's webhook was answered with; 0 for no answer
}

// Status is a commit status that the forge was given.
type Status struct {
	State       string `json:"state"`
	Context     string `json:"context"`
	Description string `json:"description"`
	TargetURL   string `json:"target_url"`
}

// NewForge makes a forge that keeps its repositories in dir. url is where Handler is served; hook is where webhooks go,
// signed with the secret.
func NewForge(dir, url, hook, secret string) *Forge {
	return &Forge{dir: dir, url: url, hook: hook, secret: secret, statuses: map[string][]Status{}, pulls: map[string]any{}, answers: map[string]int{}}
}

// Create makes an empty repository "owner/name".
func (f *Forge) Create(ctx context.Context, repo string) error {
	dir := f.path(repo)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("cannot create repository %s: %w", repo, err)
	}
	if _, err := f.git(ctx, "", "init", "-q", "--bare", "--initial-branch=master", dir); err != nil {
		return err
	}
	for _, option := range []string{"http.receivepack=true", "uploadpack.allowAnySHA1InWant=true"} {
		name, value, _ := strings.Cut(option, "=")
		if _, err := f.git(ctx, dir, "config", name, value); err != nil {
			return err
		}
	}
	return nil
}

// URL is where the forge is served.
func (f *Forge) URL() string { return f.url }

// CloneURL is where git clones and pushes a repository.
func (f *Forge) CloneURL(repo string) string { return f.url + "/" + repo + ".git" }

// Answer is the status that the webhook of a pushed commit was answered with, or 0 when nobody answered.
func (f *Forge) Answer(commit string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.answers[commit]
}

// Statuses returns what the forge was told about a commit.
func (f *Forge) Statuses(commit string) []Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Status(nil), f.statuses[commit]...)
}

func (f *Forge) path(repo string) string {
	return filepath.Join(f.dir, filepath.FromSlash(repo)+".git")
}

// Handler serves git over HTTP and the status API.
func (f *Forge) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v1/repos/{owner}/{name}/statuses/{commit}", f.takeStatus)
	mux.HandleFunc("GET /api/v1/repos/{owner}/{name}/pulls/{number}", f.tellPull)
	mux.HandleFunc("GET /api/v1/repos/{owner}/{name}/collaborators/{who}/permission", tellPermission)
	mux.HandleFunc("/", f.serveGit)
	return mux
}

// tellPull gives out a pull request as it was opened.
func (f *Forge) tellPull(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	pull := f.pulls[r.PathValue("owner")+"/"+r.PathValue("name")+"#"+r.PathValue("number")]
	f.mu.Unlock()
	if pull == nil {
		http.NotFound(w, r)
		return
	}
	_ = json.NewEncoder(w).Encode(pull)
}

// tellPermission says that the one person of this world may write.
func tellPermission(w http.ResponseWriter, r *http.Request) {
	permission := "none"
	if r.PathValue("who") == person()["login"] {
		permission = "write"
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"permission": permission})
}

func (f *Forge) takeStatus(w http.ResponseWriter, r *http.Request) {
	var s Status
	if err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&s); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.statuses[r.PathValue("commit")] = append(f.statuses[r.PathValue("commit")], s)
	w.WriteHeader(http.StatusCreated)
}

// serveGit runs git's own server; after a push it tells what has changed.
func (f *Forge) serveGit(w http.ResponseWriter, r *http.Request) {
	backend, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		http.Error(w, "git is not installed", http.StatusInternalServerError)
		return
	}
	handler := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(backend)), "git-http-backend"), Dir: f.dir,
		Env: []string{"GIT_PROJECT_ROOT=" + f.dir, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=demo"}, Stderr: io.Discard,
	}
	repo, push := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/"), ".git/git-receive-pack")
	if !push {
		handler.ServeHTTP(w, r)
		return
	}
	before := f.refs(r.Context(), repo)
	handler.ServeHTTP(w, r)
	f.announce(context.WithoutCancel(r.Context()), repo, before, f.refs(r.Context(), repo))
}

func (f *Forge) refs(ctx context.Context, repo string) map[string]string {
	out, err := f.git(ctx, f.path(repo), "for-each-ref", "--format=%(refname) %(objectname)")
	if err != nil {
		return nil
	}
	refs := map[string]string{}
	for line := range strings.Lines(out) {
		if ref, commit, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			refs[ref] = commit
		}
	}
	return refs
}

func (f *Forge) announce(ctx context.Context, repo string, before, after map[string]string) {
	for ref, commit := range after {
		if before[ref] != commit && !strings.HasPrefix(ref, "refs/pull/") {
			status, _ := f.deliver(ctx, "push", f.push(ctx, repo, ref, before[ref], commit)) // a lost webhook is lost
			f.mu.Lock()
			f.answers[commit] = status
			f.mu.Unlock()
		}
	}
}

func (f *Forge) push(ctx context.Context, repo, ref, before, after string) map[string]any {
	if before == "" {
		before = zeros
	}
	commit := f.commit(ctx, repo, after)
	return map[string]any{
		"ref": ref, "before": before, "after": after, "commits": []any{commit}, "head_commit": commit, "total_commits": 1,
		"repository": f.repository(repo), "pusher": person(), "sender": person(),
	}
}

func (f *Forge) commit(ctx context.Context, repo, commit string) map[string]any {
	message, _ := f.git(ctx, f.path(repo), "log", "-1", "--format=%B", commit)
	return map[string]any{
		"id": commit, "message": strings.TrimSpace(message), "url": f.url + "/" + repo + "/commit/" + commit,
		"author": map[string]any{"name": "Ada", "email": "ada@example.com", "username": "ada"}, "timestamp": time.Now().UTC().Format(time.RFC3339),
	}
}

func (f *Forge) repository(repo string) map[string]any {
	owner, name, _ := strings.Cut(repo, "/")
	return map[string]any{
		"id": 1, "name": name, "full_name": repo, "clone_url": f.CloneURL(repo), "html_url": f.url + "/" + repo,
		"default_branch": "master", "fork": false, "owner": map[string]any{"id": 1, "login": owner, "username": owner},
	}
}

func person() map[string]any {
	return map[string]any{"id": 1, "login": "ada", "username": "ada", "full_name": "Ada", "email": "ada@example.com"}
}

// OpenPullRequest opens pull request number n from a branch of the repository to master.
func (f *Forge) OpenPullRequest(ctx context.Context, repo string, n int, branch, title string) error {
	head, err := f.git(ctx, f.path(repo), "rev-parse", "refs/heads/"+branch)
	if err != nil {
		return err
	}
	base, err := f.git(ctx, f.path(repo), "rev-parse", "refs/heads/master")
	if err != nil {
		return err
	}
	head, base = strings.TrimSpace(head), strings.TrimSpace(base)
	if _, err := f.git(ctx, f.path(repo), "update-ref", fmt.Sprintf("refs/pull/%d/head", n), head); err != nil {
		return err
	}
	pull := map[string]any{
		"id": n, "number": n, "title": title, "state": "open", "user": person(), "merged": false, "mergeable": false,
		"html_url": fmt.Sprintf("%s/%s/pulls/%d", f.url, repo, n), "merge_base": base,
		"head": map[string]any{"label": branch, "ref": branch, "sha": head, "repo_id": 1, "repo": f.repository(repo)},
		"base": map[string]any{"label": "master", "ref": "master", "sha": base, "repo_id": 1, "repo": f.repository(repo)},
	}
	f.mu.Lock()
	f.pulls[fmt.Sprintf("%s#%d", repo, n)] = pull
	f.mu.Unlock()
	_, err = f.deliver(ctx, "pull_request", map[string]any{
		"action": "opened", "number": n, "repository": f.repository(repo), "sender": person(), "pull_request": pull,
	})
	return err
}

// Redeliver sends the webhook of a push again, as a person can ask a forge to, and returns the answer's status.
func (f *Forge) Redeliver(ctx context.Context, repo, ref, commit string) (status int, err error) {
	return f.deliver(ctx, "push", f.push(ctx, repo, ref, "", commit))
}

// deliver sends a webhook once, as forges do: nobody tries again. It returns the status of the answer.
func (f *Forge) deliver(ctx context.Context, kind string, body map[string]any) (int, error) {
	if f.hook == "" {
		return 0, nil
	}
	text, err := json.MarshalIndent(body, "", "  ")
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, f.hook, bytes.NewReader(text))
	if err != nil {
		return 0, err
	}
	mac := hmac.New(sha256.New, []byte(f.secret))
	mac.Write(text)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Gitea-Event", kind)
	request.Header.Set("X-Gitea-Event-Type", kind)
	request.Header.Set("X-Gitea-Delivery", fmt.Sprintf("%x", time.Now().UnixNano()))
	request.Header.Set("X-Gitea-Signature", hex.EncodeToString(mac.Sum(nil)))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

func (f *Forge) git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("cannot run git %s: %w: %s", args[0], err, bytes.TrimSpace(out))
	}
	return string(out), nil
}
