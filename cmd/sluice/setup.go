package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/service"
)

func setupCommand() *cobra.Command {
	var installed inventory
	var side natsSide
	c := &cobra.Command{
		Use:   "setup",
		Short: "Create the streams and consumers on external NATS servers, or update them",
		Long: "Create the streams on external NATS servers, and the durable consumers of every service and pool of the installation, or\n" +
			"bring them up to date. Run it once before the first service starts, and again after an upgrade or when a pool is added.\n" +
			"Running it twice changes nothing. It connects as the identity \"setup\", the only one that may create or change them.",
		Args: arguments(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			in, err := readInstallation(installed.config)
			if err != nil {
				return exitWith(2, err)
			}
			if side.URL != "" {
				in.NATS.URL, in.NATS.URLs = side.URL, nil
			}
			override(&in.NATS.Creds, side.Creds)
			services, err := installed.services()
			if err != nil {
				return exitWith(2, err)
			}
			did, err := in.NATS.setup(c.Context(), service.Served(services...))
			for _, d := range did {
				if !asJSON(c) {
					fmt.Fprintf(c.OutOrStdout(), "%s: %s\n", cmp.Or(d.Consumer, d.Stream), d.Did)
				}
			}
			if err != nil {
				return err
			}
			if asJSON(c) {
				return printJSON(c.OutOrStdout(), did)
			}
			return nil
		},
	}
	installed.flags(c)
	c.Flags().StringVar(&side.URL, "nats", "", "URLs of the NATS servers, separated by commas")
	c.Flags().StringVar(&side.Creds, "creds", "", "file of the credentials of setup, or the directory of identities")
	return c
}

// setup creates the streams and the consumers, as the only identity that may.
func (n natsSide) setup(ctx context.Context, served []bus.Served) ([]bus.Declaration, error) {
	if err := n.check(); err != nil {
		return nil, exitWith(64, err)
	}
	if !n.external() {
		return nil, exitWith(64, fmt.Errorf("cannot create streams: no NATS server is named; expected --nats URL, or nats.urls in the file of "+
			"--config. \"sluice up\" creates the streams of its embedded server itself"))
	}
	credential, err := identityKey(n.Creds, service.Setup, true)
	if err != nil {
		return nil, exitWith(2, err)
	}
	o := bus.Options{
		Name: "sluice-setup", Identity: service.Setup, Creds: credential.File, TLS: n.TLS, Replicas: n.Replicas, MaxBytes: n.MaxBytes,
		Durables: served,
	}
	if credential.Public != "" {
		o.Key = &credential.NKey
	}
	did, err := bus.Setup(ctx, strings.Join(n.urls(), ","), o)
	if err != nil {
		err = exitWith(2, err)
	}
	return did, err
}
