// Package forgetest is a forge's API for tests: pull requests, who may do what, comments. It speaks as GitHub, Gitea and
// GitLab do, and can be away.
package forgetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Token is what the forge wants to be shown.
const Token = "token-forge"

// Pull is a pull request.
type Pull struct {
	Number   int
	Head     string // commit
	Branch   string // of the head
	From     string // repository of the head; empty when it is gone
	Into     string // branch
	Closed   bool
	Author   string
	AuthorID int64
}

// Forge is a forge with one repository.
type Forge struct {
	URL string

	mu       sync.Mutex
	repo     string
	pulls    map[int]Pull
	may      map[string]string // login, or GitLab's id: "admin", "maintain", "write", "read"
	comments map[int][]string  // of pull requests and issues, which share their numbers
	issues   []*Issue
	labels   []string
	away     bool
	mute     bool
	calls    []string
}

// Start serves a forge until stop is called.
func Start(repo string) (f *Forge, stop func()) {
	f = &Forge{repo: repo, pulls: map[int]Pull{}, may: map[string]string{}, comments: map[int][]string{}}
	server := httptest.NewServer(f)
	f.URL = server.URL
	return f, server.Close
}

// Put opens or changes a pull request.
func (f *Forge) Put(p Pull) { f.locked(func() { f.pulls[p.Number] = p }) }

// Allow says what a person may do.
func (f *Forge) Allow(person, permission string) { f.locked(func() { f.may[person] = permission }) }

// Away makes every call fail, or work again.
func (f *Forge) Away(away bool) { f.locked(func() { f.away = away }) }

// Say writes a comment.
func (f *Forge) Say(pull int, text string) {
	f.locked(func() { f.comments[pull] = append(f.comments[pull], text) })
}

// Comments are those of a pull request.
func (f *Forge) Comments(pull int) (out []string) {
	f.locked(func() { out = slices.Clone(f.comments[pull]) })
	return out
}

// Calls are all that were made, "GET /path".
func (f *Forge) Calls() (out []string) {
	f.locked(func() { out = slices.Clone(f.calls) })
	return out
}

func (f *Forge) locked(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

// ServeHTTP implements http.Handler.
func (f *Forge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, r.Method+" "+r.URL.Path)
	if f.away {
		http.Error(w, `{"message": "away"}`, http.StatusBadGateway)
		return
	}
	if r.Header.Get("Authorization") != "Bearer "+Token && r.Header.Get("Private-Token") != Token {
		http.Error(w, `{"message": "who are you?"}`, http.StatusUnauthorized)
		return
	}
	parts := f.parts(r.URL.Path)
	answer, code := f.answer(r, parts)
	if f.mute && r.Method != http.MethodGet {
		answer, code = object{"message": "away"}, http.StatusBadGateway
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(answer) // the client is gone when this fails
}

// parts are what follows the repository in a path, whichever forge's.
func (f *Forge) parts(path string) []string {
	for _, prefix := range []string{"/api/v4/projects/", "/api/v1/repos/", "/repos/"} {
		if rest, ok := strings.CutPrefix(path, prefix+f.repo+"/"); ok {
			return append([]string{prefix}, strings.Split(rest, "/")...)
		}
	}
	return []string{""}
}

type object = map[string]any

func (f *Forge) answer(r *http.Request, parts []string) (any, int) {
	missing := object{"message": "404 Not Found"}
	number := 0
	if len(parts) > 2 {
		number, _ = strconv.Atoi(parts[2])
	}
	pull, known := f.pulls[number]
	switch kind := strings.Join(parts[1:min(2, len(parts))], "") + "/" + strconv.Itoa(len(parts)); {
	case kind == "pulls/3" && known:
		return f.hubPull(pull), http.StatusOK
	case kind == "merge_requests/3" && known:
		return f.labPull(pull), http.StatusOK
	case kind == "collaborators/4":
		return f.permission(parts[2])
	case kind == "members/4":
		return f.member(parts[3])
	case kind == "labels/2":
		return f.repoLabels(r)
	case kind == "issues/2":
		return f.issueList(r)
	case (kind == "issues/3" || kind == "issues/4") && f.issue(number) != nil:
		return f.onIssue(r, f.issue(number), parts)
	case (kind == "issues/4" || kind == "merge_requests/4") && known:
		return f.comment(r, number)
	}
	return missing, http.StatusNotFound
}

func (f *Forge) hubPull(p Pull) any {
	state := "open"
	if p.Closed {
		state = "closed"
	}
	head := object{"ref": p.Branch, "sha": p.Head, "repo": nil}
	if p.From != "" {
		head["repo"] = object{"full_name": p.From}
	}
	return object{
		"number": p.Number, "title": "Add feature", "state": state, "html_url": f.URL + "/pulls/1", "user": object{"login": p.Author},
		"base": object{"ref": p.Into, "repo": object{"full_name": f.repo}}, "head": head,
	}
}

func (f *Forge) labPull(p Pull) any {
	state, from := "opened", 15
	if p.Closed {
		state = "merged"
	}
	if p.From != f.repo {
		from = 16
	}
	return object{
		"iid": p.Number, "title": "Add feature", "state": state, "sha": p.Head, "source_branch": p.Branch, "target_branch": p.Into,
		"source_project_id": from, "target_project_id": 15, "author": object{"username": p.Author}, "web_url": f.URL + "/m/1",
	}
}

func (f *Forge) permission(login string) (any, int) {
	switch may := f.may[login]; may {
	case "":
		return object{"message": "404 Not Found"}, http.StatusNotFound
	case "maintain":
		return object{"permission": "write", "role_name": "maintain"}, http.StatusOK
	default:
		return object{"permission": may, "role_name": may}, http.StatusOK
	}
}

func (f *Forge) member(id string) (any, int) {
	level := map[string]int{"read": 20, "write": 30, "maintain": 40, "admin": 50}[f.may[id]]
	if level == 0 {
		return object{"message": "404 Not found"}, http.StatusNotFound
	}
	return object{"id": id, "state": "active", "access_level": level}, http.StatusOK
}

func (f *Forge) comment(r *http.Request, pull int) (any, int) {
	if r.Method == http.MethodPost {
		var in struct{ Body string }
		if json.NewDecoder(r.Body).Decode(&in) != nil || in.Body == "" {
			return object{"message": "body is missing"}, http.StatusUnprocessableEntity
		}
		f.comments[pull] = append(f.comments[pull], in.Body)
		return object{"id": len(f.comments[pull])}, http.StatusCreated
	}
	size, _ := strconv.Atoi(r.URL.Query().Get("per_page"))
	page, _ := strconv.Atoi(r.URL.Query().Get("page"))
	all := f.comments[pull]
	from := min(max(0, page-1)*size, len(all))
	out := []object{}
	for i, text := range all[from:min(from+size, len(all))] {
		out = append(out, object{"id": from + i + 1, "body": text, "user": object{"login": fmt.Sprint("user", i)}})
	}
	return out, http.StatusOK
}
