package access

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
)

// Config is the section "access" of an installation's file: how people show who they are, and what they may do.
type Config struct {
	Anonymous *[]string     `yaml:"anonymous"` // projects that anybody may look at; ["*"] is all of them
	Session   time.Duration `yaml:"session"`   // until a login has to be made again; 12h when 0
	OIDC      *OIDC         `yaml:"oidc"`
	Forge     *Forge        `yaml:"forge"`
	Roles     []RoleOf      `yaml:"roles"`
}

// RoleOf gives a role to people and groups.
type RoleOf struct {
	Grant  `yaml:",inline"`
	Users  []string `yaml:"users"`  // "oidc:ada@example.org", "github:ada", as whom they sign in
	Groups []string `yaml:"groups"` // of the OIDC provider
}

// Static is a token of the installation's file.
type Static struct {
	Owner    string   `yaml:"owner"`
	Secret   string   `yaml:"secret"`   // name of the secret whose value is the token
	Role     Role     `yaml:"role"`     // operator when it is left out
	Projects []string `yaml:"projects"` // all when it is left out
}

// Logins reports whether people can sign in otherwise than with a token.
func (c Config) logins() bool { return c.OIDC != nil || c.Forge != nil }

// public are the projects that anybody may look at. An installation that says nothing is open to its own machine, as long as
// nobody can sign in, it is not reached from elsewhere, and no stranger's code runs there.
func (c Config) public(listen, publicURL string, strangers bool) (projects []string, own bool) {
	if c.Anonymous != nil {
		return *c.Anonymous, false
	}
	host, _, badListen := net.SplitHostPort(listen)
	u, err := url.Parse(publicURL)
	if err != nil || badListen != nil || strangers || c.logins() || !loopback(host) || !loopback(u.Hostname()) {
		return nil, false
	}
	return []string{All}, true
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

func (c Config) check(publicURL string) error {
	u, err := url.Parse(publicURL)
	if c.logins() && (err != nil || u.Scheme != "https" && !loopback(u.Hostname())) {
		return fault.New(fault.Invalid, "cannot offer a login at public_url %q: a session's cookie needs https", publicURL)
	}
	for i, r := range c.Roles {
		if r.Role == None || len(r.Users)+len(r.Groups) == 0 {
			return fault.New(fault.Invalid, "cannot use access.roles[%d]: expected a role, and users or groups that have it", i)
		}
		if at := slices.IndexFunc(r.Users, func(u string) bool { return !strings.Contains(u, ":") }); at >= 0 {
			return fault.New(fault.Invalid, "cannot give role %s to user %q: say how they sign in, such as \"oidc:%s\" or \"github:%s\"",
				r.Role, r.Users[at], r.Users[at], r.Users[at])
		}
	}
	return nil
}

// granted are the roles that the installation's file gives to somebody.
func (c Config) granted(subject, login string, groups []string) []Grant {
	var out []Grant
	for _, r := range c.Roles {
		named := slices.Contains(r.Users, subject) || slices.Contains(r.Users, login)
		if named || slices.ContainsFunc(r.Groups, func(g string) bool { return slices.Contains(groups, g) }) {
			g := r.Grant
			if len(g.Projects) == 0 {
				g.Projects = []string{All}
			}
			out = append(out, g)
		}
	}
	return out
}
