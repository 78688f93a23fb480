package client

import (
	"io/fs"
	"net"
	"net/url"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
)

// trusted reports why a connection file may not be used. A checkout brings its own files, so the file that "sluice up"
// writes is told from one that a repository holds: it is a plain file of the user, and nobody else can read it.
func trusted(name string, info fs.FileInfo) error {
	switch {
	case !info.Mode().IsRegular():
		return fault.New(fault.Denied, "cannot use %s: it is no plain file; name the server with --server or $SLUICE_SERVER", name)
	case info.Mode().Perm()&0o077 != 0 && ownable:
		return fault.New(fault.Denied, "cannot use %s: its mode is %#o, expected 0600 as \"sluice up\" writes it; a repository may have brought it: "+
			"name the server with --server or $SLUICE_SERVER", name, info.Mode().Perm())
	case !owned(info):
		return fault.New(fault.Denied, "cannot use %s: it belongs to another user; name the server with --server or $SLUICE_SERVER", name)
	}
	return nil
}

// onThisMachine checks that a connection file names a server of this machine: it never sends anybody anywhere else.
func onThisMachine(name string, at Connection) error {
	u, err := url.Parse(at.URL)
	if err != nil {
		return nil // serverURL says it better
	}
	if host := u.Hostname(); !local(host) {
		return fault.New(fault.Denied, "cannot use %s: it names the server %s, which is not on this machine; "+
			"if that server is meant, name it with --server or $SLUICE_SERVER", name, Line(host))
	}
	return nil
}

func local(host string) bool {
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	host, _, _ = strings.Cut(host, "%")
	ip := net.ParseIP(host)
	if ip == nil {
		return false
	}
	if ip.IsLoopback() || ip.IsUnspecified() {
		return true
	}
	own, err := net.InterfaceAddrs()
	for _, a := range own {
		if n, ok := a.(*net.IPNet); err == nil && ok && n.IP.Equal(ip) {
			return true
		}
	}
	return false
}

// withToken decides which token is shown to the server. The token of the environment goes only to a server that a person
// named, never to one that a file in the working directory names.
func (p Place) withToken(at Connection) (Connection, error) {
	switch {
	case p.Token == "":
	case p.Server != "":
		at.Token = p.Token
	case at.Token == "":
		return at, fault.New(fault.Denied, "cannot show $SLUICE_TOKEN to %s: only the file %s in %s names that server; "+
			"name it with --server or $SLUICE_SERVER to send the token there, or unset SLUICE_TOKEN", Line(at.URL), ConnectionFile, p.Dir)
	}
	return at, nil
}
