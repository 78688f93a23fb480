package main

import (
	"fmt"
	"log/slog"
	"slices"

	"github.com/sluiceci/sluice/pkg/access"
	"github.com/sluiceci/sluice/pkg/edge"
	"github.com/sluiceci/sluice/services/executor"
	"github.com/sluiceci/sluice/services/gateway"
	"github.com/sluiceci/sluice/services/reporter"
)

// WebSide says how a process is reached over HTTP, and by whom.
type WebSide struct {
	Hosts   []string      `yaml:"hosts"`           // further names under which it is reached; others are refused
	Proxies []string      `yaml:"trusted_proxies"` // addresses of reverse proxies whose X-Forwarded-For is believed
	HTTP    edge.Limits   `yaml:"http"`
	Access  access.Config `yaml:"access"`

	Services siblings `yaml:"services"` // where the services that serve HTTP are, when they are processes of their own
}

// siblings are the processes that serve the pages, the API and the webhooks together. Each answers for the other, so that clients
// talk to one address.
type siblings struct {
	Gateway  string `yaml:"gateway"`  // URL
	Reporter string `yaml:"reporter"` // URL
	Key      string `yaml:"key"`      // name of the secret that they show each other
}

// other is the service that answers what a process of these services does not serve, and where it is.
func (s siblings) other(names []string) (name, at string) {
	switch {
	case len(names) != 1:
		return "", ""
	case names[0] == gateway.Name:
		return reporter.Name, s.Reporter
	case names[0] == reporter.Name:
		return gateway.Name, s.Gateway
	default:
		return "", ""
	}
}

// introduce makes the processes of the gateway and the reporter know each other.
func (p *platform) introduce(names []string) error {
	s := p.in.Services
	if s.Gateway == "" && s.Reporter == "" {
		return nil
	}
	if s.Key == "" {
		return fmt.Errorf("cannot use services: expected services.key, the name of a secret that the gateway and the reporter show each other")
	}
	name, at := s.other(names)
	if name == "" {
		return nil
	}
	key, err := p.deps.Secret(s.Key)
	if err != nil {
		return fmt.Errorf("cannot use services.key: %w", err)
	}
	if err := p.edge.Siblings(key); err != nil {
		return err
	}
	if at != "" {
		p.sibling, err = edge.NewSibling(name, at, key, p.deps.Log)
	}
	return err
}

// edge is how the process is reached over HTTP.
func (in *installation) edge(log *slog.Logger) (*edge.Edge, error) {
	proxies, err := edge.ParseProxies(in.Proxies)
	if err != nil {
		return nil, err
	}
	return edge.New(edge.NewHosts(in.Listen, in.PublicURL, in.Hosts...), proxies, in.HTTP, log), nil
}

// gate is who may do what over HTTP.
func (p *platform) gate(names []string) (*access.Gate, error) {
	speaker := p.deps.Bus
	if len(names) == 0 || slices.Contains(names, gateway.Name) { // the gateway says what people do
		speaker = p.bus(gateway.Name)
	}
	o := access.Options{
		Config: p.in.Access, Static: p.in.Gateway.Tokens, Listen: p.in.Listen, PublicURL: p.in.PublicURL, Secret: p.deps.Secret,
		Bus: speaker, Log: p.deps.Log, Now: p.deps.Now, Source: p.deps.Source("gateway"),
		Strangers: p.in.strangers(),
		Mute:      len(names) == 1 && names[0] == executor.Name,
	}
	for _, one := range p.in.Projects {
		o.Projects = append(o.Projects, access.ForgeProject{Name: one.Name, Forge: one.Forge, Repo: one.Repo})
	}
	return access.New(o)
}
