package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/sluiceci/sluice/pkg/client"
)

func upCommand() *cobra.Command {
	var dir, listen, config, level string
	var demo demoOptions
	c := &cobra.Command{
		Use:   "up",
		Short: "Run every service in this process, with an embedded NATS server",
		Args:  arguments(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			in, err := readInstallation(config)
			if err != nil {
				return exitWith(2, err)
			}
			override(&in.Dir, dir)
			override(&in.Listen, listen)
			if demo.on {
				return demo.run(c.Context(), in, c.OutOrStdout(), level)
			}
			return up(c.Context(), in, level, func(p *platform) { fmt.Fprintf(c.OutOrStdout(), "%s\n", p.in.PublicURL) })
		},
	}
	f := c.Flags()
	f.StringVar(&dir, "dir", "", "state directory (default .sluice)")
	f.StringVar(&listen, "listen", "", "listen address of the pages, the API and the webhooks (default 127.0.0.1:8030)")
	f.StringVar(&config, "config", "", "file of the installation (docs/operate/installation.md)")
	f.StringVar(&level, "log", "info", "debug, info, warn or error")
	f.BoolVar(&demo.on, "demo", false, "release three commits of a small polyglot project")
	f.BoolVar(&demo.exit, "exit", false, "with --demo: exit with the demo's outcome")
	f.StringVar(&demo.project, "project", "examples/polyglot", "with --demo: the project")
	return c
}

func serveCommand() *cobra.Command {
	var nats, listen, config, level, dir string
	c := &cobra.Command{
		Use:   "serve SERVICE",
		Short: "Run one service against a NATS server",
		Args:  arguments(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			in, err := readInstallation(config)
			if err != nil {
				return exitWith(2, err)
			}
			override(&in.NATS.URL, nats)
			override(&in.Listen, listen)
			override(&in.Dir, dir)
			if err := in.NATS.check(); err != nil {
				return exitWith(64, err)
			}
			if !in.NATS.external() {
				return exitWith(64, fmt.Errorf("--nats is missing: one service needs a NATS server that the others use too"))
			}
			if !known(args[0]) {
				return exitWith(64, fmt.Errorf("there is no service %q; the services are %v", args[0], serviceNames()))
			}
			return up(c.Context(), in, level, func(*platform) {}, args[0])
		},
	}
	f := c.Flags()
	f.StringVar(&nats, "nats", "", "URL of the NATS server")
	f.StringVar(&dir, "dir", "", "state directory (default .sluice)")
	f.StringVar(&listen, "listen", "127.0.0.1:0", "HTTP listen address")
	f.StringVar(&config, "config", "", "file of the installation (docs/operate/installation.md)")
	f.StringVar(&level, "log", "info", "debug, info, warn or error")
	return c
}

func override(field *string, flag string) {
	if flag != "" {
		*field = flag
	}
}

func serviceNames() []string {
	var names []string
	for _, c := range constructors() {
		names = append(names, c.name)
	}
	return names
}

func known(name string) bool {
	for _, c := range constructors() {
		if c.name == name {
			return true
		}
	}
	return false
}

// up runs services until ctx ends.
func up(ctx context.Context, in *installation, level string, ready func(*platform), names ...string) error {
	log, err := logger(level)
	if err != nil {
		return err
	}
	p, err := newPlatform(ctx, in, log, names...)
	if err != nil {
		return exitWith(2, err)
	}
	defer p.close()
	if err := p.writeConnection(); err != nil {
		return exitWith(2, err)
	}
	ready(p)
	if err := p.run(ctx); err != nil {
		return exitWith(2, err)
	}
	return nil
}

// writeConnection writes the connection's file, readable by its owner only. One service alone writes none.
func (p *platform) writeConnection() error {
	if p.server == nil {
		return nil
	}
	c := client.Connection{URL: "http://" + reachable(p.in.Listen), NATS: p.server.URL(), NATSSeed: p.onlooker.Seed(), Token: p.api}
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if err := writePrivate(filepath.Join(p.in.Dir, client.ConnectionFile), text); err != nil {
		return fmt.Errorf("cannot tell clients where this Sluice runs: %w", err)
	}
	return nil
}

// reachable is the address at which this machine reaches a listener: one of all addresses is reached at loopback.
func reachable(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return listen
}
