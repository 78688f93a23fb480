package main

import (
	"log/slog"
	"slices"

	"github.com/sluiceci/sluice/pkg/access"
	"github.com/sluiceci/sluice/pkg/edge"
	"github.com/sluiceci/sluice/services/executor"
	"github.com/sluiceci/sluice/services/gateway"
)

// WebSide says how a process is reached over HTTP, and by whom.
type WebSide struct {
	Hosts   []string      `yaml:"hosts"`           // further names under which it is reached; others are refused
	Proxies []string      `yaml:"trusted_proxies"` // addresses of reverse proxies whose X-Forwarded-For is believed
	HTTP    edge.Limits   `yaml:"http"`
	Access  access.Config `yaml:"access"`
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
