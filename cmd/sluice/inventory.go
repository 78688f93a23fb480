package main

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/sluiceci/sluice/pkg/service"
	"github.com/sluiceci/sluice/services/executor"
)

// inventory says which services an installation has: what its file names, and further pools.
type inventory struct {
	config string
	pools  []string
}

func (i *inventory) flags(c *cobra.Command) {
	c.Flags().StringVar(&i.config, "config", "", "file of the installation (docs/operate/installation.md)")
	c.Flags().StringArrayVar(&i.pools, "pool", nil, "additional executor pool (repeatable)")
}

// services makes the services of the installation without running them: their tables are all that is wanted. They get no
// bus, no secrets and a directory that is removed; of each pool there is one bare executor.
func (i *inventory) services() ([]service.Service, error) {
	in, err := readInstallation(i.config)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "sluice-tables-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	in.Executors = in.bareExecutors(i.pools)
	in.Dir, in.Gateway.IDTokens.Keys, in.Publisher.Root = dir, filepath.Join(dir, "identity"), filepath.Join(dir, "published")
	if err := in.defaults(); err != nil {
		return nil, err
	}
	in.at(in.Listen)
	in.share()
	deps := service.Deps{
		Log: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry(), Now: time.Now, Instance: "sketch",
		Secret: func(string) (string, error) { return "unknown", nil },
	}
	var all []service.Service
	for _, c := range constructors() {
		made, err := c.make(in, deps, nil)
		if err != nil {
			return nil, fmt.Errorf("cannot make %s: %w", c.name, err)
		}
		all = append(all, made...)
	}
	return all, nil
}

// bareExecutors are one executor of each pool that the installation names anywhere, wherever its executors run.
func (in *installation) bareExecutors(more []string) []executor.Config {
	names := append(slices.Clone(more), in.NATS.Pools...)
	for _, e := range in.Executors {
		names = append(names, cmp.Or(e.Pool, defaultPool))
	}
	for _, p := range in.Pools {
		names = append(names, p.Name)
	}
	for _, p := range in.Providers {
		names = append(names, p.Pool)
	}
	slices.Sort(names)
	names = slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
	var out []executor.Config
	for _, name := range names {
		out = append(out, executor.Config{Pool: name, Slots: 1})
	}
	return out
}
