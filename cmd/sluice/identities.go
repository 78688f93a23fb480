package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sluiceci/sluice/pkg/bus"
	"github.com/sluiceci/sluice/pkg/service"
	"github.com/sluiceci/sluice/services/executor"
)

// bus is the connection of an identity. It is made before the server knows who there is, and opened by connect.
func (p *platform) bus(identity string) *bus.Bus {
	if b := p.buses[identity]; b != nil {
		return b
	}
	o := bus.Options{
		Name: "sluice-" + identity + "-" + p.deps.Instance, Identity: identity, Log: p.deps.Log, Registry: p.registry,
		Replicas: p.in.NATS.Replicas, MaxBytes: p.in.NATS.MaxBytes, Onlooker: identity != service.Setup && !p.in.NATS.lawless(), TLS: p.in.NATS.TLS,
	}
	b := bus.New(o)
	p.buses[identity] = b
	return b
}

// own is the identity of a process itself. A process of one service has that of the service and no more: a machine that runs
// executors must not hold a key with which changes can be announced.
func (in *installation) own(names []string) string {
	switch {
	case len(names) != 1:
		return service.Starter
	case names[0] != executor.Name:
		return names[0]
	case len(in.Executors) == 0 || in.Executors[0].Pool == "":
		return service.PoolIdentity(defaultPool)
	default:
		return service.PoolIdentity(in.Executors[0].Pool)
	}
}

// connect opens the connections of all identities: to the external server, or to one that it starts here.
func (p *platform) connect(ctx context.Context) error {
	if p.in.NATS.lawless() {
		p.deps.Log.Warn("the bus enforces no identities: whoever reaches the NATS server may say everything and erase everything; " +
			"set nats.creds in the installation's file")
	}
	remote, err := p.remotePools()
	if err != nil {
		return err
	}
	all := slices.Concat(p.services, remote)
	rights := bus.RightsOf(service.Duties(all...))
	keys := p.in.NATS.Creds
	if !p.in.NATS.external() {
		p.bus(service.Setup).Declares(service.Served(all...)...)
		if p.in.NATS.listens() {
			keys = filepath.Join(p.in.Dir, "identities")
		}
	}
	var known []bus.Identity
	for _, r := range rights {
		b := p.buses[r.Identity]
		elsewhere := slices.ContainsFunc(remote, func(s service.Service) bool { return s.Identity() == r.Identity })
		if b == nil && !elsewhere && (p.in.NATS.external() || r.Identity != service.Onlooker) {
			continue
		}
		key, err := identityKey(keys, r.Identity, p.in.NATS.external())
		if err != nil {
			return err
		}
		if r.Identity == service.Onlooker {
			p.onlooker = key.NKey
		}
		if b != nil {
			if err := b.Use(key); err != nil {
				return err
			}
		}
		known = append(known, bus.Identity{Rights: r, Public: key.Public})
	}
	if !p.in.NATS.external() {
		if err := p.embed(known); err != nil {
			return err
		}
	}
	return p.openBuses(ctx)
}

func (p *platform) embed(known []bus.Identity) error {
	host, port, err := natsAddress(p.in.NATS.Listen)
	if err != nil {
		return err
	}
	p.server, err = bus.Embed(bus.ServerOptions{Dir: filepath.Join(p.in.Dir, "nats"), Host: host, Port: port, Identities: known})
	if err != nil {
		return err
	}
	p.closers = append(p.closers, p.server.Close)
	return nil
}

// openBuses opens every connection; the one that declares the streams goes first.
func (p *platform) openBuses(ctx context.Context) error {
	names := []string{}
	for name := range p.buses {
		if name != service.Setup {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if p.buses[service.Setup] != nil {
		names = append([]string{service.Setup}, names...)
	}
	for _, name := range names {
		b := p.buses[name]
		p.closers = append(p.closers, b.Close)
		var err error
		if p.server != nil {
			err = b.OpenIn(ctx, p.server)
		} else {
			err = b.Open(ctx, strings.Join(p.in.NATS.urls(), ","))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// identityKey finds the key of an identity: in a directory of keys, in a file, or, where nobody else needs it, made anew.
func identityKey(from, identity string, external bool) (bus.Credential, error) {
	if from == "" {
		if external {
			return bus.Credential{}, nil // a server that knows nobody
		}
		key, err := bus.NewKey()
		return bus.Credential{NKey: key}, err
	}
	if !external {
		key, err := bus.KeyFile(filepath.Join(from, identity+".nk"))
		return bus.Credential{NKey: key}, err
	}
	info, err := os.Stat(from)
	if err == nil && info.IsDir() {
		from = filepath.Join(from, identity+".nk")
		info, err = os.Stat(from)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return bus.Credential{}, fmt.Errorf("cannot connect to NATS as %s: there is no %s; \"sluice nats config\" makes the keys of all identities", identity, from)
	case err != nil:
		return bus.Credential{}, fmt.Errorf("cannot connect to NATS as %s: %w", identity, err)
	}
	return bus.CredentialFile(from)
}

// lawless reports whether the server is one that knows no identities. Whoever connects to it may do everything; so the
// processes make the streams themselves, as small installations and tests expect.
func (n natsSide) lawless() bool { return n.external() && n.Creds == "" }

// external reports whether the bus is a server elsewhere.
func (n natsSide) external() bool { return len(n.urls()) > 0 }

func (n natsSide) urls() []string {
	if n.URL != "" {
		return append([]string{n.URL}, n.URLs...)
	}
	return n.URLs
}

// check refuses secrets where others can read them.
func (n natsSide) check() error {
	for _, one := range n.urls() {
		for part := range strings.SplitSeq(one, ",") {
			if u, err := url.Parse(part); err == nil && u.User != nil {
				return fmt.Errorf("cannot use the URL %s of NATS: it holds a user, a password or a token, which everybody on this machine could "+
					"read; name a file of credentials under nats.creds in the installation's file", u.Redacted())
			}
		}
	}
	return nil
}
