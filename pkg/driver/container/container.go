package container

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/moby/moby/client"

	"github.com/sluiceci/sluice/pkg/driver"
	"github.com/sluiceci/sluice/pkg/fault"
	"github.com/sluiceci/sluice/pkg/release"
)

// Options configure the driver.
type Options struct {
	Host         string       // "unix:///run/podman/podman.sock" or "tcp://…"; that engine sees the same files as the executor
	Image        string       // of commands that name none
	Pull         string       // PullMissing when empty
	Network      string       // that commands get which ask for one: "bridge", "host", a name; the engine's default when empty
	User         string       // "uid:gid"; the owner of the workspace when empty, but never root
	ReadOnly     bool         // the image's files cannot be written to; /tmp can
	Capabilities []string     // that commands keep; none when empty
	Privileges   bool         // setuid programs gain them
	Place        string       // the executor's directory: what earlier instances of the same place left is swept
	Log          *slog.Logger // the default logger when nil

	Patience time.Duration // with an engine that restarts; a minute when 0
}

// When images are pulled.
const (
	PullMissing = "missing" // when the engine has none of that name
	PullNever   = "never"
	PullAlways  = "always" // a tag may have moved
)

// Driver runs commands in containers.
type Driver struct {
	options  Options
	engine   *client.Client
	about    about
	place    string
	instance string
	log      *slog.Logger
	count    atomic.Int64
	pulling  chan struct{} // one pull at a time: a second one of the same image finds it there

	mu      sync.Mutex
	closed  bool
	running map[*process]struct{}
}

// openTime bounds the first words with an engine, callTime any other that does not last as long as a command.
const (
	openTime = 30 * time.Second
	callTime = time.Minute
)

// Open makes a driver and talks to the engine. It must be closed.
func Open(ctx context.Context, o Options) (*Driver, error) {
	o.Pull, o.Patience = cmp.Or(o.Pull, PullMissing), cmp.Or(o.Patience, time.Minute)
	if !slices.Contains([]string{PullMissing, PullNever, PullAlways}, o.Pull) {
		return nil, fault.New(fault.Invalid, "cannot use pull: %q; expected %s, %s or %s", o.Pull, PullMissing, PullNever, PullAlways)
	}
	place, err := filepath.Abs(o.Place)
	if err != nil {
		return nil, fault.New(fault.Internal, "cannot name the place %q: %w", o.Place, err)
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	d := &Driver{
		options: o, place: release.Derive("place", place)[:12], instance: rand.Text()[:12], log: o.Log,
		pulling: make(chan struct{}, 1), running: map[*process]struct{}{},
	}
	if d.engine, err = client.New(client.WithHost(o.Host), client.WithTraceProvider(nil)); err != nil {
		return nil, fault.New(fault.Invalid, "cannot use the engine at %q: %w; expected unix:///path or tcp://host:port", o.Host, err)
	}
	if err := d.meet(ctx); err != nil {
		_ = d.engine.Close()
		return nil, err
	}
	return d, nil
}

// Isolation implements driver.Isolated.
func (d *Driver) Isolation() driver.Isolation {
	i := driver.Isolation{Held: []string{driver.HoldsUser, driver.HoldsPID, driver.HoldsMount, driver.HoldsIPC, driver.HoldsNetwork, driver.HoldsKill}}
	for _, one := range []struct {
		name  string
		limit driver.Limits
	}{{driver.HoldsMemory, driver.Limits{Memory: 1}}, {driver.HoldsPIDs, driver.Limits{Processes: 1}}, {driver.HoldsCPU, driver.Limits{CPU: 1}}} {
		if err := d.about.holds(one.limit); err != nil {
			i.Missing = append(i.Missing, err.Error())
		} else {
			i.Held = append(i.Held, one.name)
		}
	}
	i.Missing = append(i.Missing, "the metadata address 169.254.169.254: no engine keeps a task with network: full from it; refuse it in the engine's network")
	return i
}

// Start implements driver.Driver.
func (d *Driver) Start(ctx context.Context, spec driver.Spec) (driver.Process, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, fault.New(fault.Transient, "cannot start a container: %w", err)
	}
	if err := cmp.Or(check(spec), d.about.holds(spec.Limits)); err != nil {
		return nil, err
	}
	image, err := d.image(ctx, cmp.Or(spec.Image, d.options.Image))
	if err != nil {
		return nil, err
	}
	p := &process{
		driver: d, spec: spec, name: "sluice-" + d.instance + "-" + strconv.FormatInt(d.count.Add(1), 10),
		news: newNews(), copied: make(chan copied, 1), done: make(chan struct{}), exit: driver.Exit{Image: image.digest},
	}
	p.ending.Ask, p.ending.Kill = p.askToEnd, p.kill
	if p.user, err = d.user(spec); err != nil {
		return nil, err
	}
	if !d.add(p) {
		return nil, errClosed
	}
	if err := p.start(ctx, image); err != nil {
		p.abandon()
		return nil, err
	}
	p.unwatch = context.AfterFunc(ctx, func() { p.ending.End(context.Cause(ctx), spec.Patience()) })
	go p.run()
	return p, nil
}

var errClosed = fault.New(fault.Transient, "the driver was closed")

// Close ends the driver. Containers that still run are killed and removed.
func (d *Driver) Close() error {
	d.mu.Lock()
	d.closed = true
	var all []*process
	for p := range d.running {
		all = append(all, p)
	}
	d.mu.Unlock()
	for _, p := range all {
		p.ending.End(errClosed, 0)
	}
	for _, p := range all {
		p.Wait()
	}
	return d.engine.Close()
}

func (d *Driver) add(p *process) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		d.running[p] = struct{}{}
	}
	return !d.closed
}

func (d *Driver) forget(p *process) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.running, p)
}
