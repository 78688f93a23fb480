package forge

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/drone/go-scm/scm"

	"github.com/sluiceci/sluice/pkg/fault"
)

// callTimeout bounds one question to a forge.
const callTimeout = 20 * time.Second

// API is a repository's side of a forge, for questions and comments.
type API struct {
	Forge   string // "github", "gitlab", "gitea"
	BaseURL string // as in StatusRequest
	Token   string
	Repo    string       // "owner/name"
	Client  *http.Client // for tests; nil is a client with a deadline of its own
}

// path is where the forge keeps what belongs to the repository.
func (a API) path(rest string) string {
	switch a.Forge {
	case "gitlab":
		return "api/v4/projects/" + url.PathEscape(a.Repo) + rest
	case "gitea":
		return "api/v1/repos/" + a.Repo + rest
	default:
		return "repos/" + a.Repo + rest
	}
}

// call asks one question; what says in an error what was wanted. found is false when the forge answers that there is no
// such thing.
func (a API) call(ctx context.Context, what, method, path string, in, out any) (found bool, err error) {
	s := StatusRequest{Forge: a.Forge, BaseURL: a.BaseURL, Token: a.Token, Repo: a.Repo, Client: a.Client}
	if err := s.reachable(); err != nil {
		return false, fault.New(fault.Invalid, "cannot %s: %w", what, err)
	}
	client, err := s.client()
	if err != nil {
		return false, err
	}
	request := &scm.Request{Method: method, Path: path, Header: http.Header{"Accept": {"application/json"}}}
	if in != nil {
		body, err := json.Marshal(in)
		if err != nil {
			return false, fault.New(fault.Internal, "cannot %s: %w", what, err)
		}
		request.Body = bytes.NewReader(body)
		request.Header.Set("Content-Type", "application/json")
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	response, err := client.Do(ctx, request)
	if err != nil {
		return false, fault.New(fault.Transient, "cannot %s: %s cannot be reached: %s", what, a.BaseURL, s.redact(err))
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body) // cut by the transport
	switch {
	case response.Status == http.StatusNotFound:
		return false, nil
	case response.Status >= 300:
		return false, s.refused(what, response, text)
	case err != nil:
		return false, fault.New(fault.Transient, "cannot %s: the answer of %s broke off: %s", what, a.BaseURL, s.redact(err))
	}
	if out == nil {
		return true, nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return false, fault.New(fault.Transient, "cannot %s: %s answers %q, expected the forge's JSON: %s", what, a.BaseURL, clip(string(text), 60), s.redact(err))
	}
	return true, nil
}

// refused gives the answer of a forge its kind.
func (s StatusRequest) refused(what string, response *scm.Response, text []byte) error {
	kind, next := meaning(response)
	wait := retryAfter(response.Header)
	if wait > 0 && kind == fault.Denied {
		kind, next = fault.Transient, "too many requests"
	}
	if kind == fault.Denied {
		next = "give the project a token that may read permissions and pull requests, and write comments"
	}
	said := s.redact(&scmError{message(text)})
	return &fault.Error{Kind: kind, After: wait, Err: fault.New(kind, "cannot %s in %s: %s answers %d %s; %s", what, s.Repo, s.BaseURL, response.Status, said, next)}
}

// Permission asks what a person may do with the repository: "admin", "write", "read", or "" for nothing. Who maintains a
// repository counts as its admin: a release is theirs to decide.
func (a API) Permission(ctx context.Context, login string, id int64) (string, error) {
	what := "ask for the permission of " + clip(login, 60)
	if a.Forge == "gitlab" {
		return a.labPermission(ctx, what, id)
	}
	if login == "" || strings.ContainsAny(login, "/?#%\\") || login == "." || login == ".." {
		return "", fault.New(fault.Invalid, "cannot %s: that is no name of a person", what)
	}
	var said struct {
		Permission string `json:"permission"`
		Role       string `json:"role_name"`
	}
	found, err := a.call(ctx, what, http.MethodGet, a.path("/collaborators/"+url.PathEscape(login)+"/permission"), nil, &said)
	if err != nil || !found {
		return "", err
	}
	return hubPermission(said.Permission, said.Role), nil
}

// hubPermission is GitHub's or Gitea's word in ours. GitHub says "write" of who maintains, and the role beside it; Gitea
// says "owner" of who owns.
func hubPermission(permission, role string) string {
	switch {
	case permission == "admin", permission == "owner", permission == "write" && role == "maintain":
		return "admin"
	case permission == "write", permission == "read":
		return permission
	default:
		return ""
	}
}

// GitLab's levels of access: 30 developers push, 40 maintainers release.
const (
	labReporter   = 20
	labDeveloper  = 30
	labMaintainer = 40
)

func (a API) labPermission(ctx context.Context, what string, id int64) (string, error) {
	if id <= 0 {
		return "", fault.New(fault.Invalid, "cannot %s: the comment does not say the person's id", what)
	}
	var said struct {
		Level int    `json:"access_level"`
		State string `json:"state"`
	}
	found, err := a.call(ctx, what, http.MethodGet, a.path("/members/all/"+strconv.FormatInt(id, 10)), nil, &said)
	switch {
	case err != nil:
		return "", err
	case !found, said.State != "active" && said.State != "":
		return "", nil
	case said.Level >= labMaintainer:
		return "admin", nil
	case said.Level >= labDeveloper:
		return "write", nil
	case said.Level >= labReporter:
		return "read", nil
	default:
		return "", nil
	}
}
