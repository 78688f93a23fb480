package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/fault"
)

// checkReviewers refuses reviewers whom nobody can be: an environment would wait for them for ever. Who signs in is known only by
// how; the owners of tokens stand in the file. A file without tokens and logins is one of a machine that has no gateway: it knows nobody.
func (in *installation) checkReviewers() error {
	var owners []string
	for _, t := range in.Gateway.Tokens {
		if t.Secret != localToken {
			owners = append(owners, t.Owner)
		}
	}
	ways := []string{"token"}
	if in.Access.OIDC != nil {
		ways = append(ways, "oidc")
	}
	if in.Access.Forge != nil {
		ways = append(ways, in.Access.Forge.Kind)
	}
	if len(owners) == 0 && len(ways) == 1 {
		return nil
	}
	var problems []error
	for _, e := range in.Environments {
		for _, reviewer := range e.Reviewers {
			way, who, named := strings.Cut(reviewer, ":")
			if !named {
				way, who = "token", reviewer
			}
			switch {
			case !slices.Contains(ways, way):
				problems = append(problems, fault.New(fault.Invalid, "cannot use reviewer %q of environment %s: nobody signs in with %q here; expected one of %s (gateway.tokens, access)",
					reviewer, e.Name, way, strings.Join(ways, ", ")))
			case way == "token" && !slices.Contains(owners, who):
				problems = append(problems, fault.New(fault.Invalid, "cannot use reviewer %q of environment %s: no token of gateway.tokens has the owner %q; the owners are: %s",
					reviewer, e.Name, who, strings.Join(owners, ", ")))
			}
		}
	}
	return errors.Join(problems...)
}
