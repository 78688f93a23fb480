package edge

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Hosts are the names under which a process answers. A browser that was led here by a name of somebody else's (DNS
// rebinding) says that name in Host, so a name that is not listed is answered by nothing but a refusal.
//
// An address is no name: nobody can make one lead elsewhere. Requests that name the address at which they arrived are
// answered, and the probes of health are answered at any address, since they come through port mappings and tell no secret.
type Hosts struct {
	names []string
}

// NewHosts allows the host of the public URL, that of the listener, and more names. A listener on loopback is reached as
// localhost too.
func NewHosts(listen, publicURL string, more ...string) Hosts {
	var h Hosts
	host, _, err := net.SplitHostPort(listen)
	if ip, bad := netip.ParseAddr(host); err == nil && host != "" {
		h.names = append(h.names, canonical(host))
		if bad == nil && ip.IsLoopback() {
			h.names = append(h.names, "localhost", "127.0.0.1", "::1")
		}
	}
	if u, err := url.Parse(publicURL); err == nil && u.Hostname() != "" {
		h.names = append(h.names, canonical(u.Hostname()))
	}
	for _, m := range more {
		if name, ok := nameOf(m); ok {
			h.names = append(h.names, name)
		}
	}
	return h
}

// canonical is a name without its last dot, in small letters, and an address in its one form.
func canonical(host string) string {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().WithZone("").String()
	}
	return host
}

// nameOf reads a Host header, with or without a port. The port is not compared: a forwarded port is the same server, and no
// page of another server gains anything by it.
func nameOf(host string) (string, bool) {
	if strings.ContainsAny(host, "/@\\ \t,?#") || host == "" {
		return "", false
	}
	name, port := host, ""
	if bracket := strings.LastIndexByte(host, ']'); strings.HasPrefix(host, "[") && bracket > 0 {
		name, port = host[1:bracket], host[bracket+1:]
		if ip, err := netip.ParseAddr(name); err != nil || !ip.Is6() {
			return "", false
		}
	} else if colon := strings.IndexByte(host, ':'); colon >= 0 {
		name, port = host[:colon], host[colon:]
	}
	if port != "" && (port[0] != ':' || strings.Trim(port[1:], "0123456789") != "" || len(port) > 6) {
		return "", false
	}
	name = canonical(name)
	return name, name != ""
}

// Allowed reports whether a request may name this host. Here is the local address at which it arrived, as far as it is known.
func (h Hosts) Allowed(host, path string, here net.Addr) bool {
	name, ok := nameOf(host)
	if !ok {
		return false
	}
	if slices.Contains(h.names, name) {
		return true
	}
	ip, err := netip.ParseAddr(name)
	if err != nil {
		return false
	}
	if path == "/healthz" || path == "/readyz" {
		return true
	}
	if tcp, ok := here.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap().WithZone("") == ip
	}
	return false
}

// only refuses every other host.
func (h Hosts) only(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		here, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		if h.Allowed(r.Host, r.URL.Path, here) {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Connection", "close")
		refuse(w, http.StatusMisdirectedRequest, "denied", "cannot answer for this host: it is none of this installation's names",
			"use the address of public_url, or let its operator add the name under hosts in the installation's file")
	})
}
