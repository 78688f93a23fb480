package gateway

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/access"
	"github.com/sluiceci/sluice/pkg/environment"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/forge"
	"github.com/sluiceci/sluice/pkg/release"
)

// Config of a gateway.
type Config struct {
	Projects []Project       `yaml:"projects"`
	Tokens   []access.Static `yaml:"tokens"` // who may act besides those that sign in
	Poll     time.Duration   `yaml:"poll"`   // between two looks at the watched branches; 30s when 0
	IDTokens IDTokens        `yaml:"id_tokens"`

	Environments environment.Rules `yaml:"-"` // whose reviewers may approve
}

// Project is a repository whose changes start runs.
type Project struct {
	Name     string   `yaml:"name"`
	Forge    string   `yaml:"forge"` // "github", "gitlab", "gitea", or "git": a server without webhooks, and what is meant when empty
	Repo     string   `yaml:"repo"`  // "owner/name", as the forge's webhooks say it
	CloneURL string   `yaml:"clone_url"`
	Branches []string `yaml:"branches"` // watched: "master", "releases/*"; master when empty
	Secrets  []string `yaml:"secrets"`  // names of the webhook's secrets; several during a rotation
	BaseURL  string   `yaml:"-"`        // of the forge's API, which is asked about comments
	Token    string   `yaml:"-"`        // name of the secret that is shown there; without it comments do nothing
}

// IDTokens says which tasks get identity tokens.
type IDTokens struct {
	Issuer    string        `yaml:"issuer"`    // URL that others find the keys below; public_url when empty
	Keys      string        `yaml:"keys"`      // directory of the keys; below dir when empty
	Rotate    time.Duration `yaml:"rotate"`    // after which a key is replaced; 720h when 0
	Untrusted bool          `yaml:"untrusted"` // tasks of untrusted changes get them too; the claim trust says so
}

// shortestPoll keeps a gateway from asking a forge without a pause.
const shortestPoll = 10 * time.Millisecond

// checked returns the configuration with its defaults, or what is wrong with it.
func (c Config) checked() (Config, error) {
	c.Poll = cmp.Or(c.Poll, 30*time.Second)
	if c.Poll < shortestPoll {
		return c, fault.New(fault.Invalid, "cannot look at branches every %s: expected gateway.poll to be at least %s", c.Poll, shortestPoll)
	}
	c.Projects = slices.Clone(c.Projects)
	names, repos := map[string]bool{}, map[string]string{}
	for i := range c.Projects {
		p := &c.Projects[i]
		p.Forge = cmp.Or(p.Forge, "git")
		if err := p.check(); err != nil {
			return c, err
		}
		if names[p.Name] {
			return c, fault.New(fault.Invalid, "cannot serve two projects named %q: expected one name each", p.Name)
		}
		if other, taken := repos[strings.ToLower(p.Repo)]; taken {
			return c, fault.New(fault.Invalid, "cannot serve projects %q and %q: both are repository %s, and runs are told apart by it", other, p.Name, p.Repo)
		}
		names[p.Name], repos[strings.ToLower(p.Repo)] = true, p.Name
		if len(p.Branches) == 0 {
			p.Branches = []string{"master"}
		}
	}
	return c, nil
}

func (p Project) check() error {
	if p.Name == "" || p.Repo == "" || p.CloneURL == "" {
		return fault.New(fault.Invalid, "cannot serve project %q: name %q, repo %q and clone_url %q must be set", p.Name, p.Name, p.Repo, p.CloneURL)
	}
	if u, err := url.Parse(p.CloneURL); err == nil && u.User != nil && (u.Scheme != "ssh" || passworded(u)) {
		return fault.New(fault.Invalid, "cannot serve project %q: its clone_url holds a credential, and clone_url is part of every event; "+
			"expected one without, such as %s", p.Name, without(u))
	}
	kinds := []string{"git"}
	for _, f := range forge.Forges() {
		kinds = append(kinds, f.Name)
	}
	if !slices.Contains(kinds, p.Forge) {
		return fault.New(fault.Invalid, "cannot serve project %q: its forge is %q, expected one of %v", p.Name, p.Forge, kinds)
	}
	for _, b := range p.Branches {
		if !release.ValidRef(ref(star(b))) {
			return fault.New(fault.Invalid, "cannot serve project %q: %q is no branch; expected a name such as \"master\", or one with a star", p.Name, b)
		}
	}
	return nil
}

func passworded(u *url.URL) bool { _, set := u.User.Password(); return set }

// without is a URL without its user.
func without(u *url.URL) string {
	bare := *u
	bare.User = nil
	return bare.String()
}
