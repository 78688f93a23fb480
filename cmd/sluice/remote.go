package main

import (
	"cmp"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/sluiceci/sluice/pkg/service"
	"github.com/sluiceci/sluice/services/executor"
)

// remotePools are executors of the pools in nats.pools, which run in other processes: the embedded server has to know what
// they may do. They are made for their tables and never run.
func (p *platform) remotePools() ([]service.Service, error) {
	if p.in.NATS.external() {
		return nil, nil
	}
	var out []service.Service
	for _, pool := range p.in.NATS.Pools {
		if slices.ContainsFunc(p.in.Executors, func(e executor.Config) bool { return cmp.Or(e.Pool, defaultPool) == pool }) {
			continue
		}
		bare := p.deps
		bare.Bus = nil
		s, err := executor.New(executor.Config{Pool: pool, Slots: 1, Dir: filepath.Join(p.in.Dir, "executors", pool)}, bare, nil)
		if err != nil {
			return nil, fmt.Errorf("cannot serve pool %s of nats.pools: %w", pool, err)
		}
		out = append(out, s)
	}
	if len(out) > 0 && !p.in.NATS.listens() {
		return nil, fmt.Errorf("cannot serve the pools %v of nats.pools: the embedded server opens no socket; set nats.listen", p.in.NATS.Pools)
	}
	return out, nil
}

// listens reports whether the embedded server opens a socket.
func (n natsSide) listens() bool { return n.Listen != "" && n.Listen != "off" }

// natsAddress reads "host:port"; port 0 takes any free one, which the server calls -1.
func natsAddress(listen string) (string, int, error) {
	switch listen {
	case "off", "":
		return "", 0, nil
	}
	host, text, err := net.SplitHostPort(listen)
	if err != nil {
		return "", 0, fmt.Errorf("cannot listen for NATS at %q: expected host:port, or \"off\"", listen)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return "", 0, fmt.Errorf("cannot listen for NATS at %q: %q is no port", listen, text)
	}
	if port == 0 {
		port = -1
	}
	return host, port, nil
}
