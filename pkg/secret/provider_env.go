package secret

import (
	"context"
	"os"

	"github.com/sluiceci/sluice/pkg/fault"
)

// variables is the environment of the process.
type variables struct{}

// openEnvironment demands names: a process's environment holds more than secrets for tasks.
func openEnvironment(c ProviderConfig) (Provider, error) {
	if len(c.Names) == 0 {
		return nil, fault.New(fault.Invalid, "cannot open a provider of secrets of kind env: it has no names; list the variables that are secrets")
	}
	return cached(variables{}, c.Keep), nil
}

// Get implements Provider.
func (variables) Get(_ context.Context, name string) (string, error) {
	value, ok := os.LookupEnv(name)
	if !ok {
		return "", missing(name)
	}
	return value, nil
}
