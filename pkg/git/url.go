package git

import (
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// remote is a checked URL, the credential taken out of it.
type remote struct {
	url    string
	host   string
	scheme string
	origin string // "https://host:port/": what a header is sent to
	user   *url.Userinfo
}

// protocols are the transports that git may use.
func protocols() []string { return []string{"file", "http", "https", "ssh", "git"} }

// scpPattern is git's short form of ssh: "git@host:owner/name.git".
var scpPattern = regexp.MustCompile(`^([A-Za-z0-9._][A-Za-z0-9._-]*@)?([A-Za-z0-9][A-Za-z0-9.-]*):([^:\s-][^\s]*)$`)

// parseURL accepts what git may be asked to talk to, and nothing that git would take for an option or a helper.
func parseURL(raw string) (remote, error) {
	refused := func(why string) (remote, error) {
		return remote{}, fault.New(fault.Invalid, "cannot use git URL %q: %s; expected file, http, https, ssh or git", redactURL(raw), why)
	}
	switch {
	case raw == "":
		return refused("it is empty")
	case strings.HasPrefix(raw, "-"):
		return refused("it begins with a dash")
	case strings.ContainsFunc(raw, func(r rune) bool { return r < 0x20 || r == 0x7f }):
		return refused("it holds control characters")
	case strings.Contains(raw, "::"):
		return refused("it names a remote helper")
	case path.IsAbs(raw):
		return fromURL(&url.URL{Scheme: "file", Path: path.Clean(raw)}), nil
	}
	if m := scpPattern.FindStringSubmatch(raw); m != nil && !strings.Contains(raw, "://") {
		return remote{url: raw, host: m[2], scheme: "ssh"}, nil
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return refused("it cannot be read")
	case !slices.Contains(protocols(), u.Scheme):
		return refused("its scheme is " + strings.TrimSpace(`"`+u.Scheme+`"`))
	case u.Scheme != "file" && u.Hostname() == "", strings.HasPrefix(u.Host, "-"):
		return refused("its host is missing or begins with a dash")
	case u.Scheme == "file" && (u.Host != "" && u.Host != "localhost" || !path.IsAbs(u.Path)):
		return refused("a file URL needs an absolute path")
	case strings.HasPrefix(u.User.Username(), "-"):
		return refused("its user begins with a dash")
	}
	return fromURL(u), nil
}

func fromURL(u *url.URL) remote {
	r := remote{scheme: u.Scheme, host: orElse(u.Hostname(), "file")}
	switch u.Scheme {
	case "http", "https":
		r.user, u.User = u.User, nil
		r.origin = u.Scheme + "://" + u.Host + "/"
	case "ssh":
		if u.User != nil { // the name is part of the address; a password has no use and is dropped
			u.User = url.User(u.User.Username())
		}
	default:
		u.User = nil
	}
	u.Fragment = ""
	r.url = u.String()
	return r
}

var userinfoPattern = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)[^/@\s]*@`)

// redactURL hides the user part of every URL within a text.
func redactURL(s string) string { return userinfoPattern.ReplaceAllString(s, "$1***@") }

// checkRef refuses what git would, and what could be read as an option or a refspec. One star may stand for any text.
func checkRef(ref string) error {
	if !release.ValidRef(strings.Replace(ref, "*", "x", 1)) {
		return fault.New(fault.Invalid, "cannot use ref %q: expected a full name such as \"refs/heads/master\"", ref)
	}
	return nil
}
