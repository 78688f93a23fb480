package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/service"
)

func setupCommand() *cobra.Command {
	var config string
	var side natsSide
	c := &cobra.Command{
		Use:   "setup",
		Short: "Create the streams on external NATS servers, or update them",
		Long: "Create the streams on external NATS servers, or bring their configuration up to date. Run it once before the first service\n" +
			"starts, and again after an upgrade. Running it twice changes nothing. It connects as the identity \"setup\", the only one\n" +
			"that may create or change streams.",
		Args: arguments(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			in, err := readInstallation(config)
			if err != nil {
				return exitWith(2, err)
			}
			if side.URL != "" {
				in.NATS.URL, in.NATS.URLs = side.URL, nil
			}
			override(&in.NATS.Creds, side.Creds)
			did, err := in.NATS.setup(c.Context())
			for _, d := range did {
				if !asJSON(c) {
					fmt.Fprintf(c.OutOrStdout(), "%s: %s\n", d.Stream, d.Did)
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
	c.Flags().StringVar(&config, "config", "", "file of the installation (docs/operate/installation.md)")
	c.Flags().StringVar(&side.URL, "nats", "", "URLs of the NATS servers, separated by commas")
	c.Flags().StringVar(&side.Creds, "creds", "", "file of the credentials of setup, or the directory of identities")
	return c
}

// setup creates the streams, as the only identity that may.
func (n natsSide) setup(ctx context.Context) ([]bus.Declaration, error) {
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
