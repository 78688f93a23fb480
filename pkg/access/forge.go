package access

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/oauth2"

	"github.com/sluiceci/sluice/pkg/fault"
)

// Forge is a forge whose people may sign in, with the permissions that they have on the repositories of the projects.
type Forge struct {
	Kind         string          `yaml:"kind"`     // "github", "gitlab", "gitea"
	BaseURL      string          `yaml:"base_url"` // "https://github.com" or "https://gitlab.com" when empty
	ClientID     string          `yaml:"client_id"`
	ClientSecret string          `yaml:"client_secret"` // name of the secret
	Roles        map[string]Role `yaml:"roles"`         // by permission: {admin: maintainer, write: developer, read: viewer} when empty
}

// ForgeProject is a project whose repository is on the forge.
type ForgeProject struct{ Name, Forge, Repo string }

// shape is how one kind of forge speaks.
type shape struct {
	base            string // of the site
	authorize, take string // paths
	api             func(base string) string
	scopes          []string
	user            string // path of the API: who am I
	repo            func(repo string) string
	permission      func(text []byte) string // "admin", "write", "read" or ""
}

func shapes() map[string]shape {
	return map[string]shape{
		"github": {
			"https://github.com", "/login/oauth/authorize", "/login/oauth/access_token", hubAPI,
			[]string{"read:user", "repo"},
			"/user", func(r string) string { return "/repos/" + r }, flags,
		},
		"gitea": {
			"", "/login/oauth/authorize", "/login/oauth/access_token", func(b string) string { return b + "/api/v1" },
			[]string{"read:user", "read:repository"},
			"/user", func(r string) string { return "/repos/" + r }, flags,
		},
		"gitlab": {
			"https://gitlab.com", "/oauth/authorize", "/oauth/token", func(b string) string { return b + "/api/v4" },
			[]string{"read_api"},
			"/user", func(r string) string { return "/projects/" + url.PathEscape(r) }, levels,
		},
	}
}

func hubAPI(base string) string {
	if base == "https://github.com" {
		return "https://api.github.com"
	}
	return base + "/api/v3"
}

// flags reads the permissions that GitHub and Gitea tell of the asker.
func flags(text []byte) string {
	var repo struct {
		Permissions struct{ Admin, Maintain, Push, Pull bool } `json:"permissions"`
	}
	_ = json.Unmarshal(text, &repo) // what cannot be read grants nothing
	switch p := repo.Permissions; {
	case p.Admin || p.Maintain:
		return "admin"
	case p.Push:
		return "write"
	case p.Pull:
		return "read"
	default:
		return ""
	}
}

// levels reads the access levels of GitLab.
func levels(text []byte) string {
	type access struct {
		Level int `json:"access_level"`
	}
	var project struct {
		Permissions struct {
			Project *access `json:"project_access"`
			Group   *access `json:"group_access"`
		} `json:"permissions"`
	}
	_ = json.Unmarshal(text, &project) // what cannot be read grants nothing
	level := 0
	for _, a := range []*access{project.Permissions.Project, project.Permissions.Group} {
		if a != nil {
			level = max(level, a.Level)
		}
	}
	switch {
	case level >= 40:
		return "admin"
	case level >= 30:
		return "write"
	case level >= 10:
		return "read"
	default:
		return ""
	}
}

type forgeMethod struct {
	c        Forge
	shape    shape
	secret   func(string) (string, error)
	projects []ForgeProject
}

func newForge(c Forge, secret func(string) (string, error), projects []ForgeProject) (*forgeMethod, error) {
	s, known := shapes()[c.Kind]
	if !known {
		return nil, fault.New(fault.Invalid, "cannot let people sign in with forge %q: expected github, gitlab or gitea", c.Kind)
	}
	if c.BaseURL == "" {
		c.BaseURL = s.base
	}
	if c.BaseURL = strings.TrimRight(c.BaseURL, "/"); c.BaseURL == "" || c.ClientID == "" {
		return nil, fault.New(fault.Invalid, "cannot let people sign in with %s: access.forge needs base_url and client_id", c.Kind)
	}
	if len(c.Roles) == 0 {
		c.Roles = map[string]Role{"admin": Maintainer, "write": Developer, "read": Viewer}
	}
	own := slices.DeleteFunc(slices.Clone(projects), func(p ForgeProject) bool { return p.Forge != c.Kind })
	return &forgeMethod{c, s, secret, own}, nil
}

func (f *forgeMethod) config(_ context.Context, callback string) (*oauth2.Config, error) {
	secret, err := f.secret(f.c.ClientSecret)
	if err != nil {
		return nil, fault.New(fault.Internal, "cannot sign in with %s: %w", f.c.Kind, err)
	}
	return &oauth2.Config{
		ClientID: f.c.ClientID, ClientSecret: secret, RedirectURL: callback, Scopes: f.shape.scopes,
		Endpoint: oauth2.Endpoint{AuthURL: f.c.BaseURL + f.shape.authorize, TokenURL: f.c.BaseURL + f.shape.take},
	}, nil
}

// who asks the forge, with the person's own token, who they are and what they may do with each project's repository.
func (f *forgeMethod) who(ctx context.Context, c *oauth2.Config, t *oauth2.Token, _ string) (person, error) {
	client := c.Client(ctx, t)
	text, err := f.get(ctx, client, f.shape.user)
	if err != nil {
		return person{}, err
	}
	var user struct{ Login, Username string }
	if err := json.Unmarshal(text, &user); err != nil || user.Login == "" && user.Username == "" {
		return person{}, fault.New(fault.Denied, "cannot sign in: %s does not say who you are", f.c.Kind)
	}
	p := person{name: user.Login}
	if p.name == "" || f.c.Kind == "gitlab" {
		p.name = user.Username
	}
	p.subject = f.c.Kind + ":" + p.name
	for _, project := range f.projects {
		text, err := f.get(ctx, client, f.shape.repo(project.Repo))
		if fault.Is(err, fault.Transient) {
			return person{}, err
		}
		if role := f.c.Roles[f.shape.permission(text)]; err == nil && role > None {
			p.grants = append(p.grants, Grant{role, []string{project.Name}})
		}
	}
	return p, nil
}

const maxForgeAnswer = 1 << 20

// get asks the API. What it will not show grants nothing.
func (f *forgeMethod) get(ctx context.Context, client *http.Client, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.shape.api(f.c.BaseURL)+path, nil)
	if err != nil {
		return nil, fault.New(fault.Internal, "cannot ask %s: %w", f.c.Kind, err)
	}
	req.Header.Set("Accept", "application/json")
	answer, err := client.Do(req)
	if err != nil {
		return nil, fault.New(fault.Transient, "cannot ask %s: it does not answer", f.c.Kind)
	}
	defer func() { _ = answer.Body.Close() }()
	switch {
	case answer.StatusCode >= 500 || answer.StatusCode == http.StatusTooManyRequests:
		return nil, fault.New(fault.Transient, "cannot ask %s: it answered %d", f.c.Kind, answer.StatusCode)
	case answer.StatusCode != http.StatusOK:
		return nil, fault.New(fault.Denied, "cannot ask %s about %s: it answered %d", f.c.Kind, path, answer.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxForgeAnswer))
	if err != nil {
		return nil, fault.New(fault.Transient, "cannot ask %s: its answer broke off", f.c.Kind)
	}
	return text, nil
}
