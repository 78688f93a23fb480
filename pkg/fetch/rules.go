package fetch

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"syscall"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
)

// Rules are what an installation lets definitions fetch.
type Rules struct {
	Private bool          `yaml:"private"`  // also from addresses that are not public: this machine, its networks; and through a proxy
	Files   []string      `yaml:"files"`    // directories below which file:// may name files; none when empty
	MaxSize int64         `yaml:"max_size"` // bytes of one file; 16 GiB when 0
	Silence time.Duration `yaml:"silence"`  // after which a server that says nothing is given up; 30s when 0
}

const redirects = 10 // that are followed

func (r Rules) orDefault() Rules {
	r.MaxSize, r.Silence = cmp.Or(r.MaxSize, 16<<30), cmp.Or(r.Silence, 30*time.Second)
	return r
}

// refused is that something may not be fetched, whatever the server would say.
type refused struct{ why string }

func (r *refused) Error() string { return r.why }

// control refuses connections to addresses that are not public. It sees what a name has become, so no name leads around
// it.
func control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return &refused{"its address " + address + " is none"}
	}
	if ip := at.Addr().Unmap(); !public(ip) {
		return &refused{fmt.Sprintf("its address %s is not public, and this installation fetches from public ones only (builder.fetch.private)", ip)}
	}
	return nil
}

// public reports whether an address is one of the internet's at large.
func public(ip netip.Addr) bool {
	if !ip.IsGlobalUnicast() || ip.IsPrivate() {
		return false
	}
	for _, special := range []string{"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "198.18.0.0/15", "240.0.0.0/4", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16"} {
		if netip.MustParsePrefix(special).Contains(ip) {
			return false
		}
	}
	return true
}

// absent is that something is not there, as far as anybody may know.
type absent struct{ answer string }

func (a *absent) Error() string { return a.answer }

func absence(answer string) error { return fault.As(fault.Transient, &absent{answer}) }

// Absent reports whether an error says that what was asked for is not there, and nothing worse.
func Absent(err error) bool {
	var a *absent
	return errors.As(err, &a)
}
