package main

import (
	"fmt"

	"github.com/sluiceci/sluice/pkg/plan"
)

// tellSecrets adds to the plan what an installation would do with the secrets that it asks for.
func (o planOptions) tellSecrets(p *plan.Plan) error {
	if o.config == "" {
		return nil
	}
	in, err := readInstallation(o.config)
	if err != nil {
		return err
	}
	if err := in.checkSecrets(); err != nil {
		return err
	}
	seen := *p
	seen.Change.Project = in.projectOf(p)
	p.Warnings = append(p.Warnings, in.Environments.Explain(&seen)...)
	for _, one := range in.grants().Explain(&seen, in.Environments) {
		text := one.Reason
		if !one.Allowed {
			text = "secret " + one.Secret + " is not given: " + one.Reason
		}
		p.Warnings = append(p.Warnings, fmt.Sprintf("%s: %s", one.Work, text))
	}
	return nil
}

// projectOf is the name that the installation has for the project of a checkout: its only one, or the one that is called
// as the definition calls itself.
func (in *installation) projectOf(p *plan.Plan) string {
	if len(in.Projects) == 1 {
		return in.Projects[0].Name
	}
	return p.Project
}
