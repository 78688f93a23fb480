package executor

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/sluiceci/sluice/pkg/driver"
	"github.com/sluiceci/sluice/pkg/driver/choose"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// sites are the drivers of places elsewhere, opened when they are first needed.
type sites struct {
	config choose.Config // the executor's own: keys and known hosts
	dir    string
	log    *slog.Logger

	mu     sync.Mutex
	closed bool
	known  map[string]*site // by address
}

// site is the driver of one address.
type site struct {
	once   sync.Once
	driver driver.Site
	err    error
}

// sweepTime bounds the sweep of a host that is first used: one that is away tells so when a command is to start there.
const sweepTime = 30 * time.Second

// open returns the driver of an address, such as "ssh://user@host:22". Several may be opened at once.
func (s *sites) open(ctx context.Context, address string) (driver.Driver, error) {
	one, err := s.at(address)
	if err != nil {
		return nil, err
	}
	one.once.Do(func() { one.err = s.start(ctx, one, address) })
	if one.err != nil {
		s.forget(address, one)
		return nil, one.err
	}
	return one.driver, nil
}

func (s *sites) at(address string) (*site, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fault.New(fault.Transient, "cannot reach %s: the executor ends", address)
	}
	if s.known == nil {
		s.known = map[string]*site{}
	}
	if s.known[address] == nil {
		s.known[address] = &site{}
	}
	return s.known[address], nil
}

func (s *sites) forget(address string, one *site) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[address] == one {
		delete(s.known, address)
	}
}

// start opens a driver and ends what an earlier executor left there.
func (s *sites) start(ctx context.Context, one *site, address string) error {
	config, err := s.config.At(address)
	if err != nil {
		return err
	}
	place := filepath.Join(s.dir, "sites", release.Derive("site", address)[:16])
	if one.driver, err = choose.Open(ctx, config, choose.Options{Place: place, Log: s.log}); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, sweepTime)
	defer cancel()
	if swept, err := one.driver.Sweep(ctx); err != nil || swept > 0 {
		s.log.Warn("swept a host", "address", address, "things", swept, "err", err)
	}
	return nil
}

func (s *sites) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	var problems []error
	for _, one := range s.known {
		if one.driver != nil {
			problems = append(problems, one.driver.Close())
		}
	}
	s.known = nil
	return errors.Join(problems...)
}
