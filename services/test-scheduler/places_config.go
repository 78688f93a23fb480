package scheduler

import (
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/lease"
	"github.com/sluiceci/sluice/pkg/release"
)

// The kinds of provider.
const (
	Static = "static" // places with names, each as it is
	Claim  = "claim"  // places that are all alike: any will do, and each is cleaned after use
)

// Where a provider's commands run.
const (
	OnExecutor = "executor" // beside the place, with its address in the environment
	OnPlace    = "place"
)

// Provider offers places: machines, clusters, devices.
type Provider struct {
	Name    string        `yaml:"name"`
	Kind    string        `yaml:"kind"`    // static or claim; static when empty
	Pool    string        `yaml:"pool"`    // whose executors clean and check; "default" when empty
	Places  []PlaceConfig `yaml:"places"`  // by name
	Count   int           `yaml:"count"`   // or so many, named 1, 2, 3 …
	Clean   string        `yaml:"clean"`   // text for "sh -eu": leaves the place as new; a person must where there is none
	Health  string        `yaml:"health"`  // text for "sh -eu": succeeds when the place is well
	On      string        `yaml:"on"`      // where these run: executor or place; executor when empty
	Timeout time.Duration `yaml:"timeout"` // of each; 15m
	Secrets []string      `yaml:"secrets"` // names, for these

	Accepts []release.Trust `yaml:"accepts"` // changes that may lease; [release, trusted] when empty
}

// PlaceConfig is one place.
type PlaceConfig struct {
	Name     string `yaml:"name"`
	Address  string `yaml:"address"`  // "ssh://user@host:22", or "local", which is the executor's machine and what it is when empty
	Capacity int32  `yaml:"capacity"` // shared leases at once; 0 means that it is never shared
}

// LeaseConfig says how leases and places are looked after. Zero values become the defaults of lease.Config.
type LeaseConfig struct {
	Term       time.Duration `yaml:"term"`       // of a lease that is not renewed; 30m
	Grace      time.Duration `yaml:"grace"`      // after a start or a step of the clock, until silence counts; 10s
	Fresh      time.Duration `yaml:"fresh"`      // that a health check counts; 15m
	Wait       time.Duration `yaml:"wait"`       // after a clean or check that failed; doubles with each; 5s
	MaxWait    time.Duration `yaml:"max_wait"`   // the longest of these; 5m
	Failures   int           `yaml:"failures"`   // in a row that put a place in quarantine; 3
	Successes  int           `yaml:"successes"`  // in a row that bring it back; 2
	Quarantine time.Duration `yaml:"quarantine"` // until a place in quarantine is tried again; 1h
}

func (c Config) leases() lease.Config {
	l := c.Leases
	out := lease.Config{
		Term: l.Term, Grace: l.Grace, Resend: c.Resend, Fresh: l.Fresh, Wait: l.Wait, MaxWait: l.MaxWait, Failures: l.Failures,
		Successes: l.Successes, Quarantine: l.Quarantine,
	}
	for _, p := range c.Providers {
		out.Providers = append(out.Providers, p.Name)
	}
	return out
}

func (p Provider) timeout() time.Duration {
	if p.Timeout <= 0 {
		return 15 * time.Minute
	}
	return p.Timeout
}

func (p Provider) list() []PlaceConfig {
	out := slices.Clone(p.Places)
	for i := range p.Count {
		out = append(out, PlaceConfig{Name: fmt.Sprint(i + 1)})
	}
	return out
}

// maxPlaces bounds what one provider offers.
const maxPlaces = 10_000

// checked fills what is left out, and refuses what could never be leased.
func (c Config) checked() (Config, error) {
	c.Providers = slices.Clone(c.Providers)
	seen := map[string]bool{}
	for i := range c.Providers {
		p := &c.Providers[i]
		if p.Kind == "" {
			p.Kind = Static
		}
		if p.Pool == "" {
			p.Pool = "default"
		}
		if p.On == "" {
			p.On = OnExecutor
		}
		if seen[p.Name] {
			return c, fault.New(fault.Invalid, "cannot offer provider %q twice: give each a name of its own", p.Name)
		}
		seen[p.Name] = true
		if err := p.check(); err != nil {
			return c, err
		}
	}
	return c, nil
}

func (p Provider) check() error {
	bad := func(format string, args ...any) error {
		return fault.New(fault.Invalid, "cannot offer the places of provider %q: %s", p.Name, fmt.Sprintf(format, args...))
	}
	switch {
	case !release.Token(p.Name):
		return bad("its name has letters, digits, - and _ only")
	case p.Kind != Static && p.Kind != Claim:
		return bad("its kind is %q, expected %s or %s; what a definition makes for each attempt stands in the definition", p.Kind, Static, Claim)
	case p.Kind == Claim && p.Clean == "":
		return bad("places of kind %s are cleaned after use, and it has no \"clean\"; add the command", Claim)
	case !release.Token(p.Pool):
		return bad("its pool is %q, expected letters, digits, - and _", p.Pool)
	case p.On != OnExecutor && p.On != OnPlace:
		return bad("its commands run on %q, expected %s or %s", p.On, OnExecutor, OnPlace)
	case p.Count < 0 || p.Count+len(p.Places) > maxPlaces || p.Count+len(p.Places) == 0:
		return bad("it has %d places, expected 1 to %d", p.Count+len(p.Places), maxPlaces)
	}
	seen := map[string]bool{}
	for _, one := range p.list() {
		if problem := one.check(); problem != "" || seen[one.Name] {
			return bad("place %q %s", one.Name, orTwice(problem))
		}
		seen[one.Name] = true
	}
	return nil
}

func orTwice(problem string) string {
	if problem == "" {
		return "stands there twice"
	}
	return problem
}

func (p PlaceConfig) check() string {
	u, err := url.Parse(p.Address)
	switch {
	case !release.Token(p.Name):
		return "must be named with letters, digits, - and _ only"
	case p.Capacity < 0:
		return fmt.Sprintf("has capacity %d, expected 0 or more", p.Capacity)
	case p.address() != "" && (err != nil || u.Scheme == "" || u.Host == ""):
		return "has an address that is neither \"local\" nor of the form ssh://user@host:22"
	case p.address() != "" && u.User != nil && hasPassword(u):
		return "has a password in its address; it would stand in facts for ever: give the executor a key"
	}
	return ""
}

// here is the address of a place that is the executor's own machine.
const here = "local"

// address is how facts name it: one on the executor's machine has none.
func (p PlaceConfig) address() string {
	if p.Address == here {
		return ""
	}
	return p.Address
}

func hasPassword(u *url.URL) bool {
	_, has := u.User.Password()
	return has
}
