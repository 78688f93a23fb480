package secret

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/sluiceci/sluice/pkg/fault"
)

// Store finds secrets in all providers of an installation.
type Store struct {
	providers []Provider
	own       map[string]string
}

// Open opens the providers that the services of a process use. Own are values that the process made itself.
func Open(c Config, services []string, own map[string]string) (*Store, error) {
	list := make([]ProviderConfig, 0, len(c.Files)+len(c.Providers))
	for _, path := range c.Files {
		list = append(list, ProviderConfig{Kind: "file", Path: path})
	}
	s := &Store{own: own}
	var problems []error
	for _, one := range append(list, c.Providers...) {
		if len(one.Services) > 0 && !slices.ContainsFunc(services, func(name string) bool { return slices.Contains(one.Services, name) }) {
			continue
		}
		p, err := openProvider(one)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		s.providers = append(s.providers, p)
	}
	return s, errors.Join(problems...)
}

// Get finds a value. The error of a name that nobody has is fs.ErrNotExist.
func (s *Store) Get(ctx context.Context, name string) (string, error) {
	if text, ok := s.own[name]; ok {
		return text, nil
	}
	for _, p := range s.providers {
		text, err := p.Get(ctx, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		return text, err
	}
	return "", fault.New(fault.Invalid, "there is no secret or variable %q in the installation; add it to a file or provider under \"secrets\": %w", name, fs.ErrNotExist)
}

// For is the store as one service sees it: it finds the names that its part of the configuration names, and no others.
func (s *Store) For(service string, names []string) func(string) (string, error) {
	allowed := map[string]bool{}
	for _, name := range names {
		allowed[name] = true
	}
	return func(name string) (string, error) {
		if !allowed[name] {
			return "", fault.New(fault.Denied, "cannot read secret %q: the configuration of %s does not name it", name, service)
		}
		return s.Get(context.Background(), name)
	}
}
