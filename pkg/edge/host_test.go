package edge

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestHosts(t *testing.T) {
	t.Parallel()
	at := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 7), Port: 8030}
	local := NewHosts("127.0.0.1:8030", "http://127.0.0.1:8030")
	public := NewHosts("0.0.0.0:8030", "https://Sluice.Example:8443/base", "intern", "[fd00::1]:8030")
	for _, c := range []struct {
		hosts Hosts
		host  string
		path  string
		want  bool
	}{
		{local, "127.0.0.1:8030", "/", true},
		{local, "127.0.0.1", "/", true},
		{local, "localhost:8030", "/", true},
		{local, "localhost:9999", "/", true}, // a forwarded port
		{local, "LOCALHOST.:8030", "/", true},
		{local, "[::1]:8030", "/", true},
		{local, "[0:0:0:0:0:0:0:1]:8030", "/", true},
		{local, "[::ffff:127.0.0.1]:8030", "/", true},
		{local, "::1", "/", false},
		{local, "[::1", "/", false},
		{local, "[localhost]", "/", false},
		{local, "attacker.example", "/", false},
		{local, "attacker.example:8030", "/api/v1/runs", false},
		{local, "attacker.example", "/healthz", false},
		{local, "127.0.0.1.attacker.example", "/", false},
		{local, "localhost.attacker.example", "/", false},
		{local, "attacker.example#127.0.0.1", "/", false},
		{local, "attacker.example@127.0.0.1", "/", false},
		{local, "127.0.0.1:80:80", "/", false},
		{local, "127.0.0.1:x", "/", false},
		{local, "127.0.0.1..", "/", false},
		{local, "", "/", false},
		{local, "", "/healthz", false},
		{local, ".", "/", false},
		{local, "10.0.0.7:8030", "/", true}, // where it arrived
		{local, "10.0.0.8:8030", "/", false},
		{local, "10.0.0.8:8030", "/healthz", true},
		{local, "[2001:db8::7]:8030", "/readyz", true},
		{local, "10.0.0.8:8030", "/healthz/x", false},
		{public, "sluice.example", "/", true},
		{public, "sluice.example.:443", "/", true},
		{public, "intern:8030", "/", true},
		{public, "[fd00::1]", "/", true},
		{public, "localhost", "/", false},
		{public, "0.0.0.0:8030", "/", true}, // it is the listener's own
	} {
		if got := c.hosts.Allowed(c.host, c.path, at); got != c.want {
			t.Errorf("Host %q of %s: allowed is %v, want %v", c.host, c.path, got, c.want)
		}
	}
}

func TestPeer(t *testing.T) {
	t.Parallel()
	proxies, err := ParseProxies([]string{"10.0.0.0/8", "192.0.2.1", "::1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ remote, forwarded, want string }{
		{"203.0.113.9:1", "", "203.0.113.9"},
		{"203.0.113.9:1", "10.9.9.9", "203.0.113.9"}, // nobody has to believe that
		{"10.1.1.1:1", "203.0.113.9", "203.0.113.9"},
		{"10.1.1.1:1", "1.2.3.4, 203.0.113.9, 192.0.2.1", "203.0.113.9"},
		{"[::1]:1", "2001:db8::1", "2001:db8::1"},
		{"[::ffff:10.1.1.1]:1", "203.0.113.9", "203.0.113.9"},
		{"10.1.1.1:1", "nonsense", "10.1.1.1"},
		{"10.1.1.1:1", "", "10.1.1.1"},
		{"@", "", ""},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = c.remote
		if c.forwarded != "" {
			r.Header.Set("X-Forwarded-For", c.forwarded)
		}
		if got := proxies.of(r); got != c.want {
			t.Errorf("from %s, forwarded for %q: %q, want %q", c.remote, c.forwarded, got, c.want)
		}
	}
	if _, err := ParseProxies([]string{"proxy.example"}); err == nil {
		t.Error("a name is trusted as a proxy")
	}
}
