package executor

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"

	"github.com/sluiceci/sluice/pkg/driver"
	"github.com/sluiceci/sluice/pkg/driver/choose"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// sites are the drivers of places elsewhere, opened when they are first needed.
type sites struct {
	config choose.Config
	dir    string
	log    *slog.Logger
	mu     sync.Mutex
	opened map[string]driver.Site // by address
}

// open returns the driver of an address: "ssh://user@host:22".
func (s *sites) open(ctx context.Context, address string) (driver.Driver, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if site := s.opened[address]; site != nil {
		return site, nil
	}
	config, err := remote(s.config, address)
	if err != nil {
		return nil, err
	}
	site, err := choose.Open(ctx, config, choose.Options{
		Place: filepath.Join(s.dir, "sites", release.Derive("site", address)[:16]), Log: s.log,
	})
	if err != nil {
		return nil, err
	}
	if s.opened == nil {
		s.opened = map[string]driver.Site{}
	}
	s.opened[address] = site
	return site, nil
}

func (s *sites) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var problems []error
	for _, site := range s.opened {
		problems = append(problems, site.Close())
	}
	s.opened = nil
	return errors.Join(problems...)
}

// remote is how an address is reached: its scheme is the kind of driver.
func remote(base choose.Config, address string) (choose.Config, error) {
	scheme, _, found := strings.Cut(address, "://")
	if !found || scheme == "" {
		return base, fault.New(fault.Invalid, "cannot reach a place at %q: expected an address such as \"ssh://user@host:22\", or none for this machine", address)
	}
	base.Kind = scheme
	return base, nil
}
