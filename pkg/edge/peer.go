package edge

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
)

// Proxies are the addresses of the reverse proxies whose word on where a request comes from is taken. Anybody else could
// write what they like.
type Proxies []netip.Prefix

// ParseProxies reads addresses and networks ("10.0.0.7", "10.1.0.0/16").
func ParseProxies(list []string) (Proxies, error) {
	var out Proxies
	for _, text := range list {
		prefix, err := netip.ParsePrefix(text)
		if ip, bad := netip.ParseAddr(text); bad == nil {
			prefix, err = ip.Prefix(ip.BitLen())
		}
		if err != nil {
			return nil, fault.New(fault.Invalid, "cannot trust proxy %q: expected an address or a network such as 10.1.0.0/16", text)
		}
		out = append(out, prefix.Masked())
	}
	return out, nil
}

func (p Proxies) trusts(ip netip.Addr) bool {
	for _, prefix := range p {
		if prefix.Contains(ip) {
			return true
		}
	}
	return false
}

type peerKey struct{}

// noted puts the address that a request comes from into its context.
func (p Proxies) noted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), peerKey{}, p.of(r))))
	})
}

// of walks back through the proxies to the first address that is none of theirs.
func (p Proxies) of(r *http.Request) string {
	at := remote(r)
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for len(hops) > 0 && at.IsValid() && p.trusts(at) {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[len(hops)-1]))
		if err != nil {
			break
		}
		at, hops = hop.Unmap().WithZone(""), hops[:len(hops)-1]
	}
	if !at.IsValid() {
		return ""
	}
	return at.String()
}

func remote(r *http.Request) netip.Addr {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap().WithZone("")
}

// Peer is the address that a request comes from, as text; "" when it is not known.
func Peer(r *http.Request) string {
	if peer, ok := r.Context().Value(peerKey{}).(string); ok {
		return peer
	}
	return Proxies(nil).of(r)
}

// Direct reports whether a request came from this machine itself, and not through a proxy on it. A proxy that adds no header at all
// cannot be told from a client.
func Direct(r *http.Request) bool {
	if by, ok := r.Context().Value(handedKey{}).(handed); ok {
		return by.direct
	}
	for name := range r.Header {
		if strings.HasPrefix(name, "X-Forwarded") || slices.Contains(added(), name) {
			return false
		}
	}
	at := remote(r)
	return at.IsValid() && at.IsLoopback()
}

// added are headers that proxies add, beside X-Forwarded-….
func added() []string {
	return []string{"Forwarded", "Via", "X-Real-Ip", "X-Client-Ip", "X-Cluster-Client-Ip", "X-Envoy-External-Address", "Cf-Connecting-Ip", "True-Client-Ip", "Fastly-Client-Ip"}
}
