package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/service"
)

// identitiesDir is where the keys of identities are kept unless --dir says otherwise.
const identitiesDir = "identities"

func natsCommand() *cobra.Command {
	return family("nats", "External NATS servers: config, rotate", natsConfigCommand(), natsRotateCommand())
}

func natsConfigCommand() *cobra.Command {
	var in inventory
	var ring bus.Keyring
	conf := bus.ServerConf{}
	c := &cobra.Command{
		Use:   "config",
		Short: "Print the configuration of nats-server with all identities",
		Long: "Print the configuration of nats-server with every identity of the installation and what it may publish and subscribe to.\n" +
			"It holds public keys only. The seeds are kept in a directory that only its owner may read; missing ones are made.\n" +
			"Give each machine the keys of the services that it runs, and no others.",
		Args: arguments(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if (conf.TLS.Cert == "") != (conf.TLS.Key == "") || conf.TLS.CA != "" && conf.TLS.Cert == "" {
				return exitWith(64, fmt.Errorf("cannot configure TLS: expected --tls-cert and --tls-key together, and --tls-ca only with them"))
			}
			services, err := in.services()
			if err != nil {
				return exitWith(2, err)
			}
			conf.Identities, err = identities(ring, bus.RightsOf(service.Duties(services...)))
			if err != nil {
				return exitWith(2, err)
			}
			return printConf(c.OutOrStdout(), asJSON(c), conf)
		},
	}
	in.flags(c)
	f := c.Flags()
	f.StringVar(&ring.Dir, "dir", identitiesDir, "directory of the seeds, NAME.nk for each identity")
	f.StringVar(&conf.Name, "name", "nats-1", "of the server, unique in its cluster")
	f.StringVar(&conf.Listen, "listen", "0.0.0.0:4222", "address of the server")
	f.StringVar(&conf.Store, "store", "/var/lib/nats", "directory of the streams on the server's machine")
	f.StringVar(&conf.TLS.Cert, "tls-cert", "", "file of the server's certificate, on its machine")
	f.StringVar(&conf.TLS.Key, "tls-key", "", "file of its key")
	f.StringVar(&conf.TLS.CA, "tls-ca", "", "file of the authority whose certificates clients must show")
	return c
}

// identities pairs rights with keys. During a rotation an identity has two.
func identities(ring bus.Keyring, rights []bus.Rights) ([]bus.Identity, error) {
	var out []bus.Identity
	for _, r := range rights {
		keys, err := ring.Keys(r.Identity)
		if err != nil {
			return nil, err
		}
		for _, k := range keys {
			out = append(out, bus.Identity{Rights: r, Public: k.Public})
		}
	}
	return out, nil
}

func printConf(w io.Writer, asJSON bool, conf bus.ServerConf) error {
	if asJSON {
		return printJSON(w, conf.Identities)
	}
	_, err := conf.WriteTo(w)
	return err
}

func natsRotateCommand() *cobra.Command {
	var ring bus.Keyring
	var finish bool
	c := &cobra.Command{
		Use:   "rotate IDENTITY",
		Short: "Replace the key of an identity without a stop",
		Long: "Replace the key of an identity in two steps. The first makes a second key, NAME.next.nk; \"sluice nats config\" then lists both,\n" +
			"and the server accepts both once it has read its configuration again. The second step, --finish, puts the new key in the\n" +
			"place of the old one; after the next reload the server refuses the old key, and the services read the new one as they\n" +
			"connect again.",
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			step, next := ring.Rotate, "next: print the configuration with \"sluice nats config\" and reload the servers; then \"sluice nats rotate "+
				args[0]+" --finish\""
			if finish {
				step, next = ring.Finish, "next: copy the key to the machines of this identity, print the configuration with \"sluice nats config\" "+
					"and reload the servers"
			}
			file, err := step(args[0])
			if err != nil {
				return exitWith(2, err)
			}
			if asJSON(c) {
				return printJSON(c.OutOrStdout(), map[string]string{"file": file})
			}
			fmt.Fprintln(c.OutOrStdout(), file)
			fmt.Fprintln(c.ErrOrStderr(), next)
			return nil
		},
	}
	c.Flags().StringVar(&ring.Dir, "dir", identitiesDir, "directory of the seeds")
	c.Flags().BoolVar(&finish, "finish", false, "end the rotation: the old key is removed")
	return c
}
