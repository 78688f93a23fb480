package main

import (
	"errors"

	"github.com/sluiceci/sluice/pkg/release"
	"github.com/sluiceci/sluice/pkg/secret"
	exporter "github.com/sluiceci/sluice/services/artifact-exporter"
	"github.com/sluiceci/sluice/services/builder"
	"github.com/sluiceci/sluice/services/executor"
	"github.com/sluiceci/sluice/services/gateway"
	"github.com/sluiceci/sluice/services/publisher"
	"github.com/sluiceci/sluice/services/reporter"
)

// credentials lists by service the secrets that its part of the configuration names, each with what it is. A service
// reads these and no others; a grant that names one is refused.
func (in *installation) credentials() map[string]map[string]string {
	out := map[string]map[string]string{gateway.Name: {}, builder.Name: {}, reporter.Name: {}, exporter.Name: {}, platformName: {}}
	add := func(service, name, what string) {
		if name != "" {
			out[service][name] = what
		}
	}
	for _, p := range in.Projects {
		for _, name := range p.Secrets {
			add(gateway.Name, name, "a webhook secret of project "+p.Name)
		}
		for _, service := range []string{gateway.Name, builder.Name, reporter.Name} {
			add(service, p.Token, "the forge's token of project "+p.Name)
		}
		add(platformName, p.CloneToken, "the clone_token of project "+p.Name)
	}
	for _, t := range in.Gateway.Tokens {
		add(platformName, t.Secret, "the API token of "+t.Owner)
	}
	if c := in.Access.OIDC; c != nil {
		add(platformName, c.ClientSecret, "the client secret of access.oidc")
	}
	if c := in.Access.Forge; c != nil {
		add(platformName, c.ClientSecret, "the client secret of access.forge")
	}
	add(platformName, in.Services.Key, "the key of services")
	for _, d := range in.Exporter.Destinations {
		add(exporter.Name, d.AccessKey, "a credential of the exporter's destination "+d.Name)
		add(exporter.Name, d.SecretKey, "a credential of the exporter's destination "+d.Name)
	}
	return out
}

// platformName stands for what the process itself reads: the bus and git.
const platformName = "sluice"

// audience lists the names that a service may ask for.
func (in *installation) audience(service string) []string {
	switch service {
	case executor.Name:
		return in.grants().ForTasks()
	case publisher.Name:
		return in.grants().ForTargets()
	}
	var names []string
	for name := range in.credentials()[service] {
		names = append(names, name)
	}
	return names
}

// grants are those of the file, and those of the places that the installation looks after.
func (in *installation) grants() secret.Grants {
	out := append(secret.Grants{}, in.Secrets.Grants...)
	for _, p := range in.Providers {
		if len(p.Secrets) > 0 {
			out = append(out, secret.Upkeep(p.Secrets))
		}
	}
	return out
}

// checkSecrets refuses environments that protect nothing, and grants of what no definition may have.
func (in *installation) checkSecrets() error {
	reserved := map[string]string{}
	for _, names := range in.credentials() {
		for name, what := range names {
			reserved[name] = what
		}
	}
	var projects []string
	for _, p := range in.Projects {
		projects = append(projects, p.Name)
	}
	return errors.Join(in.Environments.Check(projects), in.checkReviewers(), in.Secrets.Check(reserved, projects, in.Environments))
}

// localGrants are those of `sluice run`: whoever runs it named the secrets, and may read them anyway.
func localGrants(names []string) secret.Grants {
	if len(names) == 0 {
		return nil
	}
	return secret.Grants{{Names: names, Projects: []string{"*"}, Trust: release.TrustTrusted}}
}
