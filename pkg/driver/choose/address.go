package choose

import (
	"net/url"

	"github.com/sluiceci/sluice/pkg/fault"
)

// At is the configuration for a place that is known by its address, with everything else as it is: "ssh://user@node7:22"
// for a host, "unix:///run/podman/podman.sock" or "tcp://node7:2375" for an engine. Keys and known hosts are not part of
// an address: they stand in the configuration.
func (c Config) At(address string) (Config, error) {
	where, err := url.Parse(address)
	if err != nil || where.RawQuery != "" || where.Fragment != "" {
		return c, badAddress(address)
	}
	switch where.Scheme {
	case "ssh":
		_, secret := where.User.Password()
		if where.Hostname() == "" || secret || where.Path != "" && where.Path != "/" {
			return c, badAddress(address)
		}
		c.Kind, c.SSH.Address = "ssh", where.Host
		if user := where.User.Username(); user != "" {
			c.SSH.User = user
		}
	case "unix", "tcp":
		if where.Host+where.Path == "" || where.User != nil {
			return c, badAddress(address)
		}
		c.Kind, c.Container.Host = "container", address
	default:
		return c, badAddress(address)
	}
	return c, nil
}

func badAddress(address string) error {
	return fault.New(fault.Invalid, "cannot reach a place at %.200q: expected ssh://user@host:port, unix:///path/of/socket or tcp://host:port", redacted(address))
}

// redacted is an address that may hold a password without it.
func redacted(address string) string {
	if where, err := url.Parse(address); err == nil {
		return where.Redacted()
	}
	return "(no address)"
}
